#include "ops/attention/engine/pools.h"

#include "ops/kernel/elementary.h"

#include <string.h>

Pools pools_of(const Values *set)
{
    return (Pools){ .near = setting_or_zero(set, "near"),
                    .far = setting_or_zero(set, "far"),
                    .size = setting_or_zero(set, "pool-size"),
                    .stride = setting_or_zero(set, "pool-stride") };
}

Span pools_seen(const Pools *p, bool causal, int count, int i)
{
    const int from = max(0, (i - p->far + p->stride - 1) / p->stride);
    const int end = (causal ? i : i + p->far) + 1 - p->size; /* no pool begins after it */
    const int to = end < 0 ? 0 : min(count, end / p->stride + 1);

    return (Span){ from, max(from, to) };
}

/* The slots of the ring, for n positions. */
static int slots(const Pools *p, int n)
{
    return min(max(p->near, p->far) + 1, n);
}

/* For each slot of the ring a key and value, and whether it is padding; then a sum. */
size_t pools_state(const MixSize *s)
{
    const Pools p = pools_of(&s->set);

    return (size_t)slots(&p, s->T) * (1 + (size_t)s->H * (size_t)(s->D + s->E)) + (size_t)s->D +
           2 * (size_t)s->E;
}

/* A head at a position, and the sum so far of a term. */
typedef struct {
    const Step *s;
    Pools pools;
    int slots, h, H, D, E;
    real *hidden, *keys, *values, *k, *v, *o;
    real top, c;
} Ring;

static const real *key_at(const Ring *r, int j)
{
    return r->keys + ((size_t)(j % r->slots) * (size_t)r->H + (size_t)r->h) * (size_t)r->D;
}

static const real *value_at(const Ring *r, int j)
{
    return r->values + ((size_t)(j % r->slots) * (size_t)r->H + (size_t)r->h) * (size_t)r->E;
}

/* One more key. */
static void absorb(Ring *r, const real *k, const real *v)
{
    const real s = row_dot(r->s->in->q->data + r->h * r->D, k, r->D) / sqrt(R(r->D));
    const real top = s > r->top ? s : r->top;
    const real fade = r->c > 0 ? exp_below(r->top - top) : 0, weight = exp_below(s - top);

    r->top = top, r->c = r->c * fade + weight;
    for (int e = 0; e < r->E; e++)
        r->o[e] = r->o[e] * fade + weight * v[e];
}

/* The mean of the pool's positions that are no padding; false if there are none. */
static bool find_mean(Ring *r, int p)
{
    const int from = p * r->pools.stride;
    int n = 0;

    memset(r->k, 0, (size_t)(r->D + r->E) * sizeof(real));
    for (int j = from; j < from + r->pools.size; j++) {
        if (r->hidden[j % r->slots] > 0)
            continue;
        n++;
        for (int d = 0; d < r->D; d++)
            r->k[d] += key_at(r, j)[d];
        for (int e = 0; e < r->E; e++)
            r->v[e] += value_at(r, j)[e];
    }
    for (int d = 0; d < r->D + r->E && n > 0; d++)
        r->k[d] /= R(n);
    return n > 0;
}

static void begin_sum(Ring *r)
{
    r->top = -R(HUGE_VAL), r->c = 0;
    memset(r->o, 0, (size_t)r->E * sizeof(real));
}

static void end_sum(const Ring *r)
{
    for (int e = 0; e < r->E && r->c != 0; e++)
        r->s->o[r->h * r->E + e] += r->o[e] / r->c;
}

static void step_head(Ring *r)
{
    const int t = r->s->t;
    const Span pools = pools_seen(&r->pools, true, t + 1, t);

    begin_sum(r);
    for (int j = max(0, t - r->pools.near); j <= t; j++)
        if (r->hidden[j % r->slots] == 0)
            absorb(r, key_at(r, j), value_at(r, j));
    end_sum(r);
    begin_sum(r);
    for (int p = pools.from; p < pools.to; p++)
        if (find_mean(r, p))
            absorb(r, r->k, r->v);
    end_sum(r);
}

void pools_step(const Step *s)
{
    const MixSize size = mix_size(s->in);
    Ring r = { .s = s, .pools = pools_of(&size.set), .H = size.H, .D = size.D, .E = size.E };
    const size_t D = (size_t)(size.H * size.D), E = (size_t)(size.H * size.E);

    r.slots = slots(&r.pools, s->tape->decoding->most);
    const size_t n = (size_t)r.slots, at = (size_t)(s->t % r.slots);
    r.hidden = s->state, r.keys = r.hidden + n, r.values = r.keys + n * D;
    r.k = r.values + n * E, r.v = r.k + size.D, r.o = r.v + size.E;
    r.hidden[at] = s->padding;
    memcpy(r.keys + at * D, s->in->k->data, D * sizeof(real));
    memcpy(r.values + at * E, s->in->v->data, E * sizeof(real));
    memset(s->o, 0, E * sizeof(real));
    for (r.h = 0; r.h < r.H && !s->state_only; r.h++)
        step_head(&r);
}
