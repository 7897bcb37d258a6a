#include "ops/attention/engine/crossing.h"

#include "ops/kernel/elementary.h"

#include <string.h>

size_t crossing_room(int T)
{
    return 3 * (size_t)up_to(T, TILE);
}

Crossing crossing_open(real **scratch, int T)
{
    const int n = up_to(T, TILE);
    Crossing x = { .T = T };

    x.within = carve(scratch, 1, n), x.into = carve(scratch, 1, n), x.out = carve(scratch, 1, n);
    memset(x.within, 0, crossing_room(T) * sizeof(real));
    return x;
}

void crossing_pairs(Crossing *x, int t0, real *W, bool both)
{
    real sum[TILE] = { 0 }; /* of column j, over the rows from t on */

    for (int i = 0; both && i < TILE; i++)
        for (int j = 0; j < i; j++)
            row_of(W, i, TILE)[j] += row_of(W, j, TILE)[i];
    for (int t = TILE - 1; t > 0; t--) {
        for (int j = 0; j < t; j++)
            sum[j] += row_of(W, t, TILE)[j];
        x->within[t0 + t] += row_sum(sum, t);
    }
}

/* dg of a chunk, with the pairs over its right end; returns those over its left end. */
static double put_chunk(const Crossing *x, int t0, double over)
{
    real *dg = x->within + t0;
    const real *into = x->into + t0, *out = x->out + t0;
    double left = 0, right = 0;

    for (int t = TILE - 1; t >= 0; t--) {
        left += (double)into[t];
        dg[t] += R(left);
    }
    for (int t = 0; t < TILE; t++) {
        dg[t] += R(right);
        right += (double)out[t];
    }
    for (int t = 0; t < TILE; t++)
        dg[t] += R(over - right);
    return over + left - right;
}

void crossing_put(Crossing *x, const Head *head, int length, Grad to)
{
    double over = 0;

    for (int t0 = (x->T - 1) / TILE * TILE; t0 >= 0; t0 -= TILE)
        over = put_chunk(x, t0, over);
    memset(x->within + length, 0, (size_t)(x->T - length) * sizeof(real));
    for (int t = 0; t < x->T; t++)
        grad_add(to, head_place(head, t, 1), x->within + t, 1);
}
