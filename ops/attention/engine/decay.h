/*
 * Attention with a decaying state: each position multiplies the state by a number in (0, 1] and
 * adds its pair,
 *
 *     S_t = a_t S_t-1 + k_t v_t^T       o_t = S_t^T q_t       a_t = e^(g_t)
 *
 * without a denominator. Padding does not change the state: a_t is 1 there. Unrolled, with
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
    /* g, if it is the same at all positions; NULL: g is an operand (B, N, H), with a gradient */
    double (*log_decay)(const MixSize *size, int head);
    bool each; /* a_t is diag(e^(g_t)), with the operand ga (B, N, H, D) as g */
} DecayRule;

/* The engines for one decay per head and for one per feature; Attention.rule is the DecayRule. */
extern const Engine engine_decay, engine_decay_each;

/* g = ln sigmoid(w.h + b) of the layer's normalised input h, as in the mechanism `decay`. */
extern const Projection decay_projection;

/* Initial values for g = -e^A softplus(w.h + b): a step Delta = softplus(b) whose logarithm is
 * uniform from ln 0.001 to ln 0.1, and a rate e^A uniform from 1 to 16. */
void rates_draw_steps(Tensor *b, Random random);
void rates_draw(Tensor *A, Random random);

/* Decoding, for both engines. */
void decay_step(const Step *s);
size_t decay_state(const MixSize *size);

#endif
