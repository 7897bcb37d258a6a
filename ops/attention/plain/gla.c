/*
 * Gated linear attention (Yang et al., 2024, arXiv:2312.06635), position by position. With a_t =
 * e^(ga_t), a vector, and a_t = 1 at padding, which does not change the state:
 *
 *     S_t = diag(a_t) S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *
 * (the layer divides q by sqrt(D)). Backward, with R_t the gradient of S_t:
 *
 *     R_t = diag(a_t+1) R_t+1 + q_t g_t^T       dq_t = S_t g_t
 *     dk_t = R_t v_t                            dv_t = R_t^T k_t
 *     dga_td = a_td sum over e of R_t,de S_t-1,de
 */
#include "ops/attention/plain/plain.h"

#include <math.h>

/* S_0 = 0, S_1 .. S_T: (T + 1, D, E). */
static double *states(const PlainHead *x, const double *a)
{
    int D = x->D, E = x->E;
    double *S = plain_zeros(x, (x->T + 1) * D * E);

    for (int t = 0; t < x->T; t++)
        for (int d = 0; d < D; d++) {
            double *row = S + ((t + 1) * D + d) * E;

            plain_add(row, t < x->length ? a[t * D + d] : 1, row - D * E, E);
            plain_add(row, t < x->length ? x->in.k[t * D + d] : 0, x->in.v + t * E,
                      t < x->length ? E : 0);
            plain_add(x->o + t * E, x->in.q[t * D + d], row, E);
        }
    return S;
}

static void back(const PlainHead *x, const double *a, const double *S, double *dga)
{
    int D = x->D, E = x->E;
    double *R = plain_zeros(x, D * E);

    for (int t = x->T - 1; t >= 0; t--)
        for (int d = 0; d < D; d++) {
            const double *row = S + ((t + 1) * D + d) * E;
            double *r = R + d * E;

            plain_add(r, x->in.q[t * D + d], x->g + t * E, E);
            x->d.q[t * D + d] += plain_dot(row, x->g + t * E, E);
            if (t >= x->length)
                continue;
            x->d.k[t * D + d] += plain_dot(r, x->in.v + t * E, E);
            plain_add(x->d.v + t * E, x->in.k[t * D + d], r, E);
            dga[t * D + d] += a[t * D + d] * plain_dot(r, row - D * E, E);
            plain_add(r, a[t * D + d] - 1, r, E);
        }
}

void plain_gla(const PlainHead *x)
{
    double *a = plain_zeros(x, x->T * x->D), *S;

    for (int c = 0; c < x->T * x->D; c++)
        a[c] = exp(plain_operand(x, "ga")[c]);
    S = states(x, a);
    if (x->g)
        back(x, a, S, plain_gradient(x, "ga"));
}
