/*
 * With f_i = phi(q_i), e_j = psi(k_j), and R for the rotations of RoPE:
 *
 *     n_ij = R_i f_i . R_j e_j      z_i = guard(sum over l in V(i) of f_i.e_l)
 *     A_ij = n_ij / z_i             o_i = sum over j in V(i) of A_ij v_j
 *
 * Backward. dA_ij = g_i.v_j and dv_j = sum over i of A_ij g_i; then the quotient rule,
 *
 *     dn_ij = dA_ij / z_i           dz_i = - sum over j in V(i) of dA_ij n_ij / z_i^2
 *                                        = - sum over j in V(i) of dn_ij A_ij
 *
 * with dz_i = 0 where the guard acts; and both are linear in f_i and in e_j:
 *
 *     df_i = R_i^T (sum over j in V(i) of dn_ij R_j e_j) + dz_i sum over l in V(i) of e_l
 *     de_j = R_j^T (sum over i of dn_ij R_i f_i) + sum over i of dz_i f_i      i: j in V(i)
 */
#include "ops/attention/plain/linear.h"

typedef struct {
    const PlainHead *x;
    int F;
    double *f, *e, *rf, *re; /* (T, F), before and after rotation */
    double *sum, *A;         /* (T), z before the guard; (T, T) */
} Linear;

static void forward(Linear *l)
{
    const PlainHead *x = l->x;
    int T = x->T;
    double *w = plain_products(x, l->f, l->e, l->F);

    l->rf = plain_rotated(x, l->f, l->F);
    l->re = plain_rotated(x, l->e, l->F);
    l->A = plain_products(x, l->rf, l->re, l->F);
    l->sum = plain_zeros(x, T);
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            l->sum[i] += w[i * T + j];
        for (int j = 0; j < T; j++)
            l->A[i * T + j] /= plain_guard(l->sum[i]);
    }
    plain_times(x, l->A, x->in.v, x->E, x->o);
}

/* z_i is the sum of w_ij = f_i.e_j over j in V(i): dw_ij = dz_i. */
static void backward(const Linear *l, double *df, double *de)
{
    const PlainHead *x = l->x;
    int T = x->T;
    double *dn = plain_products(x, x->g, x->in.v, x->E), *dw = plain_zeros(x, T * T);

    plain_transposed_times(x, l->A, x->g, x->E, x->d.v);
    for (int i = 0; i < T; i++) {
        double z = plain_guard(l->sum[i]), dz = 0;

        for (int j = 0; j < T; j++) {
            dn[i * T + j] /= z;
            dz -= dn[i * T + j] * l->A[i * T + j];
        }
        for (int j = 0; j < T; j++)
            dw[i * T + j] = plain_sees(x, i, j) && z == l->sum[i] ? dz : 0;
    }
    plain_times(x, dn, l->re, l->F, df);
    plain_transposed_times(x, dn, l->rf, l->F, de);
    plain_rotate_back(x, df, l->F);
    plain_rotate_back(x, de, l->F);
    plain_times(x, dw, l->e, l->F, df);
    plain_transposed_times(x, dw, l->f, l->F, de);
}

/* Row i of q, or of k. */
static PlainFeatures row(const Linear *l, int i, bool of_key, const double *df)
{
    int D = l->x->D;

    return (PlainFeatures){ .x = l->x,
                            .i = i,
                            .of_key = of_key,
                            .u = (of_key ? l->x->in.k : l->x->in.q) + i * D,
                            .du = (of_key ? l->x->d.k : l->x->d.q) + i * D,
                            .f = (of_key ? l->e : l->f) + i * l->F,
                            .df = df + i * l->F };
}

void plain_linear(const PlainHead *x, int F, void (*phi)(const PlainFeatures *r),
                  void (*back)(const PlainFeatures *r))
{
    Linear l = { .x = x, .F = F, .f = plain_zeros(x, x->T * F), .e = plain_zeros(x, x->T * F) };
    double *df = plain_zeros(x, x->T * F), *de = plain_zeros(x, x->T * F);

    for (int i = 0; i < x->T; i++) {
        PlainFeatures q = row(&l, i, false, df), k = row(&l, i, true, de);

        phi(&q);
        phi(&k);
    }
    forward(&l);
    if (!x->g)
        return;

    backward(&l, df, de);
    for (int i = 0; i < x->T; i++) {
        PlainFeatures q = row(&l, i, false, df), k = row(&l, i, true, de);

        back(&q);
        back(&k);
    }
}
