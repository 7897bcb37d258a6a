/*
 * Positions of a head sorted by hashes, for reformer.c, which defines the hash: R rounds (--rounds)
 * with b buckets (--buckets) each, and chunks of c positions (--chunk).
 */
#ifndef OPS_ATTENTION_ENGINE_BUCKETS_H
#define OPS_ATTENTION_ENGINE_BUCKETS_H

#include "ops/attention/engine/head.h"

/* R, b and c; D of the tensors. */
typedef struct {
    int rounds, buckets, chunk, D;
} Buckets;

Buckets buckets_of(const Mix *in);
Buckets buckets_sized(const MixSize *s);

/*
 * The directions of head h as (D, R b / 2), for buckets_find(), which finds the bucket of x in each
 * round with `room` for the products, R b / 2 numbers. In doubles: a bucket should depend neither
 * on how the products are rounded nor on who computes them.
 */
size_t buckets_numbers(const Buckets *b);
void buckets_turn(const Buckets *b, const Tensor *omega, int h, double *turned);
void buckets_find(const Buckets *b, const double *turned, const real *x, double *room, int *bucket);

/* 1 / |x|, where |x| is at least the guard; and whether it is. */
real buckets_inverse(const Buckets *b, const real *x, bool *guarded);

/* The order of a round: n positions, without padding, sorted by bucket; and where buckets end. */
typedef struct {
    int *at, *end;
    int n;
    bool causal;
} Order;

/* Those of all heads and rounds. */
typedef struct {
    Buckets b;
    const Mix *in;
    int *at, *end; /* (B, H, R, T), (B, H, R, b) */
} Orders;

/* Finds them, in memory that the node keeps. `in` has to last as long. */
void orders_find(Orders *o, Node *node, const Mix *in);
Order orders_at(const Orders *o, int number, int round);

/* Places from .. to-1 of an order are a chunk; it sees those from `before` on. */
typedef struct {
    int before, from, to, bucket;
} Chunk;

/* The one after x, or after (Chunk){ 0 } the first; false if there is none. */
bool order_next(const Order *o, const Buckets *b, Chunk *x);

/* Decoding, buckets_step.c. */
size_t buckets_state(const MixSize *s);
void buckets_step(const Step *s);

#endif
