/*
 * The pool of the keys V(i) averages them under a softmax of one logit per key,
 *
 *     a_j = w . x_j / sqrt(D)
 *     y_i = sum over j of e^(a_j - L_i) x_j,    L_i = ln(sum over j of e^(a_j))      j in V(i)
 *
 * Let V(i) be the keys up to i. The state of the pool is y_i, the largest logit m_i = max a_j,
 * and l_i = e^(L_i - m_i). Write m, l, L and y for the values after key i - 1, and m', l', L' and
 * y' for those after key i. Then m' = max(m, a_i) and
 *
 *     l'    = l e^(m - m') + e^(a_i - m')
 *     share = e^(a_i - L') = e^(a_i - m') / l'
 *     keep  = e^(L - L')   = l e^(m - m') / l'
 *     y'    = keep y + share x_i
 *
 * No exponent is positive and l' is at least 1, whatever the logits, and nothing depends on a
 * later key. For the first key l = 0, so keep = 0, share = 1, and y' is that key, exactly.
 *
 * A chunk of keys is added at once: first all a_j, then all m_j, then all exponentials; only l
 * and y are updated key by key.
 *
 * Backward, with g_i = dy_i. In row i >= j, key j has the weight
 *
 *     P_ij = e^(a_j - L_i) = share_j e^(L_j - L_i)
 *
 * Since the derivative of P_it with respect to a_j is P_it ([j = t] - P_ij),
 *
 *     da_j = sum over i >= j of sum over t of (g_i . x_t) P_it ([j = t] - P_ij)
 *          = sum over i >= j of P_ij (g_i . x_j - g_i . y_i)
 *          = share_j (x_j . U_j - u_j)
 *     dx_j = sum over i >= j of P_ij g_i + da_j w / sqrt(D)
 *          = share_j U_j + da_j w / sqrt(D)
 *     dw   = sum over j of da_j x_j / sqrt(D)
 *
 * where two sums are updated from the last row to the first:
 *
 *     U_j = sum over i >= j of e^(L_j - L_i) g_i       = g_j + keep_(j+1) U_(j+1)
 *     u_j = sum over i >= j of e^(L_j - L_i) g_i . y_i = g_j . y_j + keep_(j+1) u_(j+1)
 *
 * A pool of a whole sequence is the special case g_i = 0 except in the last row. The forward
 * pass stores the state before each chunk, D + 2 numbers; the backward pass computes y, share
 * and keep of the chunk again from it, one chunk after the other from the last to the first,
 * passing U and u on to the chunk before. So its scratch memory does not grow with T.
 *
 * Subtracting a constant vector b from x_j and all y_i subtracts b . U_j from both terms of da_j
 * and leaves da_j unchanged. With b = x_0, a row that sees only key 0 has y_i - b = 0 exactly, so
 * it adds exact zeros to all da_j. The state before key 0 has l = 0 and holds b in place of y:
 * key 0 turns it into y = b + 1 (x_0 - b) = x_0.
 */
#include "ops/attention/engine/pooling.h"

#include "ops/kernel/elementary.h"

#include <string.h>

size_t pooling_state(int D)
{
    return (size_t)D + 2;
}

void pooling_at(Pooling *pool, real *state)
{
    pool->y = state;
    pool->l = state + pool->D;
    pool->m = pool->l + 1;
}

/* Copies the state before that chunk to the place of the state after it. */
static void go(Pooling *pool, int chunk, const real *x)
{
    size_t size = pooling_state(pool->D);
    real *found = pool->states + (size_t)chunk * size;

    if (chunk == 0) {
        memset(found, 0, size * sizeof(real));
        memcpy(found, x, (size_t)pool->D * sizeof(real));
    }
    pooling_at(pool, memcpy(found + size, found, size * sizeof(real)));
}

