#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/decoding.h"
#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

/*
 * The state holds the keys that later rows may see: rotated k, and v, of all heads for each
 * position, in a ring buffer if there is a window or a chunk, preceded by the first keys if all
 * rows see them. Before that come the number of keys that are not padding, the angles, and memory
 * for q; after it w_-t of each head, if there is a bias (bias.h), and F of each slot and head, if
 * there is a forget gate (forget.h).
 */
static int ring_of(const View *v)
{
    if (v->stride || v->random)
        return 0;
    return v->window > 0 ? v->window + 1 : v->chunk;
}

/* The slots for n positions; and that of position t. */
static int slots(const View *v, int n)
{
    const int ring = ring_of(v);

    return ring && n - v->global > ring ? v->global + ring : n;
}

static int slot_at(const View *v, int t)
{
    const int ring = ring_of(v), after = t - v->global;

    return ring && after > 0 ? v->global + after % ring : t;
}

size_t pairs_state(const MixSize *s)
{
    const View view = pairs_pattern(s->attention, &s->set);
    const int n = slots(&view, s->T), bias = bias_is_on(&s->set);
    const int fade = pairs_tiling(s->attention, &s->set).forgets ? 2 : 0;

    return 1 + 2 * (size_t)s->D + (size_t)n * (size_t)s->H * (size_t)(s->D + s->E + bias + fade);
}

/* One row of one head: q times tau, and where k and v are cached. */
typedef struct {
    const Weighting *weighting;
    const real *q, *cache;
    int D, E, of_k, of_v,
        wide; /* sizes in a slot of the cache: k and v of this head, and of all heads */
    const View *view;
    const real *w; /* w_-t of the bias; NULL: none */
    real f;
    const real *fade; /* F of the slots, in two parts that lie `lo` apart; NULL: none */
    size_t lo;
    int t;
} StepRow;

static const real *slot_of(const StepRow *x, int t)
{
    return x->cache + (size_t)slot_at(x->view, t) * (size_t)x->wide;
}

static real score(const StepRow *x, int j)
{
    const real s = row_dot(x->q, slot_of(x, j) + x->of_k, x->D);
    const real *F = x->fade ? x->fade + slot_at(x->view, j) : NULL;

    return (x->w ? s + x->f * x->w[x->t - j] : s) + (F ? F[0] + F[x->lo] : 0);
}

/* Adds a span of keys to a row. */
static void step_span(const StepRow *x, Span keys, RowState *row, real *o)
{
    real s[TILE];

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
}

static void step_row(const StepRow *x, RowState *row, real *o)
{
    Span keys = view_run(x->view, x->t, 0);
    const bool sees = keys.from < keys.to;

    memset(o, 0, (size_t)x->E * sizeof(real));
    for (; keys.from < keys.to; keys = view_run(x->view, x->t, keys.to))
        step_span(x, keys, row, o);
    for (int e = 0; e < x->E; e++)
        o[e] = sees ? o[e] / guard(row->c) : 0;
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

/* F of the n slots of all heads at this position: its own is 0. */
static void step_fade(const Step *s, real *F, const View *v, int n)
{
    const int H = s->in->q->dim[2], at = slot_at(v, s->t);
    const real *g = mix_tensor(s->in, "g")->data;
    const size_t lo = (size_t)H * (size_t)n;

    for (int h = 0; h < H && !s->padding; h++, F += n) {
        forget_step(F, lo, min(s->t, n), g[h]);
        F[at] = F[(size_t)at + lo] = 0;
    }
}

const real *pairs_angles(const Step *s)
{
    return s->state + 1;
}

/* q of head h, rotated and scaled. */
static void step_q(const Mix *in, int h, const real *angles, real tau, real *q)
{
    const int D = in->q->dim[3];

    memcpy(q, in->q->data + h * D, (size_t)D * sizeof(real));
    if (in->rope)
        rope_rotate(q, angles, D, false);
    for (int d = 0; d < D; d++)
        q[d] *= tau;
}

/* The rows of all heads; x has what they share. */
static void step_rows(const Step *s, StepRow x, const Tiling *how, int n)
{
    const int n0 = pairs_n0(s->in), H = s->in->q->dim[2], seen = view_count(x.view, s->t);
    const real divisor = how->divisor ? how->divisor(n0, seen) : 0;
    const real tau = how->tau(n0, x.D, seen), *w = x.w, *fade = x.fade;
    const real *sink = pairs_sink(how, s->in);
    real *angles = s->state + 1, *q = angles + x.D;

    x.q = q, x.f = pairs_gain(how, n0, x.D, seen);
    for (int h = 0; h < H; h++) {
        RowState row = pairs_start(how->weighting, divisor, sink ? sink[h] : 0);

        x.of_k = h * x.D, x.of_v = H * x.D + h * x.E;
        x.w = w ? w + h * n : NULL, x.fade = fade ? fade + h * n : NULL;
        step_q(s->in, h, angles, tau, q);
        step_row(&x, &row, s->o + h * x.E);
    }
}

void pairs_step(const Step *s)
{
    const Mix *in = s->in;
    const Tiling how = pairs_tiling(in->attention, &in->set);
    const int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3], wide = H * (D + E);
    View view = pairs_pattern(in->attention, &in->set);
    const int n = slots(&view, s->tape->decoding->most);
    real *angles = s->state + 1, *q = angles + D, *cache = q + D;
    real *more = cache + (size_t)n * (size_t)wide;
    const real *w = bias_is_on(&in->set) ? step_bias(s, more, n, q) : NULL;
    real *fade = how.forgets ? more + (w ? H * n : 0) : NULL;

    if (in->rope)
        rope_position(angles, s->t, D, in->rope_scale);
    if (fade)
        step_fade(s, fade, &view, n);
    if (!s->padding) {
        step_keep(in, angles, cache + (size_t)slot_at(&view, s->t) * (size_t)wide);
        s->state[0] += 1;
    }
    if (s->state_only)
        return;
    view.T = s->t + 1, view.length = (int)s->state[0], view.causal = true;
    step_rows(s,
              (StepRow){ .weighting = how.weighting,
                         .cache = cache,
                         .D = D,
                         .E = E,
                         .wide = wide,
                         .view = &view,
                         .w = w,
                         .fade = fade,
                         .lo = (size_t)H * (size_t)n,
                         .t = s->t },
              &how, n);
}
