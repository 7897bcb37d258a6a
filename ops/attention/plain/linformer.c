/*
 * Linformer (Wang et al., 2020, arXiv:2006.04768): learned matrices E and F reduce the n keys that
 * are not padding, and their values, to m:
 *
 *     K_r = sum over j < n of E_rj k_j        U_r = sum over j < n of F_rj v_j
 *     P_i = softmax over r of (q_i.K_r / sqrt(D))        o_i = sum over r of P_ir U_r
 *
 * Backward: the softmax is that of plain/softmax.c, and everything else is linear,
 *
 *     dP_ir = g_i.U_r         dU_r = sum over i of P_ir g_i
 *     dq_i = sum over r of ds_ir K_r / sqrt(D)        dK_r = sum over i of ds_ir q_i / sqrt(D)
 *     dE_rj = dK_r.k_j        dk_j = sum over r of E_rj dK_r
 *     dF_rj = dU_r.v_j        dv_j = sum over r of F_rj dU_r
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

/* y_r += sum over the n keys of M_rj x_j, and its backward. */
static void mix_keys(const PlainHead *x, const double *M, const double *rows, int width, double *y)
{
    for (int r = 0; r < x->m; r++)
        for (int j = 0; j < x->length; j++)
            plain_add(y + r * width, M[r * x->mix->context + j], rows + j * width, width);
}

static void mix_back(const PlainHead *x, const char *name, const double *rows, int width,
                     const double *dy, double *drows)
{
    const double *M = plain_operand(x, name);
    const int c = x->mix->context;

    for (int r = 0; r < x->m; r++)
        for (int j = 0; j < x->length; j++) {
            plain_gradient(x, name)[r * c + j] +=
                plain_dot(dy + r * width, rows + j * width, width);
            plain_add(drows + j * width, M[r * c + j], dy + r * width, width);
        }
}

void plain_linformer(const PlainHead *x)
{
    const int D = x->D, E = x->E, m = x->m;
    double *K = plain_zeros(x, m * D), *U = plain_zeros(x, m * E), *dK = plain_zeros(x, m * D);
    double *s = plain_zeros(x, m), *P = plain_zeros(x, m), *dP = plain_zeros(x, m);
    double *ds = plain_zeros(x, m), *dU = plain_zeros(x, m * E);

    mix_keys(x, plain_operand(x, "e"), x->in.k, D, K);
    mix_keys(x, plain_operand(x, "f"), x->in.v, E, U);
    for (int i = 0; i < x->T && x->length > 0; i++) {
        const double *q = x->in.q + i * D;

        for (int r = 0; r < m; r++)
            s[r] = plain_dot(q, K + r * D, D) / sqrt((double)D);
        plain_softmax_of(s, P, m);
        for (int r = 0; r < m; r++)
            plain_add(x->o + i * E, P[r], U + r * E, E);
        for (int r = 0; r < m && x->g; r++) {
            dP[r] = plain_dot(x->g + i * E, U + r * E, E);
            plain_add(dU + r * E, P[r], x->g + i * E, E);
        }
        plain_softmax_back(P, dP, ds, m);
        for (int r = 0; r < m && x->g; r++) {
            plain_add(x->d.q + i * D, ds[r] / sqrt((double)D), K + r * D, D);
            plain_add(dK + r * D, ds[r] / sqrt((double)D), q, D);
        }
    }
    mix_back(x, "e", x->in.k, D, dK, x->d.k);
    mix_back(x, "f", x->in.v, E, dU, x->d.v);
}
