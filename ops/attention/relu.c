/*
 * Linear attention with non-negative features, and so with non-negative weights:
 *
 *     phi(x) = psi(x) = max(x, 0)          phi'(x) = 1 where x > 0, else 0
 *
 * engine/linear.h has the rest. If the features of a query have no positive entry in common with
 * those of any key it sees, its denominator is 0. So is its output, unless RoPE rotates the
 * numerator alone (--rope-at after): that need not be 0, and is divided by the guard, 10^-6.
 *
 * Plain twin: plain/relu.c.
 */
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/settings.h"

static void relu_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf)
        for (int d = 0; d < m->D; d++)
            f[d] = x[d] < 0 ? 0 : x[d]; /* NaN stays */
}

static void relu_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                       real *restrict df, real *restrict dx)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf, df += m->ldf, dx += m->ldx)
        for (int d = 0; d < m->D; d++)
            dx[d] = x[d] > 0 ? df[d] : 0;
}

static const FeatureMap map = { .features = features_same,
                                .apply = relu_apply,
                                .chain = relu_chain };

const Attention attention_relu = {
    .name = "relu",
    .summary = "linear, features max(x, 0)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | RECTIFIED | KINKED | QUOTIENT,
    .more_traits = linear_traits,
    .settings =
        (const Setting[]){ SETTING_ROPE_AT(0, 0), SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_relu,
};
