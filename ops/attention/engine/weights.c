/*
 * Weights that are functions of a single score (--weight), for the n_i keys in V(i):
 *
 *     sigmoid    A_ij = 1 / (1 + e^(-(s_ij - ln n_i))) = 1 / (1 + n_i e^-s_ij)
 *     relu       A_ij = max(s_ij, 0) / n_i
 *     relu2      A_ij = max(s_ij, 0)^2 / n_i                        gau.c
 *     laplace    A_ij = (1 + erf((s_ij - mu) / (sigma sqrt 2))) / 2
 *                mu = sqrt(1/2), sigma = 1 / sqrt(4 pi)
 *
 * (Ramapuram et al., 2024, arXiv:2409.04431; Wortsman et al., 2023, arXiv:2309.08586; Hua et al.,
 * 2022, arXiv:2202.10447; Ma et al., 2022, arXiv:2209.10655.) No weight depends on the score of
 * another key, so delta_i = 0 in the rule of tiles.c: ds_ij = dA_ij times the derivative of A_ij,
 *
 *     sigmoid    A_ij (1 - A_ij)
 *     relu       [s_ij > 0] / n_i
 *     laplace    sqrt(2) e^(-2 pi (s_ij - mu)^2)
 *
 * the last by erf'(z) = 2 / sqrt(pi) e^(-z^2) with z = (s_ij - mu) sqrt(2 pi), since
 * 1 / (sigma sqrt 2) = sqrt(2 pi). tiles.c divides the sum of a row by c_i, so sigmoid, whose c_i
 * is n_i, has w = c_i A.
 *
 * softmax1 is in softmax.c.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/kernel/elementary.h"

#define HIDDEN -R(HUGE_VAL)

static void sigmoid_weigh(real *restrict s, int n, real *o, int E, RowState *row)
{
    const real c = row->c;

    (void)o, (void)E;
    for (int j = 0; j < n; j++)
        s[j] = c / (1 + c * exp_real(-s[j]));
}

static void sigmoid_unweigh(real *restrict s, real *restrict dA, int n, const RowState *row)
{
    const real c = row->c;

    for (int j = 0; j < n; j++) {
        s[j] = 1 / (1 + c * exp_real(-s[j]));
        dA[j] = s[j] * (1 - s[j]) * dA[j];
    }
}

static void relu_weigh(real *restrict s, int n, real *o, int E, RowState *row)
{
    (void)o, (void)E, (void)row;
    for (int j = 0; j < n; j++)
        s[j] = s[j] < 0 ? 0 : s[j]; /* NaN stays */
}

static void relu_unweigh(real *restrict s, real *restrict dA, int n, const RowState *row)
{
    const real by = 1 / row->c;

    for (int j = 0; j < n; j++) {
        dA[j] = s[j] > 0 ? dA[j] * by : 0;
        s[j] = s[j] > 0 ? s[j] * by : 0;
    }
}

static double positive(double s)
{
    return s < 0 ? 0 : s;
}

static double laplace(double s)
{
    return (1 + erf((s - sqrt(0.5)) * sqrt(2 * acos(-1)))) / 2;
}

static void laplace_weigh(real *s, int n, real *o, int E, RowState *row)
{
    (void)o, (void)E, (void)row;
    for (int j = 0; j < n; j++)
        s[j] = R(laplace((double)s[j]));
}

static void laplace_unweigh(real *s, real *dA, int n, const RowState *row)
{
    (void)row;
    for (int j = 0; j < n; j++) {
        const real far = s[j] - R(sqrt(0.5));

        dA[j] = R(sqrt(2)) * exp_below(-R(2 * acos(-1)) * far * far) * dA[j];
        s[j] = R(laplace((double)s[j]));
    }
}

const Weighting weighting_sigmoid = { .hidden = HIDDEN,
                                      .weigh = sigmoid_weigh,
                                      .unweigh = sigmoid_unweigh };
const Weighting weighting_relu = {
    .hidden = 0, .weigh = relu_weigh, .unweigh = relu_unweigh, .weight = positive
};
const Weighting weighting_laplace = {
    .hidden = HIDDEN, .weigh = laplace_weigh, .unweigh = laplace_unweigh, .weight = laplace
};

real by_n(int n0, int n)
{
    (void)n0;
    return R(n);
}

real by_one(int n0, int n)
{
    (void)n0, (void)n;
    return 1;
}
