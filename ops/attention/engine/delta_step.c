/*
 * Decoding one position of delta.h. The state is u, a row of E numbers, and S for each head.
 */
#include "ops/attention/engine/delta.h"
#include "ops/attention/engine/vector.h"
#include "ops/kernel/elementary.h"

#include <string.h>

size_t delta_state(const MixSize *s)
{
    return (size_t)s->E + (size_t)(s->H * s->D) * (size_t)s->E;
}

/* A head at a position; g is a number, or one for each feature. */
typedef struct {
    int D, E, width;
    const real *q, *k, *v, *a, *b, *g;
    real beta;
    real *S, *u;
    bool own;
} StepHead;

static real decay(const StepHead *x, int d)
{
    return x->g ? exp_real(x->g[x->width > 1 ? d : 0]) : 1;
}

static void fade(real *row, real by, int n)
{
    for (int e = 0; e < n; e++)
        row[e] *= by;
}

/* u = S^T a before S fades, or beta (v - S^T k) after it has. */
static void find_u(const StepHead *x)
{
    memset(x->u, 0, (size_t)x->E * sizeof *x->u);
    for (int d = 0; d < x->D; d++) {
        real *S = x->S + d * x->E;

        if (x->own)
            vector_add(x->u, x->a[d], S, x->E);
        fade(S, decay(x, d), x->E);
        if (!x->own)
            vector_add(x->u, -x->k[d], S, x->E);
    }
    if (!x->own)
        vector_add(x->u, 1, x->v, x->E);
    fade(x->u, x->own ? 1 : x->beta, x->E);
}

static void correct(const StepHead *x)
{
    find_u(x);
    for (int d = 0; d < x->D; d++) {
        real *S = x->S + d * x->E;

        vector_add(S, x->own ? x->b[d] : x->k[d], x->u, x->E);
        if (x->own)
            vector_add(S, x->k[d], x->v, x->E);
    }
}

static void read(const StepHead *x, real *o)
{
    memset(o, 0, (size_t)x->E * sizeof *o);
    for (int d = 0; d < x->D; d++)
        vector_add(o, x->q[d], x->S + d * x->E, x->E);
}

static const real *row_of_head(const Tensor *x, int h)
{
    return x ? x->data + h * x->dim[3] : NULL;
}

void delta_step(const Step *s)
{
    const Mix *in = s->in;
    const MixSize size = mix_size(in);
    const DeltaRule *rule = in->attention->rule;
    const Tensor *g = rule->decay ? mix_tensor(in, rule->decay) : NULL;
    const int D = size.D, E = size.E;

    for (int h = 0; h < size.H; h++) {
        StepHead x = { .D = D,
                       .E = E,
                       .own = rule->own,
                       .q = row_of_head(in->q, h),
                       .k = row_of_head(in->k, h),
                       .v = row_of_head(in->v, h),
                       .width = g && g->ndim == 4 ? D : 1,
                       .u = s->state,
                       .S = s->state + E + (ptrdiff_t)h * D * E };

        x.a = rule->own ? row_of_head(mix_tensor(in, "a"), h) : NULL;
        x.b = rule->own ? row_of_head(mix_tensor(in, "b"), h) : NULL;
        x.beta = rule->own ? 0 : mix_tensor(in, "beta")->data[h];
        x.g = g ? g->data + h * x.width : NULL;
        if (!s->padding)
            correct(&x);
        read(&x, s->o + h * E);
    }
}
