/*
 * AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101). For each number w with
 * gradient g, in step t:
 *
 *     m <- beta1 m + (1 - beta1) g            v <- beta2 v + (1 - beta2) g^2
 *     w <- w - rate (mhat / (sqrt(vhat) + epsilon) + decay w)
 *
 * with mhat = m / (1 - beta1^t) and vhat = v / (1 - beta2^t). Gains and biases
 * do not decay. Gradients are clipped by their common norm: all are scaled by
 * the same factor, which the one pass over memory takes along.
 *
 * Muon (muon.c) is for matrices between activations. A row of the embedding or of
 * the head belongs to one token, and most steps have seen few of them: to make
 * the rows equally large would be to make noise of the rare ones. So these, and
 * all vectors, are AdamW's.
 */
#include "training/optimiser.h"

#include "training/muon.h"

#include <string.h>

enum { GRAIN = 1 << 13 };

const char *const optimiser_names[] = { "adamw", "muon", NULL };

/*
 * Whether it is one matrix between activations, or one for each head, as Fastformer's
 * concat (H, D, 2D) is. Its pooling vectors (H, D) are vectors, one for each head.
 */
static bool is_matrix(const Param *p)
{
    return p->tensor->ndim >= 2 && strncmp(p->name, "blocks.", 7) == 0 &&
           !strstr(p->name, ".pool_");
}

static int moments(const Optimiser *o, const Param *p)
{
    if (p->fixed)
        return 0;
    return o->kind == OPTIMISER_MUON && is_matrix(p) ? 1 : 2;
}

/* Numbers in the moments of the parameters before p, or of all if p is NULL. */
static size_t state_before(const Optimiser *o, const Param *p)
{
    size_t n = 0;

    for (const Param *q = o->params->first; q != p; q = q->next)
        n += (size_t)moments(o, q) * q->tensor->n;
    return n;
}

/* The matrix, or the first of them. */
static Muon muon_of(const Optimiser *o, const Param *p)
{
    const Tensor *t = p->tensor;

    return (Muon){ .w = t->data,
                   .g = t->grad,
                   .rows = t->dim[t->ndim - 2],
                   .cols = t->dim[t->ndim - 1],
                   .momentum = o->momentum,
                   .decay = p->decay ? o->decay : 0 };
}

void optimiser_init(Optimiser *o, Params *params, Arena *mem)
{
    size_t most = 0;

    o->params = params;
    o->step = 0;
    o->state = arena_zeros(mem, state_before(o, NULL) * sizeof(real));
    for (const Param *p = params->first; p; p = p->next)
        if (moments(o, p) == 1) {
            Muon u = muon_of(o, p);
            size_t bytes = muon_scratch(u.rows, u.cols);

            most = bytes > most ? bytes : most;
        }
    o->scratch = arena_take(mem, most);
}

double optimiser_numbers(OptimiserKind kind, const Config *c)
{
    double all = config_parameters(c);
    double matrices = config_matrix_parameters(c) - (double)c->width * config_outputs(c);

    if (kind == OPTIMISER_ADAMW)
        return 2 * all;
    return 2 * all - matrices + (double)(muon_scratch(config_rows(c), c->width) / sizeof(real));
}

int optimiser_moments(const Optimiser *o, const Param *p, Moment out[2])
{
    int n = moments(o, p);
    real *at = o->state + state_before(o, p);

    for (int i = 0; i < n; i++, at += p->tensor->n)
        out[i] = (Moment){ n == 1 ? "momentum" : i == 0 ? "m" : "v", at, p->tensor->n };
    return n;
}

typedef struct {
    const real *g;
    int n;
    double *sum; /* of each GRAIN numbers */
} Squares;

static void square_pieces(void *ctx, int begin, int end)
{
    const Squares *s = ctx;

    for (int piece = begin; piece < end; piece++) {
        int last = (piece + 1) * GRAIN < s->n ? (piece + 1) * GRAIN : s->n;
        double t[8] = { 0 };

        for (int i = piece * GRAIN; i < last; i++)
            t[i % 8] += (double)s->g[i] * (double)s->g[i];
        s->sum[piece] = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
    }
}

double gradient_norm(Pool *pool, Arena *mem, const Params *params)
{
    double sum = 0;

    for (const Param *p = params->first; p; p = p->next) {
        int n = (int)p->tensor->n, pieces = (n + GRAIN - 1) / GRAIN;
        size_t bytes = (size_t)pieces * sizeof(double);

        if (p->fixed || !p->tensor->has_grad)
            continue;
        Squares s = { p->tensor->grad, n, arena_take(mem, bytes) };
        pool_for(pool, pieces, 1, square_pieces, &s);
        for (int i = 0; i < pieces; i++)
            sum += s.sum[i];
        arena_give(mem, s.sum, bytes);
    }
    return sqrt(sum);
}

typedef struct {
    real *w, *m, *v;
    const real *g;
    real beta1, beta2, rest1, rest2; /* rest: 1 - beta */
    real scale, rate, decay, by_m, by_v, epsilon;
} Update;

static void update_range(void *ctx, int begin, int end)
{
    const Update u = *(const Update *)ctx;

    for (int i = begin; i < end; i++) {
        real g = u.g[i] * u.scale;
        real m = u.beta1 * u.m[i] + u.rest1 * g;
        real v = u.beta2 * u.v[i] + u.rest2 * (g * g);

        u.m[i] = m, u.v[i] = v;
        u.w[i] -= u.rate * (m * u.by_m / (sqrt(v * u.by_v) + u.epsilon) + u.decay * u.w[i]);
    }
}

/* How far, and from what on: `state` is the first moment of the parameter. */
typedef struct {
    double rate, scale;
    real *state;
} Change;

static void adamw_step(const Optimiser *o, Pool *pool, const Param *p, Change by)
{
    Update u = {
        .w = p->tensor->data,
        .g = p->tensor->grad,
        .m = by.state,
        .v = by.state + p->tensor->n,
        .beta1 = R(o->beta1),
        .beta2 = R(o->beta2),
        .rest1 = R(1 - o->beta1),
        .rest2 = R(1 - o->beta2),
        .scale = R(by.scale),
        .rate = R(by.rate),
        .decay = p->decay ? R(o->decay) : 0,
        .epsilon = R(o->epsilon),
        .by_m = R(1 / (1 - pow(o->beta1, o->step))),
        .by_v = R(1 / (1 - pow(o->beta2, o->step))),
    };
    pool_for(pool, (int)p->tensor->n, GRAIN, update_range, &u);
}

static void matrices_step(const Optimiser *o, Pool *pool, const Param *p, Change by)
{
    Muon u = muon_of(o, p);
    size_t size = (size_t)u.rows * (size_t)u.cols;

    u.m = by.state, u.rate = by.rate, u.scale = by.scale;
    for (size_t at = 0; at < p->tensor->n; at += size) {
        muon_step(pool, &u, o->scratch);
        u.w += size, u.g += size, u.m += size;
    }
}

void optimiser_step(Optimiser *o, Pool *pool, double rate, double scale)
{
    Change by = { rate, scale, o->state };

    o->step++;
    for (Param *p = o->params->first; p; p = p->next) {
        int n = moments(o, p);

        if (n > 0 && p->tensor->has_grad) {
            (n == 1 ? matrices_step : adamw_step)(o, pool, p, by);
            p->tensor->has_grad = false;
        }
        by.state += (size_t)n * p->tensor->n;
    }
}
