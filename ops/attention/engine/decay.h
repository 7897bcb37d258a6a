/*
 * Attention with a state that fades: a position's pair is added, and all before it is multiplied by
 * a number in (0, 1],
 *
 *     S_t = a_t S_t-1 + k_t v_t^T       o_t = S_t^T q_t       a_t = e^(g_t)
 *
 * without a denominator. Padding adds nothing and fades nothing: a_t is 1 there. Unrolled, with
 * B_t the sum of g_s over s <= t,
 *
 *     A_ij = e^(-|B_i - B_j|) q_i.k_j       j in V(i)
 *
 * which is also what the bidirectional form computes: the scan from the left, and one from the
 * right. The derivation is at the head of decay.c.
 */
#ifndef OPS_ATTENTION_ENGINE_DECAY_H
#define OPS_ATTENTION_ENGINE_DECAY_H

#include "ops/attention.h"

typedef struct {
    /* g, the same at all positions; NULL: it is the operand g (B, N, H), with a gradient */
    double (*log_decay)(const MixSize *size, int head);
    bool scaled; /* q is divided by sqrt(D) */
    bool each;   /* not a number: a vector, the operand ga (B, N, H, D), diag(e^(g_t)) for a_t */
} DecayRule;

/* The engines, for a number and for a vector; the row's rule is its DecayRule. */
extern const Engine engine_decay, engine_decay_each;

/* g = ln sigmoid(w.h + b) of the layer's normed input h: that of the mechanism `decay`. */
extern const Projection decay_projection;

/* How g = -e^A softplus(w.h + b) starts: a step Delta = softplus(b) evenly from 0.001 to 0.1 in its
 * logarithm, and a rate e^A evenly from 1 to 16. */
void rates_draw_steps(Tensor *b, Random random);
void rates_draw(Tensor *A, Random random);

/* Decoding, for both, and q's factor. */
void decay_step(const Step *s);
size_t decay_state(const MixSize *size);
real decay_scale(const DecayRule *rule, int D);

#endif
