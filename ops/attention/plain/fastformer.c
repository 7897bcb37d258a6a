/*
 * Fastformer (Wu et al., 2021, arXiv:2108.09084). A pool is a softmax average of rows,
 *
 *     pool(x, w)_i = sum over j in V(i) of a_ij x_j       a_i = softmax of w.x_j / sqrt(D)
 *
 * and o_i uses two of them, with the elementwise product * (add and concat replace the first *):
 *
 *     y = pool(q, pool_q)       p_j = y_j * k_j, or y_j + k_j, or W [y_j; k_j]
 *     h = pool(p, pool_k)       o_i = h_i * v_i
 *
 * Backward. dh_i = g_i * v_i and dv_i = g_i * h_i. A pooled row appears in the average and in its
 * weights: with da_ij = dy_i.x_j and ds_i from the softmax,
 *
 *     dx_j = sum over i of (a_ij dy_i + ds_ij w / sqrt(D))
 *     dw = sum over i and j of ds_ij x_j / sqrt(D)
 *
 * Between the pools, mul: dy_j = dp_j * k_j, dk_j = dp_j * y_j; add: both are dp_j; concat:
 * [dy_j; dk_j] = W^T dp_j, dW = sum over j of dp_j [y_j; k_j]^T.
 */
#include "ops/attention/plain/pairs.h"

#include <math.h>

typedef struct {
    const double *x, *w; /* (T, D), (D) */
    double *a, *y;       /* (T, T), (T, D) */
    double *dy, *dx, *dw;
} Pooled;

static Pooled pool(const PlainHead *x, const double *rows, double *drows, const char *w)
{
    int T = x->T, D = x->D;
    Pooled p = { .x = rows, .dx = drows, .w = plain_operand(x, w), .dw = plain_gradient(x, w) };
    double *s = plain_zeros(x, T);

    p.a = plain_zeros(x, T * T), p.y = plain_zeros(x, T * D), p.dy = plain_zeros(x, T * D);
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            s[j] = plain_sees(x, i, j) ? plain_dot(p.w, rows + j * D, D) / sqrt(D) : -HUGE_VAL;
        if (plain_seen(x, i))
            plain_softmax_of(s, p.a + i * T, T);
    }
    plain_times(x, p.a, rows, D, p.y);
    return p;
}

static void pool_back(const PlainHead *x, const Pooled *p)
{
    int T = x->T, D = x->D;
    double *da = plain_products(x, p->dy, p->x, D), *ds = plain_zeros(x, T);

    plain_transposed_times(x, p->a, p->dy, D, p->dx);
    for (int i = 0; i < T; i++) {
        plain_softmax_back(p->a + i * T, da + i * T, ds, T);
        for (int j = 0; j < T; j++) {
            plain_add(p->dx + j * D, ds[j] / sqrt(D), p->w, D);
            plain_add(p->dw, ds[j] / sqrt(D), p->x + j * D, D);
        }
    }
}

static bool is(const PlainHead *x, const char *interaction)
{
    return setting_is(&x->mix->set, "interaction", interaction);
}

/* p_j from y_j and k_j, for all j. */
static void interact(const PlainHead *x, const double *y, double *p)
{
    const double *k = x->in.k;
    int D = x->D;

    for (int j = 0; j < x->T; j++, y += D, k += D, p += D)
        for (int c = 0; c < D; c++)
            if (is(x, "concat")) {
                const double *W = plain_operand(x, "concat") + 2 * D * c;

                p[c] = plain_dot(W, y, D) + plain_dot(W + D, k, D);
            } else
                p[c] = is(x, "mul") ? y[c] * k[c] : y[c] + k[c];
}

static void interact_back(const PlainHead *x, const double *y, const double *dp, double *dy)
{
    const double *k = x->in.k;
    double *dk = x->d.k;
    int D = x->D;

    for (int j = 0; j < x->T; j++, y += D, k += D, dp += D, dy += D, dk += D)
        for (int c = 0; c < D; c++)
            if (is(x, "concat")) {
                double *W = plain_operand(x, "concat") + 2 * D * c;
                double *dW = plain_gradient(x, "concat") + 2 * D * c;

                plain_add(dy, dp[c], W, D), plain_add(dk, dp[c], W + D, D);
                plain_add(dW, dp[c], y, D), plain_add(dW + D, dp[c], k, D);
            } else {
                dy[c] += is(x, "mul") ? dp[c] * k[c] : dp[c];
                dk[c] += is(x, "mul") ? dp[c] * y[c] : dp[c];
            }
}

void plain_fastformer(const PlainHead *x)
{
    int n = x->T * x->D;
    double *p = plain_zeros(x, n), *dp = plain_zeros(x, n);
    Pooled q = pool(x, x->in.q, x->d.q, "pool_q"), h;

    interact(x, q.y, p);
    h = pool(x, p, dp, "pool_k");
    for (int c = 0; c < n; c++)
        x->o[c] += h.y[c] * x->in.v[c];
    if (!x->g)
        return;

    for (int c = 0; c < n; c++) {
        h.dy[c] += x->g[c] * x->in.v[c];
        x->d.v[c] += x->g[c] * h.y[c];
    }
    pool_back(x, &h);
    interact_back(x, q.y, dp, q.dy);
    pool_back(x, &q);
}
