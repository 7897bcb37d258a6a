/*
 * Forward, with the mechanism's function w:
 *
 *     s_ij = q_i.k_j / sqrt(D)      A_i = w(s_i)      o_i = sum over j of A_ij v_j
 *
 * Backward. o is linear in A and in v, and s in q and in k:
 *
 *     dA_ij = g_i.v_j       dv_j = sum over i of A_ij g_i
 *     ds_ij = sum over l of dA_il times the derivative of A_il by s_ij
 *     dq_i = sum over j of ds_ij k_j / sqrt(D)       dk_j = sum over i of ds_ij q_i / sqrt(D)
 *
 * and if RoPE rotates q and k, their gradients are rotated back.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

void plain_pairs(const PlainHead *x, void (*weigh)(const PlainRow *r),
                 void (*back)(const PlainRow *r))
{
    int T = x->T, D = x->D, E = x->E;
    double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *s = plain_products(x, q, k, D), *A = plain_zeros(x, T * T), *dA = NULL, *ds = NULL;

    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            s[i * T + j] = plain_sees(x, i, j) ? s[i * T + j] / sqrt(D) : -HUGE_VAL;
        if (plain_seen(x, i))
            weigh(&(PlainRow){ .x = x, .i = i, .s = s + i * T, .A = A + i * T });
    }
    plain_times(x, A, x->in.v, E, x->o);
    if (!x->g)
        return;

    plain_transposed_times(x, A, x->g, E, x->d.v);
    dA = plain_products(x, x->g, x->in.v, E);
    ds = plain_zeros(x, T * T);
    for (int i = 0; i < T; i++) {
        if (plain_seen(x, i))
            back(&(PlainRow){ x, i, s + i * T, dA + i * T, A + i * T, ds + i * T });
        for (int j = 0; j < T; j++)
            ds[i * T + j] /= sqrt(D);
    }
    plain_times(x, ds, k, D, x->d.q);
    plain_transposed_times(x, ds, q, D, x->d.k);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
}
