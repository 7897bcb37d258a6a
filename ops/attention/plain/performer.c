/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): positive random features of the
 * softmax kernel, of fixed directions omega (m, D):
 *
 *     y = u / D^(1/4)       f_r = e^(omega_r.y - y.y / 2) / sqrt(m)
 *
 * whose product is e^(q.k / sqrt(D)) in expectation. Backward: the derivative of f_r by y is f_r
 * (omega_r - y), so
 *
 *     du = sum over r of df_r f_r (omega_r - y) / D^(1/4)
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
    const double *omega = plain_operand(r->x, "omega"), *y = scaled(r);
    int D = r->x->D, m = r->x->m;

    for (int c = 0; c < m; c++)
        r->f[c] = exp(plain_dot(omega + c * D, y, D) - plain_dot(y, y, D) / 2) / sqrt(m);
}

static void back(const PlainFeatures *r)
{
    const double *omega = plain_operand(r->x, "omega"), *y = scaled(r);
    int D = r->x->D, m = r->x->m;

    for (int c = 0; c < m; c++) {
        double dot = r->df[c] * r->f[c] * pow(D, -0.25);

        plain_add(r->du, dot, omega + c * D, D);
        plain_add(r->du, -dot, y, D);
    }
}

void plain_performer(const PlainHead *x)
{
    plain_linear(x, x->m, x->m, phi, back);
}
