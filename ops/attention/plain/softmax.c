/*
 * Softmax attention (Vaswani et al., 2017, arXiv:1706.03762), with s_ij = q_i.k_j / sqrt(D):
 *
 *     A_ij = e^(tau_i s_ij) / sum over l in V(i) of e^(tau_i s_il)
 *
 * By the quotient rule the derivative of A_ij by s_il is tau_i A_ij ([j = l] - A_il): the first
 * term is from the numerator, the second from the denominator. So
 *
 *     ds_il = sum over j of dA_ij tau_i A_ij ([j = l] - A_il)
 *           = tau_i A_il (dA_il - sum over j of dA_ij A_ij)
 *
 * tau_i is 1 (sqrt), ln(max(n_i, 16)) / ln(n0) (entropy), or max(1, ln(n_i) / ln(n0)) (logn),
 * for the n_i keys that row i sees.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

void plain_softmax_of(const double *s, double *A, int n)
{
    double most = -HUGE_VAL, sum = 0;

    for (int j = 0; j < n; j++)
        most = fmax(most, s[j]);
    for (int j = 0; j < n; j++)
        sum += exp(s[j] - most);
    for (int j = 0; j < n; j++)
        A[j] = exp(s[j] - most) / sum;
}

void plain_softmax_back(const double *A, const double *dA, double *ds, int n)
{
    for (int j = 0; j < n; j++)
        ds[j] = A[j] * (dA[j] - plain_dot(A, dA, n));
}

static double tau(const PlainRow *r, const char *scale)
{
    const Values *set = &r->x->mix->set;
    double n = plain_seen(r->x, r->i), n0 = setting_or_zero(set, "base");

    if (setting_is(set, scale, "entropy"))
        return log(fmax(n, 16)) / log(n0);
    return setting_is(set, scale, "logn") ? fmax(1, log(n) / log(n0)) : 1;
}

void plain_softmax_weigh(const PlainRow *r, const char *scale)
{
    double *scaled = plain_zeros(r->x, r->x->T), c = 0;

    plain_add(scaled, tau(r, scale), r->s, r->x->T);
    plain_softmax_of(scaled, r->A, r->x->T);
    for (int j = 0; j < r->x->T; j++)
        c += exp(scaled[j]);
    plain_put_sum(r->x, r->i, c);
}

void plain_softmax_weigh_back(const PlainRow *r, const char *scale)
{
    double *scaled = plain_zeros(r->x, r->x->T);

    plain_softmax_back(r->A, r->dA, scaled, r->x->T);
    plain_add(r->ds, tau(r, scale), scaled, r->x->T);
}

static void weigh(const PlainRow *r)
{
    plain_softmax_weigh(r, "scale");
}

static void back(const PlainRow *r)
{
    plain_softmax_weigh_back(r, "scale");
}

void plain_softmax(const PlainHead *x)
{
    plain_pairs(x, weigh, back);
}
