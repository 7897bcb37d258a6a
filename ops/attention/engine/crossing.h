/*
 * The gradient of log decays in the exponents of weights. g_t is in the exponent of every pair (i,
 * j) that crosses t, so with W_ij the weight of the pair times its gradient,
 *
 *     dg_t = sum over j < t <= i of W_ij      and, bidirectional, over i < t <= j
 *
 * Of the pairs with a position in t's chunk, only those that cross t are added. (The sum over s >=
 * t of q_s.dq_s - k_s.dk_s, from the rows and columns of W, would be the same number, as a
 * difference in which all other pairs cancel except for their rounding.) For a t in a chunk, the
 * pairs are
 *
 *     both in the chunk        the chunk's part of W
 *     one to the left of it    into_s for s >= t: row s with all positions to the left
 *     one to the right of it   out_s for s < t: key s with all positions to the right
 *     one on either side       the pairs that cross the chunk's right end, without the out_s
 *
 * and the pairs that cross its left end are those that cross its right end, plus the sum of into,
 * minus the sum of out. The last two are differences, too, but of the sums of whole chunks, and in
 * double.
 */
#ifndef OPS_ATTENTION_ENGINE_CROSSING_H
#define OPS_ATTENTION_ENGINE_CROSSING_H

#include "ops/attention/engine/chunk.h"

/* For all positions of a head, rounded up to whole chunks: (T) each. */
typedef struct {
    int T;
    real *within, *into, *out; /* within: at the end dg */
} Crossing;

size_t crossing_room(int T); /* numbers of scratch memory */
Crossing crossing_open(real **scratch, int T);

/* The pairs of the chunk at t0, from its W (TILE, TILE), which is zeros where no pair is. */
void crossing_pairs(Crossing *x, int t0, real *W, bool both);

/* Adds dg of a head to `to`; positions from `length` on are padding, and get none. */
void crossing_put(Crossing *x, const Head *head, int length, Grad to);

#endif
