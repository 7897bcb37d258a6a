/*
 * Attention with a state that fades: a position's pair is added, and all before it is
 * multiplied by a number in (0, 1],
 *
 *     S_t = a_t S_t-1 + k_t v_t^T       o_t = S_t^T q_t       a_t = e^(g_t)
 *
 * without a denominator. Padding adds nothing and fades nothing: a_t is 1 there. The
 * derivation is at the head of decay.c.
 */
#ifndef OPS_ATTENTION_ENGINE_DECAY_H
#define OPS_ATTENTION_ENGINE_DECAY_H

#include "ops/attention.h"

typedef struct {
    double (*log_decay)(const MixSize *size, int head); /* g, the same at all positions */
    bool scaled;                                        /* q is divided by sqrt(D) */
} DecayRule;

/* The engine; the row's rule is its DecayRule. */
extern const Engine engine_decay;

#endif
