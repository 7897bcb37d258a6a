/*
 * Fastformer (Wu et al., 2021, arXiv:2108.09084). A pool is a softmax average of rows,
 *
 *     pool(x, w)_i = sum over j in V(i) of a_ij x_j       a_i = softmax of w.x_j / sqrt(D)
 *
 * and o_i uses two of them, with the elementwise product *, which add and concat replace (or only
 * the first, with --products first):
 *
 *     y = pool(q, pool_q)       p_j = y_j * k_j, or y_j + k_j, or W [y_j; k_j]
 *     h = pool(p, pool_k)       o_i = h_i * v_i, or h_i + v_i, or W' [h_i; v_i]
 *
 * where o_i = 0 if row i sees no key. Backward. A pooled row appears in the average and in its
 * weights: with da_ij = dy_i.x_j and ds_i from the softmax,
 *
 *     dx_j = sum over i of (a_ij dy_i + ds_ij w / sqrt(D))
 *     dw = sum over i and j of ds_ij x_j / sqrt(D)
 *
 * Between the pools, mul: dy_j = dp_j * k_j, dk_j = dp_j * y_j; add: both are dp_j; concat:
 * [dy_j; dk_j] = W^T dp_j, dW = sum over j of dp_j [y_j; k_j]^T. After them the same, with h, v and
 * the gradient of o in the place of y, k and dp.
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

/* One of the two products: p_j from y_j and k_j, or o_i from h_i and v_i. */
typedef struct {
    const PlainHead *x;
    bool mul, add;
    const char *matrix;  /* of concat */
    const double *y, *k; /* (T, D) */
    double *p, *dy, *dk;
} Product;

static Product product(const PlainHead *x, bool second, const double *y, const double *k)
{
    const Values *set = &x->mix->set;
    bool kept = second && setting_is(set, "products", "first");

    return (Product){ .x = x,
                      .mul = kept || setting_is(set, "interaction", "mul"),
                      .add = !kept && setting_is(set, "interaction", "add"),
                      .matrix = second ? "concat_v" : "concat",
                      .y = y,
                      .k = k };
}

/* Row j, where it sees a key. */
static void interact(const Product *m, int j)
{
    int D = m->x->D;
    const double *y = m->y + j * D, *k = m->k + j * D;

    for (int c = 0; c < D; c++)
        if (m->mul || m->add)
            m->p[j * D + c] = m->mul ? y[c] * k[c] : y[c] + k[c];
        else {
            const double *W = plain_operand(m->x, m->matrix) + 2 * D * c;

            m->p[j * D + c] = plain_dot(W, y, D) + plain_dot(W + D, k, D);
        }
}

static void interact_back(const Product *m, const double *dp, int j)
{
    int D = m->x->D;
    const double *y = m->y + j * D, *k = m->k + j * D;
    double *dy = m->dy + j * D, *dk = m->dk + j * D;

    for (int c = 0; c < D; c++) {
        double d = dp[j * D + c];

        if (m->mul || m->add) {
            dy[c] += m->mul ? d * k[c] : d;
            dk[c] += m->mul ? d * y[c] : d;
        } else {
            double *W = plain_operand(m->x, m->matrix) + 2 * D * c;
            double *dW = plain_gradient(m->x, m->matrix) + 2 * D * c;

            plain_add(dy, d, W, D), plain_add(dk, d, W + D, D);
            plain_add(dW, d, y, D), plain_add(dW + D, d, k, D);
        }
    }
}

void plain_fastformer(const PlainHead *x)
{
    int n = x->T * x->D;
    double *dp = plain_zeros(x, n);
    Pooled q = pool(x, x->in.q, x->d.q, "pool_q"), h;
    Product first = product(x, false, q.y, x->in.k), second;

    first.p = plain_zeros(x, n), first.dy = q.dy, first.dk = x->d.k;
    for (int j = 0; j < x->T; j++)
        if (plain_seen(x, j))
            interact(&first, j);
    h = pool(x, first.p, dp, "pool_k");
    second = product(x, true, h.y, x->in.v);
    second.p = x->o, second.dy = h.dy, second.dk = x->d.v;
    for (int i = 0; i < x->T; i++)
        if (plain_seen(x, i))
            interact(&second, i);
    if (!x->g)
        return;

    for (int i = 0; i < x->T; i++)
        if (plain_seen(x, i))
            interact_back(&second, x->g, i);
    pool_back(x, &h);
    for (int j = 0; j < x->T; j++)
        if (plain_seen(x, j))
            interact_back(&first, dp, j);
    pool_back(x, &q);
}
