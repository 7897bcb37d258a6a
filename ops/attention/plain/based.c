/*
 * Based (Arora et al., 2024, arXiv:2402.18668): linear attention with the features of the
 * second-order Taylor polynomial of e^s, for rows u of width D:
 *
 *     y = u / D^(1/4)       f = [1 ; y ; all y_a y_b / sqrt(2)]
 *     f(q).f(k) = 1 + s + s^2 / 2,      s = q.k / sqrt(D)
 *
 * By the product rule, the derivative of y_a y_b is y_b with respect to y_a, and y_a with respect
 * to y_b.
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static double *scaled(const PlainFeatures *r)
{
    double *y = plain_zeros(r->x, r->x->D);

    plain_add(y, pow(r->x->D, -0.25), r->u, r->x->D);
    return y;
}

static void phi(const PlainFeatures *r)
{
    const double *y = scaled(r);
    int D = r->x->D;

    r->f[0] = 1;
    plain_add(r->f + 1, 1, y, D);
    for (int a = 0; a < D; a++)
        plain_add(r->f + 1 + D + a * D, y[a] / sqrt(2), y, D);
}

static void back(const PlainFeatures *r)
{
    const double *y = scaled(r), *d2 = r->df + 1 + r->x->D;
    int D = r->x->D;
    double scale = pow(D, -0.25);

    plain_add(r->du, scale, r->df + 1, D);
    for (int a = 0; a < D; a++)
        for (int b = 0; b < D; b++) {
            r->du[a] += scale * d2[a * D + b] * y[b] / sqrt(2);
            r->du[b] += scale * d2[a * D + b] * y[a] / sqrt(2);
        }
}

void plain_based(const PlainHead *x)
{
    plain_linear(x, 1 + x->D + x->D * x->D, 1 + x->D + x->D * x->D, phi, back);
}
