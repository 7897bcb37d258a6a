/*
 * The gradient of log decays that are in the exponents of weights. g_t is in that of every pair (i,
 * j) that crosses t, so with W_ij the weight of the pair times its gradient,
 *
 *     dg_t = sum over j < t <= i of W_ij      and, bidirectional, over i < t <= j
 *
 * Only numbers of pairs that cross t are added. (The same from the rows and columns of W, as the
 * sum over s >= t of q_s.dq_s - k_s.dk_s, is a difference in which all others cancel, except for
 * their rounding.) For a t of a chunk they are
 *
 *     both in the chunk        its part of W
 *     one to the left of it    into_s, of s >= t with all that is to the left
 *     one to the right         out_s, of s < t with all that is to the right
 *     one on either side       those over the chunk's right end, without the out_s
 *
 * and over its left end go those over the right end + sum of into - sum of out.
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
