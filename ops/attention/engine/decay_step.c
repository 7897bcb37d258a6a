/*
 * Decoding one position: S_t = e^(g_t) S_t-1 + k_t v_t^T, o_t = S_t^T q_t.
 *
 * A decay such as 1 - 1e-7 is not exact in float, and its rounding would add up over many
 * positions. So the state is stored as e^b Z, where b is the sum of the g's since the last
 * reset: whenever b falls below -1, e^b is multiplied into Z, and b starts again at 0.
 *
 *     b_t = b_t-1 + g_t       Z_t = Z_t-1 + e^(-b_t) k_t v_t^T       o_t = e^(b_t) Z_t^T q_t
 */
#include "ops/attention/engine/decay.h"

#include "ops/attention/engine/head.h"
#include "ops/kernel/elementary.h"

#include <string.h>

/* Decays of a head. */
static int wide(const MixSize *s)
{
    const DecayRule *rule = s->attention->rule;

    return rule->each ? s->D : 1;
}

/* Room for the angles, q, k and v of a position, then Z and b of each head. */
size_t decay_state(const MixSize *s)
{
    const size_t D = (size_t)s->D, E = (size_t)s->E;

    return 3 * D + E + (size_t)s->H * ((size_t)wide(s) + D * E);
}

/* A head at a position; rows per decay: D, or with a vector 1. */
typedef struct {
    int D, E, rows;
    real *b, *q, *k, *v, *Z;
} StepHead;

static void times(real *x, int n, real by)
{
    for (int i = 0; i < n; i++)
        x[i] *= by;
}

/* Decay i, of the rows from d on. */
static void fade(const StepHead *x, int i, real g)
{
    const int d = i * x->rows;

    x->b[i] += g;
    if (x->b[i] < -1) {
        times(x->Z + d * x->E, x->rows * x->E, exp_real(x->b[i]));
        x->b[i] = 0;
    }
    times(x->k + d, x->rows, exp_real(-x->b[i]));
    times(x->q + d, x->rows, exp_real(x->b[i]));
}

/* Z += k v^T, o = Z^T q, with k times e^(-b) and q times e^b; of padding v and k are zeros. */
static void step_head(const StepHead *x, real *restrict o)
{
    real *restrict Z = x->Z;
    const real *restrict v = x->v;

    memset(o, 0, (size_t)x->E * sizeof(real));
    for (int d = 0; d < x->D; d++, Z += x->E)
        for (int e = 0; e < x->E; e++) {
            Z[e] += x->k[d] * v[e];
            o[e] += x->q[d] * Z[e];
        }
}

/* Rotated by the angles, if there are any. */
static void load(real *to, const Tensor *from, int h, const real *angles)
{
    const int n = from->dim[3];

    memcpy(to, from->data + h * n, (size_t)n * sizeof(real));
    if (angles)
        rope_rotate(to, angles, n, false);
}

static void load_head(const Step *s, const StepHead *x, int h, const real *angles)
{
    load(x->q, s->in->q, h, angles);
    load(x->k, s->in->k, h, angles);
    load(x->v, s->in->v, h, NULL);
    if (s->padding) {
        memset(x->k, 0, (size_t)x->D * sizeof(real));
        memset(x->v, 0, (size_t)x->E * sizeof(real));
    }
}

/* The logarithm of decay i of head h. */
static real decay_of(const Step *s, const MixSize *size, int h, int i)
{
    const DecayRule *rule = size->attention->rule;

    if (s->padding)
        return 0;
    if (rule->log_decay)
        return R(rule->log_decay(size, h));
    return mix_tensor(s->in, rule->each ? "ga" : "g")->data[h * wide(size) + i];
}

void decay_step(const Step *s)
{
    const Mix *in = s->in;
    const MixSize size = mix_size(in);
    const int D = size.D, E = size.E;
    real *angles = s->state;
    const int decays = wide(&size);
    StepHead x = { .D = D,
                   .E = E,
                   .rows = D / decays,
                   .q = angles + D,
                   .k = angles + 2 * D,
                   .v = angles + 3 * D };

    if (in->rope)
        rope_position(angles, s->t, D, in->rope_scale);
    x.Z = x.v + E, x.b = x.Z + (ptrdiff_t)size.H * D * E;
    for (int h = 0; h < size.H; h++, x.Z += D * E, x.b += decays) {
        load_head(s, &x, h, in->rope ? angles : NULL);
        for (int i = 0; i < decays; i++)
            fade(&x, i, decay_of(s, &size, h, i));
        step_head(&x, s->o + h * E);
    }
}
