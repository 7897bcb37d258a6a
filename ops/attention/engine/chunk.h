/*
 * Shared code of mechanisms with a decay: they process a head in chunks of TILE positions, with a
 * state S between chunks,
 *
 *     S_0 -> [t0 .. t0+TILE-1] -> S_C -> [t0+TILE ..] -> ...
 *
 * and g_t <= 0 is the logarithm of the decay of the state at position t. With b_t the sum of g_s
 * over the s <= t in the chunk, and b_C the sum of all,
 *
 *     before_t = e^(b_t)         the decay of S_0 until row t
 *     after_t  = e^(b_C - b_t)   the decay of key t until S_C
 *     L_ts     = e^(b_t - b_s)   the decay of key s until row t, s <= t
 *
 * Every exponent is computed as a sum of g's, never as a difference of two such sums: nothing
 * overflows, and 1e-7 next to 50 is not lost. A decay below e^-64 counts as 0. Padding has g = 0,
 * which means no decay.
 *
 * In a scan from right to left the two change places: after_t is the decay of the state of the
 * chunks to the right until row t, and before_t that of key t until the state for the chunks to the
 * left.
 */
#ifndef OPS_ATTENTION_ENGINE_CHUNK_H
#define OPS_ATTENTION_ENGINE_CHUNK_H

#include "ops/attention/engine/head.h"
#include "ops/tape.h"

typedef struct {
    int n;        /* the chunk's keys that are not padding; -1: nothing has been computed yet */
    bool both;    /* L_st = L_ts also for s > t; else 0 there */
    real *g;      /* (TILE) */
    real *before; /* (TILE) */
    real *after;  /* (TILE) */
    real *L;      /* (TILE, TILE) */
    real all;     /* e^(b_C) */
} Decays;

/* In scratch memory, which takes DECAYS_ROOM numbers. */
enum { DECAYS_ROOM = TILE * (TILE + 3) };
Decays decays_open(real **scratch, bool both);

/* From one g for all positions, or from a tensor (B, T, H), for a chunk at t0 with n keys. */
void decays_fixed(Decays *d, real g, int n);
void decays_load(Decays *d, const Head *x, const Tensor *g, int t0, int n);

/* Row t of x times by[t]. */
void rows_scale(Rows x, const real *by);

/* Zeros in all rows from the n-th on, as for padding, which may hold anything. */
void rows_clear(Rows x, int n);

/* to[t] += a_t . b_t for the first n rows of both. */
void rows_dot(real *to, Rows a, Rows b, int n);

/* S = by S + A^T B, where S is (height, B.ld), as in rows_multiply_over(). */
void state_pass(real *S, int height, real by, Rows A, Rows B);

/* The states S_0 of all chunks of all heads, of `size` numbers each. */
typedef struct {
    real *at;   /* NULL: there will be no backward pass */
    int chunks; /* of a head */
    size_t size;
} States;
States states_keep(Node *node, const Mix *in, int size);
real *states_of(const States *x, const Head *head, int t0);
void states_put(const States *x, const Head *head, int t0, const real *S);

/* Their numbers per position. */
double states_cost(const MixSize *s, int size);

/* Numbers of a state (height, E), whose rows are padded; dies if it is too large. */
int state_size(int height, int E);

#endif
