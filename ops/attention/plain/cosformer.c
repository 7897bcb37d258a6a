/*
 * cosFormer (Qin et al., 2022, arXiv:2202.08791): relu(q_i).relu(k_j) cos(pi (i - j) / 2M). By the
 * formula for the cosine of a difference it is a product of 2D features of row i of u = q or k,
 *
 *     w_i = pi (i + 1) / 2M             M = max(T, horizon)
 *     f_ic = max(u_ic, 0) cos w_i       f_i,D+c = max(u_ic, 0) sin w_i
 *
 * Backward: each entry of u is in two of them,
 *
 *     du_ic = [u_ic > 0] (df_ic cos w_i + df_i,D+c sin w_i)
 *
 * RoPE rotates max(u_i, 0), so its frequencies begin anew in the second half of the features; with
 * --rope-ladder 2d they do not.
 */
#include "ops/attention/plain/linear.h"

#include <math.h>

static double angle(const PlainFeatures *r)
{
    double M = fmax(r->x->T, setting(&r->x->mix->set, "horizon"));

    return acos(-1) * (r->i + 1) / (2 * M);
}

static void phi(const PlainFeatures *r)
{
    int D = r->x->D;

    for (int c = 0; c < D; c++) {
        r->f[c] = fmax(r->u[c], 0) * cos(angle(r));
        r->f[D + c] = fmax(r->u[c], 0) * sin(angle(r));
    }
}

static void back(const PlainFeatures *r)
{
    int D = r->x->D;

    for (int c = 0; c < D; c++)
        if (r->u[c] > 0)
            r->du[c] += r->df[c] * cos(angle(r)) + r->df[D + c] * sin(angle(r));
}

void plain_cosformer(const PlainHead *x)
{
    bool each_half = setting_is(&x->mix->set, "rope-ladder", "d");

    plain_linear(x, 2 * x->D, each_half ? x->D : 2 * x->D, phi, back);
}
