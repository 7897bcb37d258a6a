/*
 * Efficient attention (Shen et al., 2021, arXiv:1812.01243), with a softmax of each query over its
 * D features, and one of each feature over the keys, so that the weights need no denominator:
 *
 *     f_i = softmax(q_i)      p_ijc = e^(k_jc) / sum over l in V(i) of e^(k_lc)
 *     A_ij = sum over c of f_ic p_ijc       o_i = sum over j in V(i) of A_ij v_j
 *
 * RoPE rotates q and k before both. Backward, with dA_ij = g_i.v_j and the derivative of each
 * softmax:
 *
 *     df_ic = sum over j of dA_ij p_ijc       dq_ic = f_ic (df_ic - f_i.df_i)
 *     dp_ijc = dA_ij f_ic       dk_jc = sum over i of p_ijc (dp_ijc - sum over l of p_ilc dp_ilc)
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

/* p_ijc for all j, of row i and feature c of the rows k. */
static double *share(const PlainHead *x, const double *rows, int i, int c)
{
    double *k = plain_zeros(x, x->T), *p = plain_zeros(x, x->T);

    for (int j = 0; j < x->T; j++)
        k[j] = plain_sees(x, i, j) ? rows[j * x->D + c] : -HUGE_VAL;
    if (plain_seen(x, i))
        plain_softmax_of(k, p, x->T);
    return p;
}

/* Row i; dA is row i of dA. */
static void row_back(const PlainHead *x, const double *k, int i, const double *f, const double *dA)
{
    int T = x->T, D = x->D;
    double *df = plain_zeros(x, D), *dq = plain_zeros(x, D);

    for (int c = 0; c < D; c++) {
        double *p = share(x, k, i, c), *dp = plain_zeros(x, T), *dk = plain_zeros(x, T);

        df[c] = plain_dot(dA, p, T);
        plain_add(dp, f[c], dA, T);
        plain_softmax_back(p, dp, dk, T);
        for (int j = 0; j < T; j++)
            x->d.k[j * D + c] += dk[j];
    }
    plain_softmax_back(f, df, dq, D);
    plain_add(x->d.q + i * D, 1, dq, D);
}

void plain_efficient(const PlainHead *x)
{
    int T = x->T, D = x->D;
    const double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *f = plain_zeros(x, T * D), *A = plain_zeros(x, T * T), *dA;

    for (int i = 0; i < T; i++) {
        plain_softmax_of(q + i * D, f + i * D, D);
        for (int c = 0; c < D; c++)
            plain_add(A + i * T, f[i * D + c], share(x, k, i, c), T);
    }
    plain_times(x, A, x->in.v, x->E, x->o);
    if (!x->g)
        return;

    plain_transposed_times(x, A, x->g, x->E, x->d.v);
    dA = plain_products(x, x->g, x->in.v, x->E);
    for (int i = 0; i < T; i++)
        row_back(x, k, i, f + i * D, dA + i * T);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
}
