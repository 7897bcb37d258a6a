/*
 * Linear attention between relu and identity (an ablation): weights may be slightly negative.
 *
 *     phi(x) = psi(x) = x where x >= 0, else x / 100      phi'(x) = 1, or 1 / 100
 *
 * Plain twin: plain/leaky.c.
 */
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/settings.h"

static void leaky_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf)
        for (int d = 0; d < m->D; d++)
            f[d] = x[d] >= 0 ? x[d] : x[d] * R(0.01);
}

static void leaky_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                        real *restrict df, real *restrict dx)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf, df += m->ldf, dx += m->ldx)
        for (int d = 0; d < m->D; d++)
            dx[d] = x[d] >= 0 ? df[d] : df[d] * R(0.01);
}

static const FeatureMap map = { .features = features_same,
                                .apply = leaky_apply,
                                .chain = leaky_chain };

const Attention attention_leaky = {
    .name = "leaky",
    .summary = "linear, features max(x, x / 100): an ablation",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | KINKED | SIGNED | QUOTIENT,
    .settings = (const Setting[]){ SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_leaky,
};
