#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/decoding.h"
#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

/*
 * The state holds the keys that later rows may see: for each head and position rotated k, and v, in
 * a ring buffer if there is a window or a chunk, preceded by the first keys if all rows see them.
 * Before that come the number of keys that are not padding, the angles, and memory for q of each
 * head; after it w_-t of each head, if there is a bias (bias.h), and F of each slot and head, if
 * there is a forget gate (forget.h). What a group of heads has in common, k and v, is kept once.
 *
 * The time of a long row is that of reading its keys: heads are divided among the threads, and
 * DOTS keys are read at once.
 */
#ifdef PROOF
enum { GRAIN = 20 };
#else
enum { GRAIN = 1 << 15 }; /* numbers of k and v that make a piece of work large enough */
#endif

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

/* How many heads have the same k and v. */
static int shared_by(int group)
{
    return group > 0 ? group : 1;
}

size_t pairs_state(const MixSize *s)
{
    const View view = pairs_pattern(s->attention, &s->set);
    const int n = slots(&view, s->T), bias = bias_is_on(&s->set);
    const int fade = pairs_tiling(s->attention, &s->set).forgets ? 2 : 0;

    return 1 + (size_t)(1 + s->H) * (size_t)s->D +
           (size_t)n * (size_t)(s->H / shared_by(s->group)) * (size_t)(s->D + s->E) +
           (size_t)n * (size_t)s->H * (size_t)(bias + fade);
}

/* One row of one head: q times tau, and the slots of k and v, which are D and E wide. */
typedef struct {
    const Weighting *weighting;
    const real *q, *cache;
    int D, E;
    const View *view;
    const real *w; /* w_-t of the bias; NULL: none */
    real f;
    const real *fade; /* F of the slots, in two parts that lie `lo` apart; NULL: none */
    size_t lo;
    int t;
} StepRow;

/* k of a slot; its v follows. */
static const real *key_of(const StepRow *x, int slot)
{
    return x->cache + (size_t)slot * (size_t)(x->D + x->E);
}

/* Whether the DOTS keys from j on, which end before `to`, are in adjacent slots. */
static bool adjacent(const StepRow *x, int j, int to)
{
    return j + DOTS <= to && slot_at(x->view, j + DOTS - 1) == slot_at(x->view, j) + DOTS - 1;
}

/* The scores of the keys from .. to-1. */
static void step_scores(const StepRow *x, int from, int to, real *s)
{
    const size_t apart = (size_t)(x->D + x->E);

    for (int j = from, n; j < to; j += n) {
        const real *k = key_of(x, slot_at(x->view, j));

        n = x->D % SUMS == 0 && adjacent(x, j, to) ? DOTS : 1;
        if (n == DOTS)
            row_dots(x->q, k, apart, x->D, s + (j - from), 1);
        else
            s[j - from] = row_dot(x->q, k, x->D);
    }
    for (int j = from; j < to && (x->w || x->fade); j++) {
        const real *F = x->fade ? x->fade + slot_at(x->view, j) : NULL;

        s[j - from] += (x->w ? x->f * x->w[x->t - j] : 0) + (F ? F[0] + F[x->lo] : 0);
    }
}

/* o += the sum of s_j v_j over the keys from .. to-1, one after another. */
static void step_values(const StepRow *x, int from, int to, const real *s, real *restrict o)
{
    const size_t apart = (size_t)(x->D + x->E);

    for (int j = from, n; j < to; j += n) {
        const real *v = key_of(x, slot_at(x->view, j)) + x->D, *a = s + (j - from);

        n = adjacent(x, j, to) ? DOTS : 1;
        for (int e = 0; e < x->E && n == DOTS; e++) {
            real sum = o[e];

            for (int i = 0; i < DOTS; i++)
                sum += a[i] * v[(size_t)i * apart + (size_t)e];
            o[e] = sum;
        }
        for (int e = 0; e < x->E && n == 1; e++)
            o[e] += a[0] * v[e];
    }
}

