#include "ops/attention/engine/buckets.h"

#include <math.h>
#include <string.h>

Buckets buckets_sized(const MixSize *s)
{
    return (Buckets){ .rounds = setting_or_zero(&s->set, "rounds"),
                      .buckets = setting_or_zero(&s->set, "buckets"),
                      .chunk = setting_or_zero(&s->set, "chunk"),
                      .D = s->D };
}

Buckets buckets_of(const Mix *in)
{
    const MixSize s = mix_size(in);

    return buckets_sized(&s);
}

static int directions(const Buckets *b)
{
    return b->rounds * (b->buckets / 2);
}

size_t buckets_numbers(const Buckets *b)
{
    return (size_t)directions(b) * (size_t)b->D;
}

void buckets_turn(const Buckets *b, const Tensor *omega, int h, double *turned)
{
    const int n = directions(b);
    const real *from = omega->data + (size_t)h * buckets_numbers(b);

    for (int r = 0; r < n; r++)
        for (int d = 0; d < b->D; d++)
            turned[(size_t)d * (size_t)n + (size_t)r] =
                (double)from[(size_t)r * (size_t)b->D + (size_t)d];
}

/* The index of the largest entry of [y ; -y], the first one of equal entries. */
static int largest(const double *y, int n)
{
    double most = -HUGE_VAL;
    int best = 0;

    for (int c = 0; c < n; c++)
        if (y[c] > most)
            most = y[c], best = c;
    for (int c = 0; c < n; c++)
        if (-y[c] > most)
            most = -y[c], best = n + c;
    return best;
}

void buckets_find(const Buckets *b, const double *turned, const real *x, double *room, int *bucket)
{
    const int n = directions(b), half = b->buckets / 2;

    memset(room, 0, (size_t)n * sizeof *room);
    for (int d = 0; d < b->D; d++, turned += n) {
        const double entry = (double)x[d];

        for (int c = 0; c < n; c++)
            room[c] += entry * turned[c];
    }
    for (int r = 0; r < b->rounds; r++)
        bucket[r] = largest(room + r * half, half);
}

real buckets_inverse(const Buckets *b, const real *x, bool *guarded)
{
    double square = 0;

    for (int d = 0; d < b->D; d++)
        square += (double)x[d] * (double)x[d];
    *guarded = sqrt(square) < (double)GUARD;
    return *guarded ? 1 / GUARD : R(1 / sqrt(square));
}

/* Sorts positions, where bucket[t R] is that of t: counts, then fills in the order of positions. */
static void sort(const Order *o, const Buckets *b, const int *bucket)
{
    int sum = 0;

    memset(o->end, 0, (size_t)b->buckets * sizeof *o->end);
    for (int t = 0; t < o->n; t++)
        o->end[bucket[t * b->rounds]]++;
    for (int c = 0; c < b->buckets; c++) {
        const int count = o->end[c];

        o->end[c] = sum, sum += count;
    }
    for (int t = 0; t < o->n; t++)
        o->at[o->end[bucket[t * b->rounds]]++] = t;
}

Order orders_at(const Orders *o, int number, int round)
{
    const int T = o->in->q->dim[1], H = o->in->q->dim[2];
    const size_t at = (size_t)(number * o->b.rounds + round);

    return (Order){ .at = o->at + at * (size_t)T,
                    .end = o->end + at * (size_t)o->b.buckets,
                    .n = view_of(o->in, number / H).length,
                    .causal = o->in->causal };
}

/* The numbers for a thread, in doubles: directions, products, and the buckets of all positions. */
static size_t scratch(const Orders *o)
{
    return 2 * buckets_numbers(&o->b) + (size_t)o->in->q->dim[1] * (size_t)o->b.rounds;
}

static void find(void *ctx, int begin, int end)
{
    const Orders *o = ctx;
    const size_t n = buckets_numbers(&o->b);
    double *turned = pool_scratch(), *products = turned + n;
    int *bucket = (int *)(products + n);

    for (int number = begin; number < end; number++) {
        const Head head = head_of(o->in, number);
        const int length = view_of(o->in, head.b).length;

        buckets_turn(&o->b, mix_tensor(o->in, "omega"), head.h, turned);
        for (int t = 0; t < length; t++)
            buckets_find(&o->b, turned, o->in->q->data + head_place(&head, t, o->b.D), products,
                         bucket + t * o->b.rounds);
        for (int r = 0; r < o->b.rounds; r++) {
            const Order order = orders_at(o, number, r);

            sort(&order, &o->b, bucket + r);
        }
    }
}

void orders_find(Orders *o, Node *node, const Mix *in)
{
    const int heads = in->q->dim[0] * in->q->dim[2];

    *o = (Orders){ .b = buckets_of(in), .in = in };
    const size_t n = (size_t)(heads * o->b.rounds);
    o->at = tape_keep(node, n * (size_t)in->q->dim[1] * sizeof *o->at);
    o->end = tape_keep(node, n * (size_t)o->b.buckets * sizeof *o->end);
    pool_reserve(node->tape->pool, scratch(o) * sizeof(double));
    pool_for(node->tape->pool, heads, 1, find, o);
}

bool order_next(const Order *o, const Buckets *b, Chunk *x)
{
    int start = 0, end = o->n;

    x->from = x->to;
    while (o->causal && x->from < o->n && o->end[x->bucket] <= x->from)
        x->bucket++;
    if (o->causal && x->from < o->n)
        start = x->bucket ? o->end[x->bucket - 1] : 0, end = o->end[x->bucket];
    x->before = max(start, x->from - min(b->chunk, x->from));
    x->to = x->from + min(b->chunk, end - x->from);
    return x->from < o->n;
}
