/*
 * Performer (Choromanski et al., 2021, arXiv:2009.14794): positive random features of the
 * softmax kernel, of directions omega (m, D):
 *
 *     y = u / D^(1/4)       f_r = e^(omega_r.y - y.y / 2) / sqrt(m)
 *
 * whose product is e^(q.k / sqrt(D)) in expectation. Backward: the derivative of f_r with respect
 * to y is f_r (omega_r - y), so
 *
 *     du = sum over r of df_r f_r (omega_r - y) / D^(1/4)
 *     domega_r = sum over all rows of df_r f_r y
 *
 * or of the kernel relu, f_r = max(omega_r.u, 0) + 0.001: where omega_r.u > 0,
 *
 *     du = sum over r of df_r omega_r
 *     domega_r = sum over all rows of df_r u
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static double *scaled(const PlainFeatures *r)
{
    double *y = plain_zeros(r->x, r->x->D);

    plain_add(y, pow(r->x->D, -0.25), r->u, r->x->D);
    return y;
}

static void relu(const PlainFeatures *r)
{
    const double *omega = plain_operand(r->x, "omega");

    for (int c = 0; c < r->x->m; c++)
        r->f[c] = fmax(plain_dot(omega + c * r->x->D, r->u, r->x->D), 0) + 1e-3;
}

static void relu_back(const PlainFeatures *r)
{
    const double *omega = plain_operand(r->x, "omega");
    double *domega = plain_gradient(r->x, "omega");
    int D = r->x->D;

    for (int c = 0; c < r->x->m; c++)
        if (plain_dot(omega + c * D, r->u, D) > 0) {
            plain_add(r->du, r->df[c], omega + c * D, D);
            plain_add(domega + c * D, r->df[c], r->u, D);
        }
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
    double *domega = plain_gradient(r->x, "omega");
    int D = r->x->D, m = r->x->m;

    for (int c = 0; c < m; c++) {
        double by = r->df[c] * r->f[c], dot = by * pow(D, -0.25);

        plain_add(r->du, dot, omega + c * D, D);
        plain_add(r->du, -dot, y, D);
        plain_add(domega + c * D, by, y, D);
    }
}

void plain_performer(const PlainHead *x)
{
    const bool relu_kernel = setting_is(&x->mix->set, "kernel", "relu");

    plain_linear(x, x->m, x->m, relu_kernel ? relu : phi, relu_kernel ? relu_back : back);
}
