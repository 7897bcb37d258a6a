/*
 * Exact attention (Vaswani et al., 2017, arXiv:1706.03762), of one head:
 *
 *     s_ij = tau_i q_i . k_j
 *     A_ij = e^(s_ij - m_i) / c_i     m_i = max s_ij,  c_i = sum of e^(s_ij - m_i)
 *     o_i  = sum of A_ij v_j                                     all over j in V(i)
 *
 * tau is 1 / sqrt(D), times a factor that depends on the number n_i of keys that
 * the row sees:
 *
 *     sqrt      1
 *     entropy   ln(max(n_i, 16)) / ln(n0)     the entropy of a row hardly depends
 *                                             on its length (Su, 2021); the floor
 *                                             keeps short rows from going flat
 *     logn      max(1, ln(n_i) / ln(n0))      the same, beyond the length n0 only
 *
 * Keys come tile by tile (tiles.h), so m and c are those of the keys so far; when
 * some raise m to m', what has been summed up is multiplied by e^(m - m'):
 *
 *     c <- c e^(m - m') + sum of e^(s_ij - m')
 *     o <- o e^(m - m') + sum of e^(s_ij - m') v_j              and o / c at the end
 *
 * Backward: with w(s) = e^(s - m), w' = w, the rule of tiles.c is
 *
 *     ds_ij = A_ij (dA_ij - delta_i)
 *
 * where m is no variable: it cancels.
 */
#include "ops/attention/softmax.h"

#include "ops/kernel/elementary.h"

real softmax_scale(Scale scale, int base, int D, int n)
{
    double n0 = base > 0 ? base : BASE, by = 1;

    if (scale == SCALE_ENTROPY)
        by = log(n > 16 ? (double)n : 16.0) / log(n0);
    if (scale == SCALE_LOGN && n > n0)
        by = log((double)n) / log(n0);
    return R(by / sqrt((double)D));
}

static void softmax_weigh(real *s, int n, real *o, int E, RowState *row)
{
    real top = row_max(s, n, row->m);

    if (top > row->m && row->c > 0) { /* before the first key there is nothing to fade */
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

const Weighting weighting_softmax = { -R(HUGE_VAL), true, softmax_weigh, softmax_unweigh };

static real tau(Settings set, int D, int n)
{
    return softmax_scale(set.scale, set.base, D, n);
}

static const Tiling tiling = { .weighting = &weighting_softmax, .scale = tau };

static Tensor *softmax_mix(Tape *tape, Mix in)
{
    return pairs_mix(tape, in, tiling);
}

static MixMemory softmax_memory(MixSize size)
{
    return pairs_memory(size, 0);
}

static double softmax_cost(MixSize size)
{
    return pairs_cost(size, 0);
}

static size_t softmax_state(MixSize size)
{
    return pairs_state(size, 0);
}

static void softmax_step(Step s)
{
    pairs_step(s, tiling);
}

const Attention attention_softmax = {
    .name = "softmax",
    .summary = "exact attention, O(n^2): the one to compare with (arXiv:1706.03762)",
    .takes = TAKES_SCALE | TAKES_BASE | TAKES_WINDOW | TAKES_ROPE | TAKES_KEY_SIZE,
    .matrix = true,
    .scores = true,
    .mix = softmax_mix,
    .cost = softmax_cost,
    .memory = softmax_memory,
    .state = softmax_state,
    .step = softmax_step,
};
