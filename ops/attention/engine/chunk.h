/*
 * What mechanisms with a state that fades share: they go through a head in chunks of TILE
 * positions, with a state S between chunks,
 *
 *     S_0 -> [t0 .. t0+TILE-1] -> S_C -> [t0+TILE ..] -> ...
 *
 * and g_t <= 0 is the logarithm of what remains of the state at position t. With b_t the sum of
 * g_s over the chunk's s <= t, and b_C the sum of all,
 *
 *     before_t = e^(b_t)         what row t sees of S_0
 *     after_t  = e^(b_C - b_t)   what S_C has of key t
 *     L_ts     = e^(b_t - b_s)   what row t sees of key s <= t
 *
 * Every exponent is a sum of g's, never a difference of two such sums: nothing overflows, and
 * 1e-7 next to 50 is not lost. Padding has g = 0: it fades nothing.
 *
 * From right to left the two change places: a row sees the state of the chunks to the right by
 * after_t, and a key enters the state of those to the left by before_t.
 */
#ifndef OPS_ATTENTION_ENGINE_CHUNK_H
#define OPS_ATTENTION_ENGINE_CHUNK_H

#include "ops/attention/engine/head.h"

typedef struct {
    int n;        /* the chunk's keys that are no padding; -1: nothing is computed yet */
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

#endif
