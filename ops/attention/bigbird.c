/*
 * Exact attention over a window, global positions and random blocks (Big Bird: Zaheer et al., 2020,
 * arXiv:2007.14062), for one head. Positions are in blocks of C, and c(i) = floor(i / C) is that of
 * i:
 *
 *     V(i) = { j : |i - j| <= w  or  i < g  or  j < g  or  c(j) in R(c(i)) }
 *
 * without the padding and, if causal, the keys after i. (In the paper windows and global positions
 * also consist of whole blocks.) R(c), the random blocks for the rows of block c, are r of the n =
 * c blocks before it if causal, otherwise of the n other blocks that hold a key which is not
 * padding; all n if n <= r. They are drawn without replacement by Floyd's algorithm, the same for
 * all heads and, if causal, for all lengths, from the pattern's seed: number the n blocks from 0
 * in order, and let u_t be the t-th number of the stream (seed, RANDOM_PATTERN, c) of
 * ops/base/random.h, from 0 to m_t, with m_t = n - min(r, n) + t. For t = 0 .. min(r, n) - 1,
 *
 *     R = R + { u_t }, or R + { m_t } if u_t is in R
 *
 * In V(i), A_ij is that of softmax.c,
 *
 *     A_ij = e^s_ij / sum over l of e^s_il          s_ij = tau_i q_i . k_j
 *
 * and so is the derivative, ds_ij = A_ij (dA_ij - delta_i), as all sums are over V(i).
 *
 * Tiles without a visible pair are skipped, so the time is O(T (w + g + r C)) for T positions. A
 * row is a few spans of keys (engine/view.c).
 *
 * Plain twin: plain/bigbird.c.
 */
#include "ops/attention/engine/pairs.h"
#include "ops/attention/engine/settings.h"
#include "ops/attention/plain/plain.h"

#include <limits.h>

static void view(View *v, const Values *set)
{
    v->window = setting_or_zero(set, "reach");
    v->global = setting(set, "global");
    v->random = setting(set, "random");
    v->block = setting_or_zero(set, "block");
    v->seed = setting(set, "pattern-seed");
}

const Attention attention_bigbird = {
    .name = "bigbird",
    .summary = "longformer's pattern plus random blocks of keys, O(n) (arXiv:2007.14062)",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES | BLOCKED,
    .more_traits = softmax_traits,
    .operands = softmax_operands,
    .settings =
        (const Setting[]){
            SETTINGS_OF_SOFTMAX,
            SETTING_REACH,
            SETTING_GLOBAL,
            { .name = "random",
              .value = 3,
              .most = RANDOM_MOST,
              .tries = { 2, 1, 5 },
              .pattern = true,
              .help = "random blocks of keys that each block of queries attends to" },
            { .name = "pattern-seed",
              .value = 1,
              .most = INT_MAX,
              .tries = { 2, 1 },
              .pattern = true,
              .seed = true,
              .help = "seed of the random blocks" },
            SETTING_BLOCK,
            SETTINGS_OF_HEADS,
            { 0 } },
    .engine = &engine_pairs,
    .rule = &softmax_rule,
    .view = view,
    .plain = plain_bigbird,
    .sees = plain_sees_bigbird,
};
