/*
 * The weights of the gated attention unit (Hua et al., 2022, arXiv:2202.10447), with
 * s_ij = q_i.k_j / sqrt(D) and n_i keys in V(i):
 *
 *     A_ij = max(s_ij, 0)^2 / c_i       c_i = n_i (n), n0 (fixed), n_i^2 (n2), or
 *                                       guard(sum over l of max(s_il, 0)^2) (sum)
 *
 * Where c_i does not depend on s, ds_ij = 2 max(s_ij, 0) dA_ij / c_i. Where it is the sum, the
 * quotient rule gives
 *
 *     ds_ij = 2 max(s_ij, 0) (dA_ij - sum over l of dA_il A_il) / c_i
 *
 * except where the guard acts. The norms softmax, entropy and logn are softmax's scales, and
 * forgetting is that of plain/softmax.c.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

static double sum(const PlainRow *r)
{
    double c = 0;

    for (int j = 0; j < r->x->T; j++)
        c += pow(fmax(r->s[j], 0), 2);
    return c;
}

static bool is(const PlainRow *r, const char *norm)
{
    return setting_is(&r->x->mix->set, "norm", norm);
}

static double divisor(const PlainRow *r)
{
    double n = plain_seen(r->x, r->i);

    if (is(r, "sum"))
        return plain_guard(sum(r));
    if (is(r, "fixed"))
        return setting_or_zero(&r->x->mix->set, "base");
    return is(r, "n2") ? n * n : n;
}

static bool is_softmax(const PlainRow *r)
{
    return is(r, "softmax") || is(r, "entropy") || is(r, "logn");
}

static void weigh(const PlainRow *r)
{
    const double c = divisor(r);

    if (is_softmax(r)) {
        plain_softmax_weigh(r, "norm");
        return;
    }
    if (is(r, "forgetting")) {
        plain_forgetting_weigh(r, "norm");
        return;
    }
    plain_put_sum(r->x, r->i, sum(r));
    for (int j = 0; j < r->x->T; j++)
        r->A[j] = pow(fmax(r->s[j], 0), 2) / c;
}

static void back(const PlainRow *r)
{
    const double c = divisor(r);
    bool through_sum = is(r, "sum") && c == sum(r);
    double shared = through_sum ? plain_dot(r->dA, r->A, r->x->T) : 0;

    if (is_softmax(r))
        plain_softmax_weigh_back(r, "norm");
    else if (is(r, "forgetting"))
        plain_forgetting_back(r, "norm");
    else
        for (int j = 0; j < r->x->T; j++)
            r->ds[j] = 2 * fmax(r->s[j], 0) * (r->dA[j] - shared) / c;
}

void plain_gau(const PlainHead *x)
{
    plain_pairs(x, weigh, back);
}
