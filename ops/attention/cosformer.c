/*
 * cosFormer (Qin et al., 2022, arXiv:2202.08791): relu features, and a weight that
 * falls with the distance,
 *
 *     A_ij ~ relu(q_i) . relu(k_j) cos(pi (i - j) / 2M)
 *
 * which is a product of features because cos(a - b) = cos a cos b + sin a sin b.
 * With a_i = pi (i + 1) / 2M:
 *
 *     phi(q_i) = [relu(q_i) cos a_i ; relu(q_i) sin a_i]        psi(k_j) the same
 *     dx = (df_cos cos a + df_sin sin a) where x > 0
 *
 * M is the horizon, or the length if that is longer: with M >= T no weight is
 * negative. A model's horizon is its context, so that all prefixes share one M.
 */
#include "ops/attention/engine/linear.h"

static int twice(int D, int m)
{
    (void)m;
    return 2 * D;
}

static double angle(const MapRows *m, int r)
{
    return acos(-1.0) * (m->t0 + r + 1) / (2.0 * m->M);
}

static void cosformer_apply(const MapRows *m, const real *restrict x, real *restrict f)
{
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real c = R(cos(angle(m, r))), s = R(sin(angle(m, r)));

        for (int d = 0; d < m->D; d++) {
            real relu = x[d] < 0 ? 0 : x[d]; /* NaN stays */

            f[d] = relu * c;
            f[m->D + d] = relu * s;
        }
    }
}

static void cosformer_chain(const MapRows *m, const real *restrict x, const real *restrict f,
                            real *restrict df, real *restrict dx)
{
    (void)f;
    for (int r = 0; r < m->n; r++, x += m->ldx, df += m->ldf, dx += m->ldx) {
        real c = R(cos(angle(m, r))), s = R(sin(angle(m, r)));

        for (int d = 0; d < m->D; d++)
            dx[d] = x[d] > 0 ? df[d] * c + df[m->D + d] * s : 0;
    }
}

static const FeatureMap map = { .features = twice,
                                .apply = cosformer_apply,
                                .chain = cosformer_chain };

const Attention attention_cosformer = {
    .name = "cosformer",
    .summary = "linear, relu features that turn with the position (arXiv:2202.08791)",
    .takes = TAKES_WINDOW | TAKES_ROPE | TAKES_KEY_SIZE | TAKES_HORIZON,
    .matrix = true,
    .linear = true,
    .map = &map,
};
