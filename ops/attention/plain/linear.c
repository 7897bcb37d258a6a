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
 *
 * With --rope-at before, R is 1 above, and f_i = phi(R_i q_i), e_j = psi(R_j k_j): the gradient of
 * R_i q_i is multiplied by R_i^T.
 */
#include "ops/attention/plain/linear.h"

typedef struct {
    const PlainHead *x;
    int F, ladder;
    double *u[2], *du[2];    /* of q and k, as phi takes them */
    double *f, *e, *rf, *re; /* (T, F), before and after rotation */
    double *sum, *A;         /* (T), z before the guard; (T, T) */
} Linear;

static double *rotated(const Linear *l, double *features)
{
    return plain_rotates_before(l->x) ? features : plain_rotated(l->x, features, l->F, l->ladder);
}

static void forward(Linear *l)
{
    const PlainHead *x = l->x;
    int T = x->T;
    double *w = plain_products(x, l->f, l->e, l->F);

    l->rf = rotated(l, l->f);
    l->re = rotated(l, l->e);
    l->A = plain_products(x, l->rf, l->re, l->F);
    l->sum = plain_zeros(x, T);
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            l->sum[i] += w[i * T + j];
        for (int j = 0; j < T; j++)
            l->A[i * T + j] /= plain_guard(l->sum[i]);
        plain_put_sum(x, i, l->sum[i]);
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
    if (!plain_rotates_before(x)) {
        plain_rotate_back(x, df, l->F, l->ladder);
        plain_rotate_back(x, de, l->F, l->ladder);
    }
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
                            .u = l->u[of_key] + i * D,
                            .du = l->du[of_key] + i * D,
                            .f = (of_key ? l->e : l->f) + i * l->F,
                            .df = df + i * l->F };
}

/* Copies of q and k, rotated if that is done before the map, and their gradients. */
static void take_rows(Linear *l)
{
    const PlainHead *x = l->x;
    double *const from[] = { x->in.q, x->in.k };

    for (int key = 0; key < 2; key++) {
        l->u[key] = plain_rotates_before(x) ? plain_rotated(x, from[key], x->D, x->D) : from[key];
        l->du[key] = plain_zeros(x, x->T * x->D);
    }
}

static void give_rows(const Linear *l)
{
    const PlainHead *x = l->x;
    double *const to[] = { x->d.q, x->d.k };

    for (int key = 0; key < 2; key++) {
        if (plain_rotates_before(x))
            plain_rotate_back(x, l->du[key], x->D, x->D);
        plain_add(to[key], 1, l->du[key], x->T * x->D);
    }
}

/* Calls f for each row of q and of k, with the gradients of their features. */
static void each_row(const Linear *l, const double *df, const double *de,
                     void (*f)(const PlainFeatures *r))
{
    for (int i = 0; i < l->x->T; i++) {
        PlainFeatures q = row(l, i, false, df), k = row(l, i, true, de);

        f(&q);
        f(&k);
    }
}

void plain_linear(const PlainHead *x, int F, int ladder, void (*phi)(const PlainFeatures *r),
                  void (*back)(const PlainFeatures *r))
{
    Linear l = { .x = x, .F = F, .ladder = ladder };
    double *df = plain_zeros(x, x->T * F), *de = plain_zeros(x, x->T * F);

    l.f = plain_zeros(x, x->T * F), l.e = plain_zeros(x, x->T * F);
    take_rows(&l);
    each_row(&l, df, de, phi);
    forward(&l);
    if (!x->g)
        return;

    backward(&l, df, de);
    each_row(&l, df, de, back);
    give_rows(&l);
}

void plain_linear_decay(const PlainHead *x, int F, void (*phi)(const PlainFeatures *r),
                        void (*back)(const PlainFeatures *r))
{
    Linear l = { .x = x, .F = F };
    PlainMix mix = *x->mix;
    PlainHead of = *x; /* with the features for q and k */

    l.f = of.in.q = plain_zeros(x, x->T * F), l.e = of.in.k = plain_zeros(x, x->T * F);
    of.d.q = plain_zeros(x, x->T * F), of.d.k = plain_zeros(x, x->T * F);
    of.mix = &mix, of.D = F, mix.rope = mix.rope && !plain_rotates_before(x);
    take_rows(&l);
    each_row(&l, of.d.q, of.d.k, phi);
    plain_decay(&of);
    if (!x->g)
        return;

    each_row(&l, of.d.q, of.d.k, back);
    give_rows(&l);
}
