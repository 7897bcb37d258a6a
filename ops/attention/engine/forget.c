#include "ops/attention/engine/forget.h"

#include "ops/kernel/elementary.h"

#include <string.h>

/* The finite number that stands for a g of -HUGE_VAL, which forgets everything, in sums. */
#define ALL -R(1e30)

static real bounded(real g)
{
    return g < ALL ? ALL : g; /* NaN stays */
}

static int tiles_of(const Forget *f)
{
    return up_to(f->T, f->tile) / f->tile;
}

size_t forget_room(int T, int tile)
{
    return 3 * (size_t)up_to(T, tile);
}

size_t forget_grad_room(int T, int tile)
{
    const size_t all = (size_t)up_to(T, tile), tiles = all / (size_t)tile;

    return 3 * all + tiles * tiles;
}

/* into and after of the tile at t0. */
static void sum_tile(Forget *f, int t0)
{
    double sum = 0;

    for (int t = t0; t < t0 + f->tile; t++) {
        sum += (double)f->g[t];
        f->into[t] = R(sum);
    }
    sum = 0;
    for (int t = t0 + f->tile - 1; t >= t0; t--) {
        f->after[t] = R(sum);
        sum += (double)f->g[t];
    }
}

Forget forget_open(real **scratch, const Head *x, const real *g, int tile, int length)
{
    const int n = up_to(x->T, tile);
    Forget f = { .T = x->T, .tile = tile, .i0 = -1, .j0 = -1, .row = -1 };

    f.g = carve(scratch, 1, n), f.into = carve(scratch, 1, n), f.after = carve(scratch, 1, n);
    for (int t = 0; t < n; t++)
        f.g[t] = t < length ? bounded(g[head_place(x, t, 1)]) : 0;
    for (int t0 = 0; t0 < n; t0 += tile)
        sum_tile(&f, t0);
    return f;
}

void forget_into(Forget *f, real *grad)
{
    const int n = up_to(f->T, f->tile);

    f->dinto = carve(&grad, 1, n), f->dafter = carve(&grad, 1, n);
    f->within = carve(&grad, 1, n), f->D = grad;
}

/* The sum of the tiles between those at i0 and j0. */
static double between(Forget *f, int i0, int j0)
{
    if (f->i0 == i0 && f->j0 == j0)
        return f->between;
    f->i0 = i0, f->j0 = j0, f->between = 0;
    for (int t = i0 - 1; t > j0 + f->tile; t -= f->tile)
        f->between += (double)f->into[t];
    return f->between;
}

/* F of row i, from that of an earlier row of its tile. */
static void advance(Forget *f, int i)
{
    const int i0 = i / f->tile * f->tile;

    if (f->row < i0 || f->row > i)
        f->row = i0 - 1;
    while (f->row < i) {
        const int keys = ++f->row - i0;
        const double g = (double)f->g[f->row];

        for (int j = 0; j < keys; j++)
            f->F[j] += g;
        f->F[keys] = 0;
    }
}

void forget_add(Forget *f, int i, int j0, Span seen, real *s)
{
    const int i0 = i / f->tile * f->tile;

    if (seen.from >= seen.to)
        return;
    if (i0 == j0) {
        advance(f, i);
        for (int j = seen.from; j < seen.to; j++)
            s[j] += R(f->F[j]);
        return;
    }
    const real before = R(between(f, i0, j0) + (double)f->into[i]), *after = f->after + j0;

    for (int j = seen.from; j < seen.to; j++)
        s[j] += before + after[j];
}

/* The pairs of a tile with itself. */
static void take_own(const Forget *f, int t0, const real *ds)
{
    real sum[2 * TILE] = { 0 }; /* of column j, over the rows from t on */

    for (int t = min(f->tile, f->T - t0) - 1; t > 0; t--) {
        for (int j = 0; j < t; j++)
            sum[j] += ds[t * f->tile + j];
        f->within[t0 + t] = row_sum(sum, t);
    }
}

void forget_take(const Forget *f, int i0, int j0, const real *ds)
{
    real *D = f->D + i0 / f->tile * tiles_of(f) + j0 / f->tile, *dafter = f->dafter + j0;
    const int end = min(i0 + f->tile, f->T);

    if (i0 == j0) {
        take_own(f, i0, ds);
        return;
    }
    for (int i = i0; i < end; i++, ds += f->tile) {
        const real row = row_sum(ds, f->tile);

        f->dinto[i] += row;
        *D += row;
        for (int j = 0; j < f->tile; j++)
            dafter[j] += ds[j];
    }
}

/* dg of the tile at t0, of whose positions all get `over`. */
static void put_tile(const Forget *f, int t0, double over)
{
    double left = 0, right = 0;

    for (int t = t0 + f->tile - 1; t >= t0; t--) {
        left += (double)f->dinto[t];
        f->within[t] += R(left);
    }
    for (int t = t0; t < t0 + f->tile; t++) {
        f->within[t] += R(right + over);
        right += (double)f->dafter[t];
    }
}

void forget_put(const Forget *f, const Head *x, int length, Grad to)
{
    const int tiles = tiles_of(f);

    for (int K = 0; K < tiles; K++) {
        double over = 0;

        for (int i = K + 1; i < tiles; i++) {
            real *D = f->D + i * tiles;

            over += K > 0 ? (double)D[K - 1] : 0;
            D[K] += K > 0 ? D[K - 1] : 0; /* the sum over J <= K, for the next K */
        }
        put_tile(f, K * f->tile, over);
    }
    memset(f->within + length, 0, (size_t)(f->T - length) * sizeof(real));
    for (int t = 0; t < f->T; t++)
        grad_add(to, head_place(x, t, 1), f->within + t, 1);
}

void forget_step(real *F, size_t lo, int n, real g)
{
    g = bounded(g);
    for (int j = 0; j < n; j++) {
        const real a = F[j], sum = a + g, part = sum - a;

        F[j] = sum;
        F[(size_t)j + lo] += (a - (sum - part)) + (g - part);
    }
}
