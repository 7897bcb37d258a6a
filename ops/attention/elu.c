/*
 * Linear attention with the positive features 1 + elu(x) (Katharopoulos et al., 2020,
 * arXiv:2006.16236):
 *
 *     phi(x)  = psi(x) = x + 1 where x >= 0, else e^x
 *     phi'(x) = 1 where x >= 0, else e^x
 *
 * Plain twin: plain/elu.c.
 */
#include "ops/attention/engine/features.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

static void elu_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf)
        for (int d = 0; d < m->D; d++)
            f[d] = x[d] >= 0 ? x[d] + 1 : exp_real(x[d] > 0 ? 0 : x[d]);
}

static void elu_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                      real *restrict df, real *restrict dx)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf, df += m->ldf, dx += m->ldx)
        for (int d = 0; d < m->D; d++)
            dx[d] = x[d] >= 0 ? df[d] : df[d] * f[d];
}

static const FeatureMap map = { .features = features_same, .apply = elu_apply, .chain = elu_chain };

const Attention attention_elu = {
    .name = "elu",
    .summary = "linear, features 1 + elu(x) (arXiv:2006.16236)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | KINKED | QUOTIENT,
    .more_traits = linear_traits,
    .settings =
        (const Setting[]){ SETTING_ROPE_AT(0, 0), SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_elu,
};
