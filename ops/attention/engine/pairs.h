/*
 * The engine for mechanisms that weigh pairs (tiles.h): what is left of one is the
 * weighting, and tau_i and c_i of a row that sees n keys.
 */
#ifndef OPS_ATTENTION_ENGINE_PAIRS_H
#define OPS_ATTENTION_ENGINE_PAIRS_H

#include "ops/attention/engine/tiles.h"

/* n0 is the length that the rule names. */
typedef struct {
    const Weighting *weighting;
    real (*tau)(int n0, int D, int n);
    real (*divisor)(int n0, int n); /* NULL where the weighting averages */
} Tiling;

/* The row's rule: a tiling for each value of the setting `by`, or one; the names of the others. */
typedef struct {
    const Tiling *tiling;
    const char *by;    /* NULL: there is one tiling */
    const char *n0;    /* a length for tau and the divisor */
    const char *chunk; /* rows see keys of their own chunk alone; NULL: of all */
} PairsRule;

extern const Engine engine_pairs;

/* Its parts, for a mechanism that does more. */
Tensor *pairs_mix(Tape *tape, const Mix *in);
void pairs_step(const Step *s);
size_t pairs_state(const MixSize *size);
double pairs_cost(const MixSize *size);
MixMemory pairs_memory(const MixSize *size);

/* What the rule comes to with these settings. */
const Tiling *pairs_tiling(const Attention *a, const Values *set);
int pairs_n0(const Mix *in);
int pairs_chunk(const Attention *a, const Values *set); /* 0: no chunks */

/* The angles of this position, which pairs_step() leaves in its state. */
const real *pairs_angles(const Step *s);

/* softmax.c: the softmax of a row, and the scales of its scores. */
extern const Weighting weighting_softmax;
real tau_sqrt(int n0, int D, int n);
real tau_entropy(int n0, int D, int n);
real tau_logn(int n0, int D, int n);

/* gau.c: max(s, 0)^2, over a number of the row. */
extern const Weighting weighting_square;

#endif
