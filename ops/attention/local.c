/*
 * Exact attention within blocks of w positions, the local attention among the baselines of the Long
 * Range Arena (Tay et al., 2020, arXiv:2011.04006), for one head:
 *
 *     V(i) = { j : floor(j / w) = floor(i / w) }
 *
 * without the padding and, if causal, the keys after i. No block sees another, at any depth. In
 * V(i),
 *
 *     A_ij = e^s_ij / sum over l of e^s_il          s_ij = tau_i q_i . k_j
 *
 * as in softmax.c, which defines tau_i and the other weights of --weight, and derives the gradient:
 * all of its sums are over V(i), so
 *
 *     ds_ij = A_ij (dA_ij - delta_i) for j in V(i), else 0
 *
 * Tiles without a pair are never visited, so time is O(n w). Decoding keeps w keys.
 *
 * Plain twin: plain/local.c.
 */
#include "ops/attention/engine/pairs.h"
#include "ops/attention/engine/settings.h"
#include "ops/attention/plain/plain.h"

static void view(View *v, const Values *set)
{
    v->chunk = setting_or_zero(set, "block");
}

const Attention attention_local = {
    .name = "local",
    .summary = "exact attention within blocks, O(n) (arXiv:2011.04006)",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES | IS_LINEAR | BLOCKED,
    .more_traits = softmax_traits,
    .operands = softmax_operands,
    .settings = (const Setting[]){ SETTINGS_OF_SOFTMAX, SETTING_BLOCK, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_pairs,
    .rule = &softmax_rule,
    .view = view,
    .plain = plain_local,
    .sees = plain_sees_local,
};