/* Computes share and keep of the keys, and updates m and l; separate loops, to be vectorised. */
static void weigh(Pooling *pool, Rows x)
{
    real *restrict share = pool->blend->share, *restrict keep = pool->blend->keep;
    real sum[TILE], by = 1 / sqrt(R(pool->D)), l = *pool->l, m = *pool->m;

    for (int r = 0; r < x.n; r++) {
        real a = row_dot(pool->w, row_of(x.at, r, x.ld), pool->D) * by;
        real top = (r == 0 && l == 0) || a > m ? a : m;

        share[r] = a - top, keep[r] = (r == 0 && l == 0 ? a : m) - top;
        m = top;
    }
    for (int r = 0; r < x.n; r++)
        share[r] = exp_real(share[r]);
    for (int r = 0; r < x.n; r++)
        keep[r] = exp_real(keep[r]);
    for (int r = 0; r < x.n; r++) {
        keep[r] *= l;
        sum[r] = l = keep[r] + share[r];
    }
    for (int r = 0; r < x.n; r++)
        share[r] /= sum[r], keep[r] /= sum[r];
    *pool->l = l, *pool->m = m;
}

/* Sets the rows from n on to the current pool. */
static void fill(const Pooling *pool, int n)
{
    for (int r = n; r < TILE; r++)
        memcpy(row_of(pool->rows, r, pool->ld), pool->y, (size_t)pool->D * sizeof(real));
}

void pooling_add(Pooling *pool, Rows x)
{
    if (pool->states)
        go(pool, x.t0 / TILE, x.at);
    real *restrict y = pool->y, *restrict row = pool->rows;

    weigh(pool, x);
    for (int r = 0; r < x.n; r++) {
        const real *restrict xr = row_of(x.at, r, x.ld);
        real share = pool->blend->share[r];

        /* keep y + share x, since keep + share = 1; rounding of keep does not accumulate */
        for (int d = 0; d < pool->D; d++)
            y[d] += share * (xr[d] - y[d]);
        for (int d = 0; row && d < pool->D; d++)
            row[d] = y[d];
        row += row ? pool->ld : 0;
    }
    if (row)
        fill(pool, x.n);
}

void pooling_settle(Pooling *pool, int chunks)
{
    pooling_at(pool, pool->states + (size_t)chunks * pooling_state(pool->D));
    fill(pool, 0);
}

/* sum over d of a_d (b_d - c_d) */
static inline real dot_from(const real *a, const real *b, const real *c, int n)
{
    Lanes t = lanes_all(0);
    int i = 0;

    for (; i + SUMS <= n; i += SUMS)
        t = lanes_multiply_add(t, lanes_at(a + i), lanes_less(lanes_at(b + i), lanes_at(c + i)));
    if (i < n)
        t = lanes_multiply_add(t, lanes_of(a + i, n - i, 0),
                               lanes_less(lanes_of(b + i, n - i, 0), lanes_of(c + i, n - i, 0)));
    return lanes_sum(t);
}

static inline void row_back(Pooling *pool, int r, const real *restrict g)
{
    real *restrict U = pool->U;

    pool->u += dot_from(g, row_of(pool->rows, r, pool->ld), pool->states, pool->D);
    for (int d = 0; d < pool->D; d++)
        U[d] += g[d];
}

static inline void key_back(Pooling *pool, int r, const real *restrict x, real *restrict dx)
{
    const real *restrict w = pool->w;
    real *restrict U = pool->U, *restrict dw = pool->dw;
    real share = pool->blend->share[r], keep = pool->blend->keep[r];
    real da = share * (dot_from(U, x, pool->states, pool->D) - pool->u) / sqrt(R(pool->D));

    for (int d = 0; d < pool->D; d++) {
        dx[d] = share * U[d] + da * w[d];
        dw[d] += da * x[d];
        U[d] *= keep; /* now U as seen from the row before */
    }
    pool->u *= keep;
}

void pooling_back(Pooling *pool, Rows g, Rows x)
{
    for (int r = g.n - 1; r >= 0; r--) {
        row_back(pool, r, row_of(g.at, r, g.ld));
        if (r < x.n)
            key_back(pool, r, row_of(x.at, r, x.ld), row_of(g.at, r, g.ld));
    }
}
