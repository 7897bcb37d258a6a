/*
 * The engine for mechanisms that weight pairs (tiles.h): a mechanism provides only the
 * weighting, and tau_i and c_i of a row that sees n keys.
 */
#ifndef OPS_ATTENTION_ENGINE_PAIRS_H
#define OPS_ATTENTION_ENGINE_PAIRS_H

#include "ops/attention/engine/tiles.h"

/* n0 is the value of the setting PairsRule.n0. */
typedef real Tau(int n0, int D, int n);
typedef struct {
    const Weighting *weighting;
    Tau *tau;
    real (*divisor)(int n0, int n); /* NULL if the weighting averages */
} Tiling;

/* Attention.rule: a tiling per value of the setting `by`, or one; names of other settings. */
typedef struct {
    const Tiling *tiling;
    const char *by;  /* NULL: there is one */
    Tau *const *tau; /* a tau per value of the setting `scale`; NULL: those of the tilings */
    const char *scale;
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

/* The rows and keys of a tile; the parts that a head is cut into, if rows see few keys or many. */
int pairs_tile(int T);
int pairs_parts(bool narrow, int T, int H);

/* The tiling that these settings select; and the state of a row before its first key. */
Tiling pairs_tiling(const Attention *a, const Values *set);
RowState pairs_start(const Weighting *w, real divisor);
real pairs_gain(const Tiling *how, int n0, int D, int n); /* f = sqrt(D) tau: see bias.h */
int pairs_n0(const Mix *in);
int pairs_chunk(const Attention *a, const Values *set); /* 0: no chunks */

/* The RoPE angles of this position, which pairs_step() stores in its state. */
const real *pairs_angles(const Step *s);

/* softmax.c: the softmax of a row, and the scales of its scores. */
extern const Weighting weighting_softmax;
Tau tau_sqrt, tau_entropy, tau_logn;

/* gau.c: max(s, 0)^2 divided by c_i. And weights.c: other weights; c_i of n keys. */
extern const Weighting weighting_square;
extern const Weighting weighting_sigmoid, weighting_relu, weighting_laplace;
real by_n(int n0, int n);
real by_one(int n0, int n);

#endif
