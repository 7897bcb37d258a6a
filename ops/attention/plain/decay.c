/*
 * A state with a separate decay at each position (Dao and Gu, 2024, arXiv:2405.21060),
 *
 *     S_t = e^(g_t) S_t-1 + k_t v_t^T       o_t = S_t^T q_t
 *
 * which padding does not change (g_t = 0). Unrolled, A_ij = L_ij q_i.k_j for j in V(i), where L_ij
 * is e to the sum of g_t over min(i, j) < t <= max(i, j). The gradient of that sum is A_ij dA_ij,
 * and so is that of each g_t in it:
 *
 *     dg_t = sum over i, j with min(i, j) < t <= max(i, j) of A_ij dA_ij       dA_ij = do_i.v_j
 */
#include "ops/attention/plain/plain.h"

#include <math.h>

/* L_ij (T, T) where row i sees key j, else 0. */
static double *decays(const PlainHead *x, const double *g)
{
    double *L = plain_zeros(x, x->T * x->T);

    for (int a = 0; a < x->T; a++) {
        double sum = 0;

        for (int b = a; b < x->T; b++) {
            sum += b > a && b < x->length ? g[b] : 0;
            L[b * x->T + a] = plain_sees(x, b, a) ? exp(sum) : 0;
            L[a * x->T + b] = plain_sees(x, a, b) ? exp(sum) : 0;
        }
    }
    return L;
}

/* dg from W = A * dA. */
static void decays_back(const PlainHead *x, const double *W, double *dg)
{
    for (int a = 0; a < x->T; a++) {
        double over = 0; /* pairs of a and a position from t on */

        for (int t = x->T - 1; t > a; t--) {
            over += W[t * x->T + a] + W[a * x->T + t];
            dg[t] += t < x->length ? over : 0;
        }
    }
}

void plain_decay(const PlainHead *x)
{
    int n = x->T * x->T, D = x->D, E = x->E;
    double *q = plain_rotated(x, x->in.q, D, D), *k = plain_rotated(x, x->in.k, D, D);
    double *L = decays(x, plain_operand(x, "g")), *s = plain_products(x, q, k, D);
    double *A = plain_zeros(x, n), *ds = plain_zeros(x, n), *W = plain_zeros(x, n), *dA;

    for (int c = 0; c < n; c++)
        A[c] = L[c] * s[c];
    plain_times(x, A, x->in.v, E, x->o);
    if (!x->g)
        return;

    dA = plain_products(x, x->g, x->in.v, E);
    for (int c = 0; c < n; c++)
        ds[c] = L[c] * dA[c], W[c] = A[c] * dA[c];
    plain_transposed_times(x, A, x->g, E, x->d.v);
    plain_times(x, ds, k, D, x->d.q);
    plain_transposed_times(x, ds, q, D, x->d.k);
    plain_rotate_back(x, x->d.q, D, D);
    plain_rotate_back(x, x->d.k, D, D);
    decays_back(x, W, plain_gradient(x, "g"));
}
