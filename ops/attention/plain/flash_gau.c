/*
 * Mixed chunk attention (FLASH: Hua et al., 2022, arXiv:2202.10447), in chunks of C positions:
 *
 *     o_i = sum over j in V(i) of (P_ij + L_ij) v_j
 *     P_ij = max(s_ij, 0)^2 / C         j in i's own chunk; s_ij = q_i.k_j / sqrt(D)
 *     L_ij = ql_i.kl_j / (C N_i)        j in one of the N_i visible chunks
 *
 * These are the earlier chunks if causal, else all chunks with a key that is not padding. Backward:
 *
 *     ds_ij = 2 max(s_ij, 0) dA_ij / C
 *     dql_i = sum over j of dA_ij kl_j / (C N_i)       dkl_j = sum over i of dA_ij ql_i / (C N_i)
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

static int chunk(const PlainHead *x)
{
    return setting_or_zero(&x->mix->set, "chunk");
}

static void weigh(const PlainRow *r)
{
    int C = chunk(r->x);

    for (int j = 0; j < r->x->T; j++)
        r->A[j] = j / C == r->i / C ? pow(fmax(r->s[j], 0), 2) / C : 0;
}

static void back(const PlainRow *r)
{
    int C = chunk(r->x);

    for (int j = 0; j < r->x->T; j++)
        r->ds[j] = j / C == r->i / C ? 2 * fmax(r->s[j], 0) * r->dA[j] / C : 0;
}

/* Divides the products of all pairs by C N_i, and clears those in other chunks. */
static void count(const PlainHead *x, double *L)
{
    int C = chunk(x);

    for (int i = 0; i < x->T; i++) {
        int N = x->mix->causal ? i / C : (x->length + C - 1) / C;

        for (int j = 0; j < x->T; j++)
            L[i * x->T + j] = j / C < N ? L[i * x->T + j] / ((double)C * N) : 0;
    }
}

void plain_flash_gau(const PlainHead *x)
{
    int D = x->D;
    double *ql = plain_rotated(x, plain_operand(x, "ql"), D, D), *dql = plain_gradient(x, "ql");
    double *kl = plain_rotated(x, plain_operand(x, "kl"), D, D), *dkl = plain_gradient(x, "kl");
    double *L = plain_products(x, ql, kl, D), *dL;

    plain_pairs(x, weigh, back);
    count(x, L);
    plain_times(x, L, x->in.v, x->E, x->o);
    if (!x->g)
        return;

    plain_transposed_times(x, L, x->g, x->E, x->d.v);
    dL = plain_products(x, x->g, x->in.v, x->E);
    count(x, dL);
    plain_times(x, dL, kl, D, dql);
    plain_transposed_times(x, dL, ql, D, dkl);
    plain_rotate_back(x, dql, D, D);
    plain_rotate_back(x, dkl, D, D);
}
