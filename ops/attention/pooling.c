/*
 * With a logit for each key,
 *
 *     a_j = w . x_j / sqrt(D)
 *     y_i = sum of e^(a_j - L_i) x_j,    L_i = ln sum of e^(a_j)      both over j in V(i)
 *
 * Let V(i) be the keys up to i. Of the keys so far the pool knows m, the largest
 * a_j, l = e^(L - m) and y itself. Key i makes of them, with m' = max(m, a_i),
 *
 *     l'    = l e^(m - m') + e^(a_i - m')
 *     share = e^(a_i - L') = e^(a_i - m') / l'
 *     keep  = e^(L - L')   = l e^(m - m') / l'
 *     y'    = keep y + share x_i
 *
 * No exponent is above 0 and l' is at least 1, whatever the logits; nothing here
 * depends on a later key. The first key has l = 0, so keep is 0, share is 1 and
 * the pool is that key, exactly.
 *
 * Backward, with G_i = dy_i. In row i >= j, key j has the weight
 *
 *     P_ij = e^(a_j - L_i) = share_j e^(L_j - L_i)
 *
 * and a softmax has dP_ij/da_l = P_ij (delta_jl - P_il), so
 *
 *     da_j = sum over i >= j of P_ij (G_i . x_j - G_i . y_i)
 *          = share_j (x_j . U_j - u_j)
 *     dx_j = sum over i >= j of P_ij G_i + da_j w / sqrt(D)
 *          = share_j U_j + da_j w / sqrt(D)
 *     dw   = sum over j of da_j x_j / sqrt(D)
 *
 * with two sums that a walk from the last row to the first carries along:
 *
 *     U_j = sum over i >= j of e^(L_j - L_i) G_i       = G_j + keep_j+1 U_j+1
 *     u_j = sum over i >= j of e^(L_j - L_i) G_i . y_i = G_j . y_j + keep_j+1 u_j+1
 *
 * A pool of a whole sequence is this with G = 0 but in the last row.
 *
 * Subtracting the same c from x_j and every y_i leaves da_j as it is: it takes
 * c . U_j away from both terms. With c the first key, a row that sees no other
 * has y_i - c = 0, and adds nothing to any da_j but exact zeros. That c is row 0.
 */
#include "ops/attention/pooling.h"

#include "ops/elementary.h"

size_t pooling_state(int D)
{
    return (size_t)D + 2;
}

size_t pooling_size(int D, int keys)
{
    return pooling_state(D) + (keys > 0 ? 2 * (size_t)D + (size_t)keys * (size_t)(D + 2) : 0);
}

Pooling pooling_at(real *memory, const real *w, int D, int keys)
{
    Pooling pool = { .D = D, .w = w, .y = memory, .l = memory + D, .m = memory + D + 1 };
    real *rest = memory + pooling_state(D);

    if (keys > 0) {
        pool.U = memset(rest, 0, (size_t)D * sizeof(real));
        pool.t = rest + D;
        pool.rows = rest + 2 * D;
        pool.blend = (Blend *)(void *)(pool.rows + (size_t)keys * (size_t)D);
    }
    return pool;
}

void pooling_add(Pooling *pool, int j, const real *restrict x)
{
    int D = pool->D;
    real a = row_dot(pool->w, x, D) / sqrt(R(D)), l = *pool->l;
    real m = l == 0 || a > *pool->m ? a : *pool->m, e = exp_real(a - m);
    real kept = l == 0 ? 0 : l * exp_real(*pool->m - m);
    real share = e / (kept + e), keep = kept / (kept + e), *restrict y = pool->y;

    *pool->l = kept + e, *pool->m = m;
    for (int d = 0; d < D; d++)
        y[d] += share * (x[d] - y[d]); /* keep y + share x, where no rounding of keep adds up */
    if (pool->rows) {
        memcpy(pool->rows + (size_t)j * (size_t)D, y, (size_t)D * sizeof(real));
        pool->blend[j] = (Blend){ share, keep };
    }
}

const real *pooling_row(const Pooling *pool, int j)
{
    return pool->rows ? pool->rows + (size_t)j * (size_t)pool->D : pool->y;
}

void pooling_row_back(Pooling *pool, int j, const real *restrict G)
{
    const real *c = pool->rows, *y = pooling_row(pool, j);
    real *restrict U = pool->U, *restrict t = pool->t;

    for (int d = 0; d < pool->D; d++) {
        U[d] += G[d];
        t[d] = y[d] - c[d];
    }
    pool->u += row_dot(G, t, pool->D);
}

void pooling_add_back(Pooling *pool, int j, const real *restrict x, real *restrict dx)
{
    const real *restrict c = pool->rows, *restrict w = pool->w;
    real *restrict U = pool->U, *restrict t = pool->t, *restrict dw = pool->dw;
    real share = pool->blend[j].share, keep = pool->blend[j].keep;
    int D = pool->D;

    for (int d = 0; d < D; d++)
        t[d] = x[d] - c[d];
    real da = share * (row_dot(t, U, D) - pool->u) / sqrt(R(D));

    for (int d = 0; d < D; d++) {
        dx[d] = share * U[d] + da * w[d];
        dw[d] += da * x[d];
        U[d] *= keep; /* as the row before has it */
    }
    pool->u *= keep;
}
