/*
 * Decoding of reformer.c. For each head, round and bucket, the state has the number of keys so far
 * and a ring buffer of the last 2 c normalised keys with their values, a row's own chunk and the
 * previous one, or of as many as there are positions. The number counts to 4 c and then wraps to 2
 * c, so that it remains exact as a float.
 */
#include "ops/attention/engine/buckets.h"

#include "ops/kernel/elementary.h"

#include <string.h>

/* The slots of a ring, for n positions; and its numbers. */
static int slots(const Buckets *b, int n)
{
    return min(2 * b->chunk, n);
}

static size_t ring_size(const Buckets *b, int slots, int E)
{
    return 1 + (size_t)slots * (size_t)(b->D + E);
}

size_t buckets_state(const MixSize *s)
{
    const Buckets b = buckets_sized(s);

    return (size_t)s->H * (size_t)b.rounds * (size_t)b.buckets *
           ring_size(&b, slots(&b, s->T), s->E);
}

/* A head of a position: its row q and result o, its key k, and the sums so far. */
typedef struct {
    Buckets b;
    int slots, E;
    const real *q, *v;
    real *o, *k;
    real top, c;
} Row;

static real *slot_of(const Row *x, real *ring, int number)
{
    return ring + 1 + (size_t)(number % x->slots) * (size_t)(x->b.D + x->E);
}

/* One more key, and its value behind it. */
static void absorb(Row *x, const real *k)
{
    const real s = row_dot(x->q, k, x->b.D) / sqrt(R(x->b.D)), top = s > x->top ? s : x->top;
    const real fade = x->c > 0 ? exp_below(x->top - top) : 0, weight = exp_below(s - top);

    x->top = top, x->c = x->c * fade + weight;
    for (int e = 0; e < x->E; e++)
        x->o[e] = x->o[e] * fade + weight * k[x->b.D + e];
}

/* Sees what is in the ring of its own chunk and the one before. */
static void see(Row *x, real *ring)
{
    const int count = (int)ring[0], chunk = x->b.chunk;
    const int seen = count < chunk ? count : chunk + count % chunk;

    for (int number = count - seen; number < count; number++)
        absorb(x, slot_of(x, ring, number));
}

static void store(const Row *x, real *ring)
{
    const int count = (int)ring[0], chunk = x->b.chunk;
    real *slot = slot_of(x, ring, count);

    memcpy(slot, x->k, (size_t)x->b.D * sizeof(real));
    memcpy(slot + x->b.D, x->v, (size_t)x->E * sizeof(real));
    ring[0] = R(count + 1 == 4 * chunk ? 2 * chunk : count + 1);
}

/* All rounds of a row whose rings are at `rings`; a key that is alone sees itself. */
static void step_row(Row *x, real *rings, const int *bucket)
{
    const size_t size = ring_size(&x->b, x->slots, x->E);

    x->top = -R(HUGE_VAL), x->c = 0;
    for (int r = 0; r < x->b.rounds; r++)
        see(x, rings + (size_t)(r * x->b.buckets + bucket[r]) * size);
    for (int e = 0; e < x->E; e++)
        x->o[e] = x->c == 0 ? x->v[e] : x->o[e] / x->c;
    for (int r = 0; r < x->b.rounds; r++)
        store(x, rings + (size_t)(r * x->b.buckets + bucket[r]) * size);
}

void buckets_step(const Step *s)
{
    MixSize size = mix_size(s->in);
    Row x = { .b = buckets_of(s->in), .E = size.E };

    size.T = s->tape->decoding->most, x.slots = slots(&x.b, size.T);
    const size_t n = buckets_numbers(&x.b), head = buckets_state(&size) / (size_t)size.H;
    const size_t bytes =
        2 * n * sizeof(double) + (size_t)size.D * sizeof(real) + (size_t)x.b.rounds * sizeof(int);
    double *turned = arena_take(s->tape->mem, bytes);
    bool guarded;

    x.k = (real *)(turned + 2 * n);
    int *bucket = (int *)(x.k + size.D);
    memset(s->o, 0, s->in->v->n * sizeof(real));
    for (int h = 0; h < size.H && !s->padding; h++) {
        x.q = s->in->q->data + h * size.D, x.v = s->in->v->data + h * size.E;
        x.o = s->o + h * size.E;
        buckets_turn(&x.b, mix_tensor(s->in, "omega"), h, turned);
        buckets_find(&x.b, turned, x.q, turned + n, bucket);
        const real by = buckets_inverse(&x.b, x.q, &guarded);
        for (int d = 0; d < size.D; d++)
            x.k[d] = x.q[d] * by;
        step_row(&x, s->state + (size_t)h * head, bucket);
    }
    arena_give(s->tape->mem, turned, bytes);
}
