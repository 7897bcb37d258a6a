/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): random features whose
 * product is in the mean e^(q . k / sqrt(D)), softmax's weight. With x' = x D^(-1/4)
 * and m fixed directions omega_r, drawn once (model/directions.h):
 *
 *     phi_r(x) = psi_r(x) = e^(omega_r . x' - x' . x' / 2) / sqrt(m)
 *
 * Backward, with h_r = df_r f_r, the gradient of the exponent:
 *
 *     dx = D^(-1/4) (sum over r of h_r omega_r - x' sum over r of h_r)
 *
 * omega is not learned and gets no gradient. Whole tiles go through the kernel,
 * with omega D^(-1/4) laid out both ways (linear.c); a single row does without.
 */
#include "ops/attention/engine/linear.h"

#include "ops/kernel/elementary.h"

static int as_told(int D, int m)
{
    (void)D;
    return m;
}

/* omega_r . x' of each row. */
static void project(const MapRows *m, const real *x, real *f)
{
    real by = R(pow((double)m->D, -0.25));

    if (m->to_f)
        rows_multiply((Rows){ f, m->ldf, 0, m->n }, (Rows){ (real *)x, m->ldx, 0, m->n }, m->D,
                      m->to_f, false);
    for (int r = 0; !m->to_f && r < m->n; r++)
        for (int j = 0; j < m->F; j++)
            f[r * m->ldf + j] = row_dot(m->omega + j * m->D, x + r * m->ldx, m->D) * by;
}

static void performer_apply(const MapRows *m, const real *x, real *f)
{
    real half = R(0.5 / sqrt((double)m->D)), by = R(1 / sqrt((double)m->F));

    project(m, x, f);
    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real square = row_dot(x, x, m->D) * half;

        for (int j = 0; j < m->F; j++)
            f[j] = exp_real(f[j] - square) * by;
    }
}

static void performer_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    real root = R(1 / sqrt((double)m->D));

    for (int r = 0; r < m->n; r++)
        for (int j = 0; j < m->F; j++)
            df[r * m->ldf + j] *= f[r * m->ldf + j]; /* h */
    rows_multiply((Rows){ dx, m->ldx, 0, m->n }, (Rows){ df, m->ldf, 0, m->n }, m->F, m->to_x,
                  false);
    for (int r = 0; r < m->n; r++, x += m->ldx, df += m->ldf, dx += m->ldx) {
        real sum = row_sum(df, m->F) * root;

        for (int d = 0; d < m->D; d++)
            dx[d] -= x[d] * sum;
    }
}

static const FeatureMap map = { .features = as_told,
                                .apply = performer_apply,
                                .chain = performer_chain };

const Attention attention_performer = {
    .name = "performer",
    .summary = "linear, random features of the softmax kernel (arXiv:2009.14794)",
    .takes = TAKES_WINDOW | TAKES_ROPE | TAKES_KEY_SIZE | TAKES_FEATURES,
    .needs = 1 << MIX_OMEGA,
    .matrix = true,
    .linear = true,
    .map = &map,
};
