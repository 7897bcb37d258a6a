#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/decoding.h"
#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

/*
 * The state holds the keys that later rows may see: rotated k and v of all heads for each position,
 * as a ring buffer if there is a window or a chunk. Before that come the number of keys that are
 * not padding, the angles, and memory for q; after it, with a bias, w_-t of each head (bias.h).
 */
static int ring_of(const Mix *in)
{
    int window = setting(&in->set, "window");

    return window > 0 ? window + 1 : pairs_chunk(in->attention, &in->set);
}

/* The slots for n positions. */
static int slots(const Attention *a, const Values *set, int n)
{
    int window = setting(set, "window"), chunk = pairs_chunk(a, set);

    if (window > 0 && window < n)
        return window + 1;
    return chunk > 0 ? min(n, chunk) : n;
}

size_t pairs_state(const MixSize *s)
{
    const int n = slots(s->attention, &s->set, s->T), bias = bias_is_on(&s->set);

    return 1 + 2 * (size_t)s->D + (size_t)n * (size_t)s->H * (size_t)(s->D + s->E + bias);
}

/* One row of one head: q times tau, and where k and v are cached. */
typedef struct {
    const Weighting *weighting;
    const real *q, *cache;
    int D, E, of_k, of_v,
        wide;      /* sizes in a slot of the cache: k and v of this head, and of all heads */
    int ring;      /* slots of the ring buffer; 0: one slot per position */
    const real *w; /* w_-t of the bias; NULL: none */
    real f;
    int t;
} StepRow;

static const real *slot_of(const StepRow *x, int t)
{
    return x->cache + (size_t)(x->ring ? t % x->ring : t) * (size_t)x->wide;
}

static real score(const StepRow *x, int j)
{
    const real s = row_dot(x->q, slot_of(x, j) + x->of_k, x->D);

    return x->w ? s + x->f * x->w[x->t - j] : s;
}

static void step_row(const StepRow *x, Span keys, RowState *row, real *o)
{
    real s[TILE];

    memset(o, 0, (size_t)x->E * sizeof(real));
    for (int j0 = keys.from; j0 < keys.to; j0 += TILE) {
        int n = min(TILE, keys.to - j0), whole = up_to(n, SUMS);

        for (int j = 0; j < whole; j++)
            s[j] = j < n ? score(x, j0 + j) : x->weighting->hidden;
        x->weighting->weigh(s, whole, o, x->E, row);
        for (int j = 0; j < n; j++) {
            const real *v = slot_of(x, j0 + j) + x->of_v;

            for (int e = 0; e < x->E; e++)
                o[e] += s[j] * v[e];
        }
    }
    for (int e = 0; e < x->E; e++)
        o[e] = keys.from < keys.to ? o[e] / guard(row->c) : 0;
}

/* Stores this position's rotated k and v of all heads in a slot. */
static void step_keep(const Mix *in, const real *angles, real *slot)
{
    int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3];

    memcpy(slot, in->k->data, (size_t)(H * D) * sizeof(real));
    memcpy(slot + H * D, in->v->data, (size_t)(H * E) * sizeof(real));
    for (int h = 0; h < H && in->rope; h++)
        rope_rotate(slot + h * D, angles, D, false);
}

/* Stores w_-t of all heads, the first time that it is needed; returns those of the first. */
static real *step_bias(const Step *s, real *w, int n, real *row)
{
    const Mix *in = s->in;
    real *angles = s->state + 1;
    const int H = in->q->dim[2], D = in->q->dim[3];

    if (s->t < n)
        rope_position(angles, s->t, D - D % 2, in->rope_scale);
    for (int h = 0; h < H && s->t < n; h++) {
        const Bias bias = bias_of(in, h, NULL);

        w[h * n + s->t] = bias_before(&bias, angles, row);
    }
    return w;
}

const real *pairs_angles(const Step *s)
{
    return s->state + 1;
}

void pairs_step(const Step *s)
{
    const Mix *in = s->in;
    const Tiling how = pairs_tiling(in->attention, &in->set);
    const int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3], wide = H * (D + E);
    const int n0 = pairs_n0(in), ring = ring_of(in);
    const int n = slots(in->attention, &in->set, s->tape->decoding->most);
    real *angles = s->state + 1, *q = angles + D, *cache = q + D;

    const real *w =
        bias_is_on(&in->set) ? step_bias(s, cache + (size_t)n * (size_t)wide, n, q) : NULL;

    if (in->rope)
        rope_position(angles, s->t, D, in->rope_scale);
    if (!s->padding) {
        step_keep(in, angles, cache + (size_t)(ring ? s->t % ring : s->t) * (size_t)wide);
        s->state[0] += 1;
    }
    View view = { s->t + 1, (int)s->state[0], setting(&in->set, "window"),
                  pairs_chunk(in->attention, &in->set), true };
    Span keys = view_keys(&view, s->t);
    real tau = how.tau(n0, D, keys.to - keys.from);
    for (int h = 0; h < H; h++) {
        StepRow x = { how.weighting,
                      q,
                      cache,
                      D,
                      E,
                      h * D,
                      H * D + h * E,
                      wide,
                      ring,
                      w ? w + h * n : NULL,
                      pairs_gain(&how, n0, D, keys.to - keys.from),
                      s->t };
        const real divisor = how.divisor ? how.divisor(n0, keys.to - keys.from) : 0;
        RowState row = pairs_start(how.weighting, divisor);

        memcpy(q, in->q->data + h * D, (size_t)D * sizeof(real));
        if (in->rope)
            rope_rotate(q, angles, D, false);
        for (int d = 0; d < D; d++)
            q[d] *= tau;
        step_row(&x, keys, &row, s->o + h * E);
    }
}
