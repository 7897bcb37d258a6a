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
 * A chunk of keys is taken in at once: its a_j, then its m, then all exponentials,
 * and only l and y go from key to key.
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
 * A pool of a whole sequence is this with G = 0 but in the last row. y, share and
 * keep of a chunk are made again from the state that its first key found: the walk
 * forward leaves one for each chunk, D + 2 numbers, and the walk back takes one
 * chunk after the other, with U and u going from each to the one before. So what
 * is at hand is a chunk, however long the sequence is.
 *
 * Subtracting the same c from x_j and every y_i leaves da_j as it is: it takes
 * c . U_j away from both terms. With c the first key, a row that sees no other
 * has y_i - c = 0, and adds nothing to any da_j but exact zeros. The state
 * that key 0 finds has l = 0, and in place of a y this c: key 0 leaves
 * y = c + 1 (x_0 - c) = x_0.
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

/* Goes to what that chunk found. */
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

/* share and keep of the keys, and m and l after them: one loop for each thing that is done. */
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

/* The rows from n on have the pool as it is. */
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

        /* keep y + share x, where no rounding of keep adds up */
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

/* The sum of a_d (b_d - c_d). */
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

static inline void row_back(Pooling *pool, int r, const real *restrict G)
{
    real *restrict U = pool->U;

    pool->u += dot_from(G, row_of(pool->rows, r, pool->ld), pool->states, pool->D);
    for (int d = 0; d < pool->D; d++)
        U[d] += G[d];
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
        U[d] *= keep; /* as the row before has it */
    }
    pool->u *= keep;
}

void pooling_back(Pooling *pool, Rows G, Rows x)
{
    for (int r = G.n - 1; r >= 0; r--) {
        row_back(pool, r, row_of(G.at, r, G.ld));
        if (r < x.n)
            key_back(pool, r, row_of(x.at, r, x.ld), row_of(G.at, r, G.ld));
    }
}
