/*
 * The attention of the gated attention unit (Hua et al., 2022, arXiv:2202.10447): a single head,
 * for which the gate compensates, and the square of a relu instead of a softmax. Over j in V(i),
 *
 *     A_ij = max(s_ij, 0)^2 / c_i          s_ij = q_i . k_j / sqrt(D)
 *
 *     n        c_i = n_i, the number of keys that the row sees
 *     fixed    c_i = n0, whatever the length
 *     n2       c_i = n_i^2
 *     sum      c_i = guard(sum over j of max(s_ij, 0)^2)
 *
 * softmax, entropy and logn are a softmax of the scores instead, with the scale sqrt, entropy or
 * logn (softmax.c), and forgetting is a softmax with a forget gate (softmax.c). With n, fixed and
 * n2, rows do not sum to 1.
 *
 * Backward: w(s) = max(s, 0)^2 and w'(s) = 2 max(s, 0), so the rule of tiles.c becomes
 *
 *     ds_ij = 2 max(s_ij, 0) / c_i (dA_ij - delta_i)
 *
 * where g is the gradient of o, and delta_i = g_i . o_i for sum, or 0 where the guard acts; for
 * n, fixed and n2, whose c_i does not depend on the scores, delta_i = 0. model/gated.c has the unit
 * with its gate. --rel-bias rope adds a learned bias by distance to s_ij: engine/bias.h.
 *
 * Plain twin: plain/gau.c.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/settings.h"
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

static double square(double s)
{
    return s < 0 ? 0 : s * s;
}

const Weighting weighting_square = { 0, false, false, square_weigh, square_unweigh, square };
static const Weighting weighting_square_sum = {
    0, true, false, square_sum_weigh, square_unweigh, square
};

static real by_n0(int n0, int n)
{
    (void)n;
    return R(n0);
}

static real by_n_squared(int n0, int n)
{
    (void)n0;
    return R(n) * R(n);
}

enum { N, FIXED, N2, SUM, SOFTMAX, ENTROPY, LOGN, FORGETTING };
static const char *const norms[] = { "n",       "fixed", "n2",         "sum", "softmax",
                                     "entropy", "logn",  "forgetting", NULL };
static const Tiling tilings[] = {
    [N] = { .weighting = &weighting_square, .tau = tau_sqrt, .divisor = by_n },
    [FIXED] = { .weighting = &weighting_square, .tau = tau_sqrt, .divisor = by_n0 },
    [N2] = { .weighting = &weighting_square, .tau = tau_sqrt, .divisor = by_n_squared },
    [SUM] = { .weighting = &weighting_square_sum, .tau = tau_sqrt },
    [SOFTMAX] = { .weighting = &weighting_softmax, .tau = tau_sqrt },
    [ENTROPY] = { .weighting = &weighting_softmax, .tau = tau_entropy },
    [LOGN] = { .weighting = &weighting_softmax, .tau = tau_logn },
    [FORGETTING] = { .weighting = &weighting_softmax, .tau = tau_sqrt, .forgets = true },
};

static unsigned traits_of(const Values *set)
{
    const int norm = setting(set, "norm");
    const unsigned bias = setting(set, "rel-bias") ? BY_DISTANCE : 0;

    return bias | (norm == FORGETTING ? FORGETTING_TRAITS
                   : norm >= SOFTMAX  ? AVERAGES | QUOTIENT | SMOOTH
                   : norm == SUM      ? QUOTIENT | SQUARED
                                      : SQUARED);
}

const Attention attention_gau = {
    .name = "gau",
    .summary = "the gated attention unit: one head of relu^2, O(n^2) (arXiv:2202.10447)",
    .layer = "gated",
    .traits = CAN_ROPE | HAS_MATRIX | HAS_SCORES,
    .more_traits = traits_of,
    .operands = (const Operand[]){ OPERANDS_REL_BIAS, OPERAND_FORGETTING("norm"), { 0 } },
    .settings = (const Setting[]){ { "norm", SETTING_CHOICE, .choices = norms,
                                     .help = "what a row of weights is divided by" },
                                   SETTING_REL_BIAS,
                                   SETTING_BASE,
                                   SETTING_WINDOW,
                                   SETTINGS_OF_UNIT,
                                   { 0 } },
    .engine = &engine_pairs,
    .rule = &(const PairsRule){ tilings, .by = "norm", .n0 = "base" },
    .plain = plain_gau,
};
