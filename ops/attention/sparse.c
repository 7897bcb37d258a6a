/*
 * Exact attention over a window and every w-th key (Sparse Transformer, strided: Child et al.,
 * 2019, arXiv:1904.10509), for one head:
 *
 *     V(i) = { j : |i - j| <= w  or  (i - j) mod w = 0 }
 *
 * without the padding and, if causal, the keys after i. (The paper alternates the two patterns over
 * layers, or splits them between heads; here each head has both.) With w near sqrt(n), a row sees
 * O(sqrt(n)) keys, and information passes between any two positions in two layers. In V(i),
 *
 *     A_ij = e^s_ij / sum over l of e^s_il          s_ij = tau_i q_i . k_j
 *
 * as in softmax.c, which defines tau_i and the other weights of --weight, and derives the gradient:
 * all of its sums are over V(i), so
 *
 *     ds_ij = A_ij (dA_ij - delta_i) for j in V(i), else 0
 *
 * Unless w is larger than two tiles, every tile (if causal, every one up to the diagonal) contains
 * a visible pair, so almost none is skipped: engine/tiles.c computes all scores of a tile and hides
 * those of invisible keys. Only the sums over values are sparse.
 *
 * Plain twin: plain/sparse.c.
 */
#include "ops/attention/engine/pairs.h"
#include "ops/attention/engine/settings.h"
#include "ops/attention/plain/plain.h"

static void view(View *v, const Values *set)
{
    v->window = v->stride = setting_or_zero(set, "reach");
}

const Attention attention_sparse = {
    .name = "sparse",
    .summary = "exact attention over a window and every w-th key (arXiv:1904.10509)",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES | BY_DISTANCE,
    .more_traits = softmax_traits,
    .operands = softmax_operands,
    .settings = (const Setting[]){ SETTINGS_OF_SOFTMAX, SETTING_REACH, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_pairs,
    .rule = &softmax_rule,
    .view = view,
    .plain = plain_sparse,
    .sees = plain_sees_sparse,
};
