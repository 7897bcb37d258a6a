/*
 * Efficient attention (Shen et al., 2021, arXiv:1812.01243): two softmaxes instead of one, of each
 * q over its features, and of each feature of k over the positions:
 *
 *     A_ij = sum over f of softmax(q_i)_f e^k_jf / sum over l of e^k_lf
 *          = sum over f of s_if e^k_jf / z_if
 *     s_if = e^q_if / sum over h of e^q_ih
 *     z_if = sum over l of e^k_lf                       l in V(i)
 *
 * Rows of A sum to 1 without a denominator. It is linear attention with a phi that depends on z_i,
 * one vector per sequence, or per row if causal. So z has a gradient,
 *
 *     phi_if = s_if / z_if          psi_jf = e^k_jf          dz_if = -phi_if dphi_if / z_if
 *
 * which is added to the gradient of every key that row i sees (engine/linear.h). ds_if = dphi_if /
 * z_if, and since the derivative of s_ih with respect to q_if is s_ih ([f = h] - s_if),
 *
 *     dq_if = s_if ds_if - s_if sum over h of s_ih ds_ih
 *           = phi_if dphi_if - s_if sum over h of phi_ih dphi_ih
 *     dk_jf = psi_jf dpsi_jf
 *
 * RoPE rotates q and k before the two softmaxes (--rope-at before). Every feature has its own z, so
 * rotating the features in the numerator would mix features with different denominators.
 *
 * e^k is computed as it stands. In float, a feature is lost if all its keys are below -104; where
 * the sum z is below e^-88.7, 1 / z overflows, and above e^88.7 z itself does.
 *
 * Plain twin: plain/efficient.c.
 */
#include "ops/attention/engine/features.h"

#include "ops/attention/engine/settings.h"
#include "ops/kernel/elementary.h"

#include <string.h>

static int all(int F)
{
    return F;
}

static void keep_z(const real *q, const real *z, int F, real *stat)
{
    (void)q;
    memcpy(stat, z, (size_t)F * sizeof *z);
}

/* A row that sees no key has z = 0, and zeros for features. */
static void divide(real *restrict f, const real *restrict z, int n, real sum)
{
    for (int d = 0; d < n; d++)
        f[d] = z[d] > 0 ? f[d] / sum / z[d] : 0;
}

static void efficient_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real top = m->key ? 0 : row_max(x, m->D, x[0]);

        for (int d = 0; d < m->D; d++)
            f[d] = exp_real(x[d] - top);
        if (!m->key)
            divide(f, m->stat + r * m->F, m->F, row_sum(f, m->F));
    }
}

static void efficient_chain(const MapRows *m, const real *x, const real *restrict f,
                            real *restrict df, real *restrict dx)
{
    (void)x;
    for (int r = 0; r < m->n; r++, f += m->ldf, df += m->ldf, dx += m->ldx) {
        const real *z = m->key ? NULL : m->stat + r * m->F;
        real sum = m->key ? 0 : row_dot(f, df, m->F);

        for (int d = 0; d < m->D; d++)
            dx[d] = f[d] * (z ? df[d] - z[d] * sum : df[d]);
    }
}

static const FeatureMap map = {
    .features = features_same,
    .apply = efficient_apply,
    .chain = efficient_chain,
    .stats = all,
    .measure = keep_z,
};

const Attention attention_efficient = {
    .name = "efficient",
    .summary = "linear, softmax of q over features and of k over positions (arXiv:1812.01243)",
    .position = "learned",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SMOOTH | QUOTIENT | NORMALISES_Q | BY_POSITION,
    .settings =
        (const Setting[]){ SETTING_ROPE_AT(1, 1), SETTING_WINDOW, SETTINGS_OF_HEADS, { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_efficient,
};
