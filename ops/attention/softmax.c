/*
 * Exact attention (Vaswani et al., 2017, arXiv:1706.03762), for one head. Over all j in V(i):
 *
 *     A_ij = e^s_ij / sum over l of e^s_il            s_ij = tau_i q_i . k_j
 *     o_i  = sum over j of A_ij v_j
 *
 * computed without overflow as
 *
 *     A_ij = e^(s_ij - m_i) / c_i         m_i = max s_ij,  c_i = sum over j of e^(s_ij - m_i)
 *
 * tau_i is 1 / sqrt(D), times a factor that depends on n_i, the number of keys that the
 * row sees, and on a length n0:
 *
 *     sqrt      1
 *     entropy   ln(max(n_i, 16)) / ln(n0)     keeps the entropy of a row nearly independent of
 *                                             n_i (Su, 2021), except in very short rows
 *     logn      max(1, ln(n_i) / ln(n0))      the same, but only for rows longer than n0
 *
 * For each row, tile by tile (tiles.h), with m, c and o those of the keys so far:
 *
 *     m, c, o = -inf, 0, 0
 *     for each tile of keys:
 *         m'   = max(m, max of s_ij over the tile)
 *         fade = e^(m - m')
 *         c    = fade c + sum over the tile of e^(s_ij - m')
 *         o    = fade o + sum over the tile of e^(s_ij - m') v_j
 *         m    = m'
 *     o = o / c
 *
 * Backward: w(s) = e^(s - m), so w' = w, and the rule of tiles.c becomes
 *
 *     ds_ij = A_ij (dA_ij - delta_i)
 *
 * where dA_ij = do_i . v_j, delta_i = do_i . o_i, and m is a constant, since it cancels in A.
 *
 * --weight selects other functions of the scores (engine/weights.c), and
 *
 *     softmax1    A_ij = e^s_ij / (1 + sum over l of e^s_il)
 *
 * (Miller, 2023): a softmax with one more key, of score 0 and value 0, so that a row may attend to
 * nothing. The loop starts with m, c = 0, 1, and the derivative is that of softmax. With a learned
 * score b_h for each head h instead of 0,
 *
 *     sink        A_ij = e^s_ij / (e^b_h + sum over l of e^s_il)
 *
 * (Agarwal et al., 2025, arXiv:2508.10925), which starts with m, c = b_h, 1; the gradient of b_h is
 * the sum of dy_i of tiles.c over all rows of the head. Causal only,
 *
 *     forgetting  A_ij = e^(s_ij + F_i - F_j) / sum over l of e^(s_il + F_i - F_l)
 *                 F_i = sum of g_t over t <= i,  g_t = ln f_t,  f_t = sigmoid(w.h_t + b)
 *
 * (Lin et al., 2025, arXiv:2503.02130), where h is the layer's input after its norm: the forget
 * gates f between key and query reduce the weight of the key. F_i is added to the scores of row i
 * and subtracted from those of column i, so
 *
 *     dF_i = sum over j of ds_ij - sum over l of ds_li         dg_t = sum over i >= t of dF_i
 *
 * engine/forget.h computes both without the differences.
 *
 * Plain twin: plain/softmax.c.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

real tau_sqrt(int n0, int D, int n)
{
    (void)n0, (void)n;
    return R(1 / sqrt((double)D));
}

real tau_entropy(int n0, int D, int n)
{
    return R(log(n > 16 ? (double)n : 16.0) / log((double)n0) / sqrt((double)D));
}

real tau_logn(int n0, int D, int n)
{
    return R((n > n0 ? log((double)n) / log((double)n0) : 1) / sqrt((double)D));
}

static void softmax_weigh(real *s, int n, real *o, int E, RowState *row)
{
    real top = row_max(s, n, row->m);

    if (top > row->m && row->c > 0) { /* before the first key there is nothing to rescale */
        real fade = exp_below(row->m - top);

        for (int e = 0; e < E; e++)
            o[e] *= fade;
        row->c *= fade;
    }
    row->m = top;
    row->c += row_exp(s, n, top);
}

static void softmax_unweigh(real *restrict s, real *restrict dA, int n, const RowState *row)
{
    real m = row->m, by = 1 / row->c, delta = row->delta;

    for (int j = 0; j < n; j++) {
        s[j] = exp_below(s[j] - m) * by;
        dA[j] = s[j] * (dA[j] - delta);
    }
}

const Weighting weighting_softmax = {
    -R(HUGE_VAL), true, false, softmax_weigh, softmax_unweigh, exp
};
static const Weighting weighting_softmax1 = { -R(HUGE_VAL),    true, true, softmax_weigh,
                                              softmax_unweigh, exp };

const char *const softmax_scales[] = { "sqrt", "entropy", "logn", NULL };
static Tau *const taus[] = { tau_sqrt, tau_entropy, tau_logn };

enum { SOFTMAX, SOFTMAX1, SIGMOID, RELU, RELU2, LAPLACE, FORGETTING, SINK };
const char *const softmax_weights[] = { "softmax", "softmax1",   "sigmoid", "relu", "relu2",
                                        "laplace", "forgetting", "sink",    NULL };
static const Tiling tilings[] = {
    [SOFTMAX] = { .weighting = &weighting_softmax },
    [SOFTMAX1] = { .weighting = &weighting_softmax1 },
    [SIGMOID] = { .weighting = &weighting_sigmoid, .divisor = by_n },
    [RELU] = { .weighting = &weighting_relu, .divisor = by_n },
    [RELU2] = { .weighting = &weighting_square, .divisor = by_n },
    [LAPLACE] = { .weighting = &weighting_laplace, .divisor = by_one },
    [FORGETTING] = { .weighting = &weighting_softmax, .forgets = true },
    [SINK] = { .weighting = &weighting_softmax1, .sinks = true },
};

unsigned softmax_traits(const Values *set)
{
    static const unsigned traits[] = { [SOFTMAX] = AVERAGES | QUOTIENT | SMOOTH,
                                       [SOFTMAX1] = SMOOTH,
                                       [SIGMOID] = SMOOTH | COUNTS_KEYS,
                                       [RELU] = SQUARED,
                                       [RELU2] = SQUARED,
                                       [LAPLACE] = SMOOTH,
                                       [FORGETTING] = FORGETTING_TRAITS,
                                       [SINK] = SMOOTH };

    return traits[setting(set, "weight")];
}

const Operand softmax_operands[] = { OPERAND_FORGETTING("weight"), OPERAND_SINK("weight"), { 0 } };

const PairsRule softmax_rule = { tilings, .by = "weight", .tau = taus, .scale = "scale",
                                 .n0 = "base" };

const Attention attention_softmax = {
    .name = "softmax",
    .summary = "exact attention, O(n^2): the baseline (arXiv:1706.03762)",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES,
    .more_traits = softmax_traits,
    .operands = softmax_operands,
    .settings = (const Setting[]){ SETTINGS_OF_SOFTMAX, SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_pairs,
    .rule = &softmax_rule,
    .plain = plain_softmax,
};
