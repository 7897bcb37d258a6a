/*
 * Exact attention over a window and a few global positions (Longformer: Beltagy et al., 2020,
 * arXiv:2004.05150), for one head, with windows that reach w positions and g global positions:
 *
 *     V(i) = { j : |i - j| <= w  or  i < g  or  j < g }
 *
 * without the padding and, if causal, the keys after i. So the first g rows see all keys, and all
 * rows see the first g keys. (In the paper other positions may be global too, with other
 * projections.) In V(i),
 *
 *     A_ij = e^s_ij / sum over l of e^s_il          s_ij = tau_i q_i . k_j
 *
 * as in softmax.c, which defines tau_i and the other weights of --weight, and derives the gradient:
 * all of its sums are over V(i), so
 *
 *     ds_ij = A_ij (dA_ij - delta_i) for j in V(i), else 0
 *
 * Tiles without a visible pair are skipped, so the time is O(n (w + g)). A row is at most two spans
 * of keys (engine/view.c). Decoding keeps the first g keys and the last w + 1.
 *
 * Plain twin: plain/longformer.c.
 */
#include "ops/attention/engine/pairs.h"
#include "ops/attention/engine/settings.h"
#include "ops/attention/plain/plain.h"

static void view(View *v, const Values *set)
{
    v->window = setting_or_zero(set, "reach");
    v->global = setting(set, "global");
}

const Attention attention_longformer = {
    .name = "longformer",
    .summary = "exact attention over a window and global positions, O(n) (arXiv:2004.05150)",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES | IS_LINEAR | BLOCKED,
    .more_traits = softmax_traits,
    .operands = softmax_operands,
    .settings =
        (const Setting[]){
            SETTINGS_OF_SOFTMAX, SETTING_REACH, SETTING_GLOBAL, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_pairs,
    .rule = &softmax_rule,
    .view = view,
    .plain = plain_longformer,
    .sees = plain_sees_longformer,
};
