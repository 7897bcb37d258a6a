/*
 * Linear attention without a feature map (an ablation): weights may be negative, and a
 * denominator may have either sign.
 *
 *     phi(x) = psi(x) = x
 *
 * Plain twin: plain/identity.c.
 */
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/settings.h"

static void identity_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf)
        for (int d = 0; d < m->D; d++)
            f[d] = x[d];
}

static void identity_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                           real *restrict df, real *restrict dx)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf, df += m->ldf, dx += m->ldx)
        for (int d = 0; d < m->D; d++)
            dx[d] = df[d];
}

static const FeatureMap map = { .features = features_same,
                                .apply = identity_apply,
                                .chain = identity_chain };

const Attention attention_identity = {
    .name = "identity",
    .summary = "linear, without a feature map: an ablation",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SIGNED | QUOTIENT,
    .settings = (const Setting[]){ SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_identity,
};
