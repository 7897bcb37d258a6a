/*
 * The engine for mechanisms that weight pairs (tiles.h): a mechanism provides only the
 * weighting, and tau_i and c_i of a row that sees n keys.
 */
#ifndef OPS_ATTENTION_ENGINE_PAIRS_H
#define OPS_ATTENTION_ENGINE_PAIRS_H

#include "ops/attention/engine/tiles.h"

/* n0 is the value of the setting PairsRule.n0. */
typedef struct {
    const Weighting *weighting;
    real (*tau)(int n0, int D, int n);
    real (*divisor)(int n0, int n); /* NULL if the weighting averages */
} Tiling;

/* Attention.rule: a tiling per value of the setting `by`, or one; names of other settings. */
typedef struct {
    const Tiling *tiling;
    const char *by;    /* NULL: there is one */
    const char *n0;    /* the length n0 of tau and the divisor */
    const char *chunk; /* the chunk whose keys a row sees; NULL: all keys */
} PairsRule;

extern const Engine engine_pairs;

/* Its parts, for a mechanism that adds to it. */
Tensor *pairs_mix(Tape *tape, const Mix *in);
void pairs_step(const Step *s);
size_t pairs_state(const MixSize *size);
double pairs_cost(const MixSize *size);
MixMemory pairs_memory(const MixSize *size);
bool pairs_sums(Tape *tape, const Mix *in, double *c); /* scores.c */

/* The tiling that these settings select. */
const Tiling *pairs_tiling(const Attention *a, const Values *set);
int pairs_n0(const Mix *in);
int pairs_chunk(const Attention *a, const Values *set); /* 0: no chunks */

/* The RoPE angles of this position, which pairs_step() stores in its state. */
const real *pairs_angles(const Step *s);

/* softmax.c: the softmax of a row, and the scales of its scores. */
extern const Weighting weighting_softmax;
real tau_sqrt(int n0, int D, int n);
real tau_entropy(int n0, int D, int n);
real tau_logn(int n0, int D, int n);

/* gau.c: max(s, 0)^2 divided by c_i. */
extern const Weighting weighting_square;

#endif
