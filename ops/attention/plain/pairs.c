/*
 * Forward, with the mechanism's function w:
 *
 *     s_ij = q_i.k_j / sqrt(D)      A_i = w(s_i)      o_i = sum over j of A_ij v_j
 *
 * Backward. o is linear in A and in v, and s in q and in k:
 *
 *     dA_ij = g_i.v_j       dv_j = sum over i of A_ij g_i
 *     ds_ij = sum over l of dA_il times the derivative of A_il with respect to s_ij
 *     dq_i = sum over j of ds_ij k_j / sqrt(D)       dk_j = sum over i of ds_ij q_i / sqrt(D)
 *
 * and if RoPE rotates q and k, their gradients are rotated back.
 *
 * With the setting rel-bias (Hua et al., 2022, arXiv:2202.10447) a number that is the same for all
 * tokens, the product of two learned vectors a and b, rotated by RoPE, is added to each score:
 *
 *     s_ij = q_i.k_j / sqrt(D) + w_ij         w_ij = a_i.b_j,  a_i = R_i a,  b_j = R_j b
 *
 * so with dw = ds: da_i = sum over j of ds_ij b_j, db_j = sum over i of ds_ij a_i, and da and db
 * are the sums of these, rotated back. An odd number at the end is not rotated.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

static bool has_bias(const PlainHead *x)
{
    return attention_takes(x->mix->attention, "rel-bias") &&
           setting_is(&x->mix->set, "rel-bias", "rope");
}

/* T copies of a vector, each rotated by its position. */
static double *copies(const PlainHead *x, const char *of)
{
    double *rows = plain_zeros(x, x->T * x->D), *vector = plain_operand(x, of);

    for (int i = 0; i < x->T; i++)
        for (int d = 0; d < x->D; d++)
            rows[i * x->D + d] = vector[d];
    plain_turn(x, rows, x->D, 1);
    return rows;
}

static double *bias(const PlainHead *x)
{
    if (!has_bias(x))
        return plain_zeros(x, x->T * x->T);
    return plain_products(x, copies(x, "rel_a"), copies(x, "rel_b"), x->D);
}

/* Adds to the gradient of a vector, from those of its rotated copies. */
static void give(const PlainHead *x, double *rows, const char *to)
{
    plain_turn(x, rows, x->D, -1);
    for (int i = 0; i < x->T; i++)
        plain_add(plain_gradient(x, to), 1, rows + i * x->D, x->D);
}

static void bias_back(const PlainHead *x, const double *ds)
{
    double *da = plain_zeros(x, x->T * x->D), *db = plain_zeros(x, x->T * x->D);

    if (!has_bias(x))
        return;
    plain_times(x, ds, copies(x, "rel_b"), x->D, da);
    plain_transposed_times(x, ds, copies(x, "rel_a"), x->D, db);
    give(x, da, "rel_a");
    give(x, db, "rel_b");
}

void plain_pairs(const PlainHead *x, void (*weigh)(const PlainRow *r),
                 void (*back)(const PlainRow *r))
{
    int T = x->T, D = x->D, E = x->E;
    double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *s = plain_products(x, q, k, D), *A = plain_zeros(x, T * T), *dA = NULL, *ds = NULL;
    double *w = bias(x);

    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            s[i * T + j] = plain_sees(x, i, j) ? s[i * T + j] / sqrt(D) + w[i * T + j] : -HUGE_VAL;
        if (plain_seen(x, i))
            weigh(&(PlainRow){ .x = x, .i = i, .s = s + i * T, .A = A + i * T });
    }
    plain_times(x, A, x->in.v, E, x->o);
    if (!x->g)
        return;

    plain_transposed_times(x, A, x->g, E, x->d.v);
    dA = plain_products(x, x->g, x->in.v, E);
    ds = plain_zeros(x, T * T);
    for (int i = 0; i < T; i++)
        if (plain_seen(x, i))
            back(&(PlainRow){ x, i, s + i * T, dA + i * T, A + i * T, ds + i * T });
    bias_back(x, ds);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            ds[i * T + j] /= sqrt(D);
    plain_times(x, ds, k, D, x->d.q);
    plain_transposed_times(x, ds, q, D, x->d.k);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
}
