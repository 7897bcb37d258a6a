/*
 * Random feature attention (Peng et al., 2021, arXiv:2103.02143): linear attention with 2m
 * features, from random directions omega (m, D) and rows normalised to length 1:
 *
 *     u' = u / L, L = |u|        f = [sin(omega u') ; cos(omega u')]
 *
 * If |u| < 10^-6, L is the constant 10^-6. Backward, with y = omega u':
 *
 *     dy_r = df_r cos(y_r) - df_(m+r) sin(y_r)        domega_r = sum over all rows of dy_r u'
 *     du' = sum over r of dy_r omega_r                du = du' / L - [|u| >= 10^-6] u' (u'.du') / L
 *
 * If gated, there is no denominator: S_t = e^(g_t) S_t-1 + f(k_t) v_t^T and o_t = S_t^T f(q_t), as
 * in plain/decay.c.
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static double length(const PlainFeatures *r)
{
    return sqrt(plain_dot(r->u, r->u, r->x->D));
}

static double along(const PlainFeatures *r, int c)
{
    const double *omega = plain_operand(r->x, "omega") + c * r->x->D;

    return plain_dot(omega, r->u, r->x->D) / fmax(length(r), 1e-6);
}

static void phi(const PlainFeatures *r)
{
    for (int c = 0; c < r->x->m; c++) {
        r->f[c] = sin(along(r, c));
        r->f[r->x->m + c] = cos(along(r, c));
    }
}

static void back(const PlainFeatures *r)
{
    const double *omega = plain_operand(r->x, "omega");
    double *domega = plain_gradient(r->x, "omega"), *d1 = plain_zeros(r->x, r->x->D);
    double L = fmax(length(r), 1e-6);
    int D = r->x->D, m = r->x->m;

    for (int c = 0; c < m; c++) {
        double dy = r->df[c] * cos(along(r, c)) - r->df[m + c] * sin(along(r, c));

        plain_add(domega + c * D, dy / L, r->u, D);
        plain_add(d1, dy, omega + c * D, D);
    }
    plain_add(r->du, 1 / L, d1, D);
    if (length(r) >= 1e-6)
        plain_add(r->du, -plain_dot(r->u, d1, D) / L / L / L, r->u, D);
}

void plain_rfa(const PlainHead *x)
{
    if (setting(&x->mix->set, "gated"))
        plain_linear_decay(x, 2 * x->m, phi, back);
    else
        plain_linear(x, 2 * x->m, 2 * x->m, phi, back);
}
