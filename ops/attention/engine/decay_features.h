/*
 * The scan of decay.h over features, for a feature map of features.h:
 *
 *     S_t = e^(g_t) S_t-1 + psi(k_t) v_t^T       o_t = S_t^T phi(q_t)
 *
 * The features of all positions are tensors, the results of ops; they are q and k of the mechanism
 * `decay`; RoPE rotates them, or q and k with --rope-at before. The mechanism has the operand g.
 */
#ifndef OPS_ATTENTION_ENGINE_DECAY_FEATURES_H
#define OPS_ATTENTION_ENGINE_DECAY_FEATURES_H

#include "ops/attention/engine/features.h"

/* As in Engine; Attention.rule is the FeatureMap. */
Tensor *decay_features_mix(Tape *tape, const Mix *in);
void decay_features_step(const Step *s);
size_t decay_features_state(const MixSize *size);
double decay_features_cost(const MixSize *size);
MixMemory decay_features_memory(const MixSize *size);

#endif
