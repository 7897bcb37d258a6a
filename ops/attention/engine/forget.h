/*
 * Scores with a forget gate at every position between key and query (--weight forgetting):
 *
 *     s_ij = tau_i q_i . k_j + F_ij         F_ij = sum of g_t over j < t <= i         g_t <= 0
 *
 * which is F_i - F_j, for the running sum F. As a difference it would lose its digits: after many
 * positions F is in the thousands, and F_ij may be 1e-7. So nothing is subtracted. With I and J the
 * tiles that i and j are in,
 *
 *     J < I    F_ij = into_i + sum of the tiles between + after_j
 *              into_i = sum of I from its start to i       after_j = sum of J after j
 *     J = I    F_ij = F_i-1,j + g_i, from row to row, from F_jj = 0
 *
 * with sums in double, of which into_i and after_j are rounded. Each of these numbers depends only
 * on positions t with j < t <= i, so positions hidden by a window change no bit. Decoding adds g_i
 * to F_ij of all keys that it keeps.
 *
 * Backward: F_ij has the gradient ds_ij, which is added to that of all g_t in it. So with D_IJ the
 * sum of ds_ij over a pair of tiles,
 *
 *     dinto_i  = sum over the j of earlier tiles of ds_ij
 *     dafter_j = sum over the i of later tiles of ds_ij
 *     dg_t     = sum over j < t <= i of ds_ij
 *              = sum over i >= t of dinto_i + sum over j < t of dafter_j         i, j in t's tile
 *                + sum over the pairs of both in t's tile, with j < t <= i
 *                + sum over J < K < I of D_IJ                                    K: t's tile
 *
 * (With F_i - F_j it would be dF_i = sum over j of ds_ij - sum over l of ds_li, and dg_t = sum over
 * i >= t of dF_i, in which pairs on one side of t cancel, except for their rounding.)
 */
#ifndef OPS_ATTENTION_ENGINE_FORGET_H
#define OPS_ATTENTION_ENGINE_FORGET_H

#include "ops/attention/engine/head.h"

/* Of a head: T' numbers each, for T rounded up to tiles. */
typedef struct Forget {
    int T, tile;
    real *g; /* 0 at padding */
    real *into, *after;
    real *dinto, *dafter, *within, *D; /* D (T' / tile, T' / tile); NULL: forward only */
    int i0, j0, row;                   /* to which `between` and F belong */
    double between, F[2 * TILE];       /* F_ij of row i, for the keys of its tile */
} Forget;

/* The size of its scratch memory, and of the gradients for forget_into(), in numbers. */
size_t forget_room(int T, int tile);
size_t forget_grad_room(int T, int tile);

/* For head x, from g (B, T, H); its keys from `length` on are padding. */
Forget forget_open(real **scratch, const Head *x, const real *g, int tile, int length);
void forget_into(Forget *f, real *grad);

/* Adds F_ij to the scores of row i for the keys of the tile at j0. Rows of a tile come in order. */
void forget_add(Forget *f, int i, int j0, Span seen, real *s);

/* Receives ds (tile, tile) for the rows of the tile at i0 and the keys of the tile at j0. */
void forget_take(const Forget *f, int i0, int j0, const real *ds);

/* Adds dg of the head to `to`, by way of `within`. */
void forget_put(const Forget *f, const Head *x, int length, Grad to);

/*
 * Decoding: adds g to F of n keys. F is the sum of two numbers, F[j] and F[j + lo]: the second
 * keeps the rounding error of the first, without which a g of -1e-7 would be lost in an F of -10.
 */
void forget_step(real *F, size_t lo, int n, real g);

#endif
