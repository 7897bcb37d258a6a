/*
 * Based (Arora et al., 2024, arXiv:2402.18668): linear attention whose weight is the second-order
 * Taylor polynomial of softmax's e^s, which is at least 1/2:
 *
 *     A_ij ~ 1 + s + s^2 / 2        s = q_i . k_j / sqrt(D)
 *
 * With y = x / D^(1/4) it is a product of features: 1, y and y y^T / sqrt(2). Since y y^T is
 * symmetric, half of it is enough, with the entries off the diagonal multiplied by sqrt(2). So
 * there are F = 1 + D + D (D + 1) / 2 features, which is affordable only for a small D, 8 to 16.
 *
 *     phi(x) = psi(x) = [1 ; y ; y_a y_a / sqrt(2) ; y_a y_b for a < b]
 *
 * The pairs are ordered by their distance c modulo D, each pair once, so that the D pairs at one
 * distance are a single loop:
 *
 *     y_a y_(a + c mod D)        a = 0 .. D-1,  c = 1 .. (D-1) / 2;  if D is even, also c = D / 2
 *                                for a = 0 .. D/2 - 1
 *
 * Backward, with p[c,a] the gradient of the feature w_c y_a y_(a+c), or 0 where there is no such
 * feature; w_0 = 1 / sqrt(2), w_c = 1 otherwise, and indices are modulo D. By the product rule each
 * factor receives p[c,a] times w_c times the other one, so with df_a the gradient of the feature
 * y_a,
 *
 *     dy_a = df_a + sum over c of w_c (p[c,a] y_(a+c) + p[c,a-c] y_(a-c))
 *     dx   = dy / D^(1/4)
 *
 * RoPE rotates q and k before the map: the weight remains a function of s, which then depends on
 * i - j.
 *
 * Plain twin: plain/based.c.
 */
#include "ops/attention/engine/features.h"
#include "ops/attention/engine/settings.h"
#include "ops/base/error.h"

#include <limits.h>

#define HALF_ROOT R(0.70710678118654752) /* 1 / sqrt(2) */

static int second_order(int D, int m)
{
    const double n = 1 + D + 0.5 * D * (D + 1.0);

    (void)m;
    if (n > INT_MAX)
        die(EXIT_MEMORY, "based has %.0f features of keys of %d numbers, which are too many", n, D);
    return (int)n;
}

/* The pairs of distance c. */
static int pairs_at(int D, int c)
{
    return 2 * c == D ? D / 2 : D;
}

/* D^(-1/4) */
static real scale_of(int D)
{
    return R(pow((double)D, -0.25));
}

/* y twice in a row: y_(a+c) needs no remainder. */
static void expand(const real *restrict x, real by, int D, real *restrict y)
{
    for (int d = 0; d < D; d++)
        y[d] = y[D + d] = x[d] * by;
}

static void multiply(const real *restrict a, const real *restrict b, int n, real *restrict to)
{
    for (int i = 0; i < n; i++)
        to[i] = a[i] * b[i];
}

static void multiply_add(const real *restrict a, const real *restrict b, int n, real *restrict to)
{
    for (int i = 0; i < n; i++)
        to[i] += a[i] * b[i];
}

/* The second y is where the squares come last. */
static void based_apply(const MapRows *m, const real *x, real *f)
{
    const int D = m->D;

    for (int r = 0; r < m->n; r++, x += m->ldx, f += m->ldf) {
        real *y = f + 1, *pairs = y + D;

        f[0] = 1;
        expand(x, scale_of(D), D, y);
        for (int c = 1; 2 * c <= D; c++)
            multiply(y, y + c, pairs_at(D, c), pairs + c * D);
        for (int a = 0; a < D; a++)
            pairs[a] = y[a] * y[a] * HALF_ROOT;
    }
}

/* dy of a row, as two halves to add. */
static void chain_row(int D, const real *y, real *df)
{
    real *dy = df + 1, *p = dy + D;

    for (int a = 0; a < D; a++) {
        dy[a] += 2 * HALF_ROOT * p[a] * y[a];
        p[a] = 0; /* from here on the second half of dy */
    }
    for (int c = 1; 2 * c <= D; c++) {
        multiply_add(p + c * D, y + c, pairs_at(D, c), dy);
        multiply_add(p + c * D, y, pairs_at(D, c), dy + c);
    }
}

static void based_chain(const MapRows *m, const real *x, const real *f, real *df, real *dx)
{
    real *y = dx + m->n * m->ldx;
    const int D = m->D;
    const real by = scale_of(D);

    (void)f;
    for (int r = 0; r < m->n; r++, x += m->ldx, df += m->ldf, dx += m->ldx) {
        expand(x, by, D, y);
        chain_row(D, y, df);
        for (int d = 0; d < D; d++)
            dx[d] = by * (df[1 + d] + df[1 + D + d]);
    }
}

static const FeatureMap map = { .features = second_order,
                                .apply = based_apply,
                                .chain = based_chain };

const Attention attention_based = {
    .name = "based",
    .summary = "linear, second-order Taylor features (arXiv:2402.18668)",
    .traits = CAN_ROPE | HAS_MATRIX | IS_LINEAR | SMOOTH | QUOTIENT | CANCELS,
    .settings = (const Setting[]){ SETTING_ROPE_AT(1, 1),
                                   SETTING_WINDOW,
                                   SETTING_KEY_SIZE_BY(16),
                                   SETTING_OUT_NORM(0),
                                   SETTING_OUT_GATE(0),
                                   SETTINGS_AROUND,
                                   { 0 } },
    .engine = &engine_linear,
    .rule = &map,
    .plain = plain_based,
};
