/*
 * The retention of RetNet (Sun et al., 2023, arXiv:2307.08621): a state that decays,
 *
 *     S_t = a S_t-1 + k_t v_t^T       o_t = S_t^T q_t / sqrt(D)       a = 1 - 2^(-n-h) in head h
 *
 * which padding does not change. Unrolled, with s_ij = q_i.k_j / sqrt(D) for j in V(i), it is
 *
 *     A_ij = a^n_ij s_ij       n_ij: the distance of i and j, not counting padding
 *
 * which is linear in s_ij: ds_ij = a^n_ij dA_ij.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>
#include <stdlib.h>

static double decay(const PlainRow *r, int j)
{
    int i = r->i < r->x->length ? r->i : r->x->length - 1;

    return plain_sees(r->x, r->i, j)
               ? pow(1 - pow(2, -setting_or_zero(&r->x->mix->set, "decay") - r->x->head),
                     abs(i - j))
               : 0;
}

static void weigh(const PlainRow *r)
{
    for (int j = 0; j < r->x->T; j++)
        r->A[j] = plain_sees(r->x, r->i, j) ? decay(r, j) * r->s[j] : 0;
}

static void back(const PlainRow *r)
{
    for (int j = 0; j < r->x->T; j++)
        r->ds[j] = decay(r, j) * r->dA[j];
}

void plain_retnet(const PlainHead *x)
{
    plain_pairs(x, weigh, back);
}
