/*
 * The attention of the gated attention unit (Hua et al., 2022, arXiv:2202.10447):
 * one head, whose gate makes up for the others, and in place of the softmax the
 * square of a relu. With s_ij = q_i . k_j / sqrt(D), over j in V(i):
 *
 *     A_ij = max(s_ij, 0)^2 / c_i
 *
 *     n        c_i = n_i, the number of keys that the row sees
 *     fixed    c_i = n0, whatever the length
 *     n2       c_i = n_i^2
 *     sum      c_i = guard(sum of max(s_ij, 0)^2)
 *
 * softmax, entropy and logn are the softmax with that scale instead (softmax.c).
 * Rows of the first three do not sum to 1.
 *
 * Backward: w(s) = max(s, 0)^2, w' = 2 max(s, 0), and tiles.c has the rest,
 *
 *     ds_ij = 2 max(s_ij, 0) / c_i (dA_ij - delta_i)
 *
 * where delta_i is 0 for the first three. The unit around it, with its gate, is
 * the model's.
 */
#include "ops/attention/gau.h"

#include "ops/attention/softmax.h"

#include "ops/kernel/elementary.h"

static void square_weigh(real *restrict s, int n, real *o, int E, RowState *row)
{
    (void)o, (void)E, (void)row;
    for (int j = 0; j < n; j++)
        s[j] = s[j] < 0 ? 0 : s[j] * s[j]; /* NaN stays */
}

static void square_sum_weigh(real *s, int n, real *o, int E, RowState *row)
{
    square_weigh(s, n, o, E, row);
    row->c += row_sum(s, n);
}

static void square_unweigh(real *restrict s, real *restrict dA, int n, const RowState *row)
{
    real by = 1 / guard(row->c), delta = row->delta;

    for (int j = 0; j < n; j++) {
        real relu = s[j] > 0 ? s[j] : 0;

        s[j] = relu * relu * by;
        dA[j] = 2 * relu * by * (dA[j] - delta);
    }
}

const Weighting weighting_square = { 0, false, square_weigh, square_unweigh };
static const Weighting weighting_square_sum = { 0, true, square_sum_weigh, square_unweigh };

static real tau(Settings set, int D, int n)
{
    Scale scale = set.norm == GAU_ENTROPY ? SCALE_ENTROPY
                  : set.norm == GAU_LOGN  ? SCALE_LOGN
                                          : SCALE_SQRT;

    return softmax_scale(scale, set.base, D, n);
}

static real by_n(Settings set, int n)
{
    (void)set;
    return R(n);
}

static real by_n0(Settings set, int n)
{
    (void)n;
    return R(set.base > 0 ? set.base : BASE);
}

static real by_n_squared(Settings set, int n)
{
    (void)set;
    return R(n) * R(n);
}

static Tiling tiling_of(GauNorm norm)
{
    static const Tiling tilings[] = {
        [GAU_N] = { &weighting_square, tau, by_n, 0 },
        [GAU_FIXED] = { &weighting_square, tau, by_n0, 0 },
        [GAU_N2] = { &weighting_square, tau, by_n_squared, 0 },
        [GAU_SUM] = { &weighting_square_sum, tau, NULL, 0 },
        [GAU_SOFTMAX] = { &weighting_softmax, tau, NULL, 0 },
        [GAU_ENTROPY] = { &weighting_softmax, tau, NULL, 0 },
        [GAU_LOGN] = { &weighting_softmax, tau, NULL, 0 },
    };

    return tilings[norm];
}

static Tensor *gau_mix(Tape *tape, Mix in)
{
    return pairs_mix(tape, in, tiling_of(in.set.norm));
}

static MixMemory gau_memory(MixSize size)
{
    return pairs_memory(size, 0);
}

static double gau_cost(MixSize size)
{
    return pairs_cost(size, 0);
}

static size_t gau_state(MixSize size)
{
    return pairs_state(size, 0);
}

static void gau_step(Step s)
{
    pairs_step(s, tiling_of(s.in->set.norm));
}

const Attention attention_gau = {
    .name = "gau",
    .summary = "the gated attention unit: one head of relu^2, O(n^2) (arXiv:2202.10447)",
    .frame = FRAME_GATED,
    .takes = TAKES_NORM | TAKES_BASE | TAKES_WINDOW | TAKES_ROPE | TAKES_KEY_SIZE | TAKES_GATE,
    .matrix = true,
    .scores = true,
    .mix = gau_mix,
    .cost = gau_cost,
    .memory = gau_memory,
    .state = gau_state,
    .step = gau_step,
};