/* Adds a span of keys to a row. */
static void step_span(const StepRow *x, Span keys, RowState *row, real *o)
{
    real s[TILE];

    for (int from = keys.from; from < keys.to; from += TILE) {
        const int to = min(from + TILE, keys.to), n = to - from, whole = up_to(n, SUMS);

        step_scores(x, from, to, s);
        for (int j = n; j < whole; j++)
            s[j] = x->weighting->hidden;
        x->weighting->weigh(s, whole, o, x->E, row);
        step_values(x, from, to, s, o);
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

/* Stores rotated k and v of this position in one of the n slots of each group of heads. */
static void step_keep(const Mix *in, const real *angles, real *cache, int slot, int n)
{
    const int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3];
    const int group = shared_by(in->group);

    for (int h = 0; h < H; h += group) {
        real *k = cache + ((size_t)(h / group) * (size_t)n + (size_t)slot) * (size_t)(D + E);

        memcpy(k, in->k->data + h * D, (size_t)D * sizeof(real));
        memcpy(k + D, in->v->data + h * E, (size_t)E * sizeof(real));
        if (in->rope)
            rope_rotate(k, angles, D, false);
    }
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

/* The rows of all heads: what they share is in x, which has memory for the q of all. */
typedef struct {
    const Step *step;
    StepRow x;
    real *q;
    const Tiling *how;
    int n; /* slots of each */
} StepRows;

static void step_heads(void *ctx, int begin, int end)
{
    const StepRows *r = ctx;
    const Step *s = r->step;
    const Tiling *how = r->how;
    const int n0 = pairs_n0(s->in), seen = view_count(r->x.view, s->t);
    const real divisor = how->divisor ? how->divisor(n0, seen) : 0;
    const real tau = how->tau(n0, r->x.D, seen), *sink = pairs_sink(how, s->in);

    for (int h = begin; h < end; h++) {
        RowState row = pairs_start(how->weighting, divisor, sink ? sink[h] : 0);
        const size_t first = (size_t)h * (size_t)r->n;
        const size_t keys = (size_t)(h / shared_by(s->in->group)) * (size_t)r->n;
        real *q = r->q + h * r->x.D;
        StepRow x = r->x;

        x.q = q, x.f = pairs_gain(how, n0, x.D, seen);
        x.cache += keys * (size_t)(x.D + x.E);
        x.w = x.w ? x.w + first : NULL, x.fade = x.fade ? x.fade + first : NULL;
        step_q(s->in, h, pairs_angles(s), tau, q);
        step_row(&x, &row, s->o + h * x.E);
    }
}

void pairs_step(const Step *s)
{
    const Mix *in = s->in;
    const Tiling how = pairs_tiling(in->attention, &in->set);
    const int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3];
    View view = pairs_pattern(in->attention, &in->set);
    const int n = slots(&view, s->tape->decoding->most);
    real *angles = s->state + 1, *q = angles + D, *cache = q + H * D;
    real *more = cache + (size_t)(H / shared_by(in->group)) * (size_t)n * (size_t)(D + E);
    const real *w = bias_is_on(&in->set) ? step_bias(s, more, n, q) : NULL;
    real *fade = how.forgets ? more + (w ? H * n : 0) : NULL;

    if (in->rope)
        rope_position(angles, s->t, D, in->rope_scale);
    if (fade)
        step_fade(s, fade, &view, n);
    if (!s->padding) {
        step_keep(in, angles, cache, slot_at(&view, s->t), n);
        s->state[0] += 1;
    }
    if (s->state_only)
        return;
    view.T = s->t + 1, view.length = (int)s->state[0], view.causal = true;
    const StepRow x = { .weighting = how.weighting,
                        .cache = cache,
                        .D = D,
                        .E = E,
                        .view = &view,
                        .w = w,
                        .fade = fade,
                        .lo = (size_t)H * (size_t)n,
                        .t = s->t };
    pool_for(s->tape->pool, H, GRAIN / (view_count(&view, s->t) * (D + E) + 1) + 1, step_heads,
             &(StepRows){ s, x, q, &how, n });
}
