#include "ops/attention/engine/cross.h"

#include "ops/attention/engine/pairs.h"
#include "ops/kernel/elementary.h"
#include "ops/kernel/transpose.h"

#include <string.h>

size_t cross_scratch(int D, int E)
{
    return TILE * (size_t)(up_to(D, NR) + 2 * up_to(E, NR) + 2 * TILE);
}

void cross_carve(Cross *x, real **free)
{
    x->kt = carve(free, TILE, up_to(x->D, NR));
    x->vt = carve(free, TILE, up_to(x->E, NR));
    x->clean = carve(free, TILE, up_to(x->E, NR));
    x->s = carve(free, TILE, TILE);
    x->ds = carve(free, TILE, TILE);
}

void cross_start(const Cross *x)
{
    for (int i = 0; i < x->q.n; i++)
        x->row[i] = pairs_start(&weighting_softmax, 0, 0);
    memset(x->o.at, 0, (size_t)x->q.n * (size_t)x->o.ld * sizeof(real));
}

void cross_scale(Rows x, int width, real by)
{
    for (int i = 0; i < x.n; i++)
        for (int d = 0; d < width; d++)
            row_of(x.at, i, x.ld)[d] *= by;
}

/* n rows, starting at i. */
static Rows part(Rows x, int i, int n)
{
    return (Rows){ row_of(x.at, i, x.ld), x.ld, x.t0 + i, min(n, x.n - i) };
}

/* A tile of products, with the number of rows rounded up to a multiple of MR. */
static void products(real *to, Rows a, int depth, const real *bt)
{
    rows_multiply((Rows){ to, TILE, 0, up_to(a.n, MR) }, a, depth, bt, false);
}

/* Hides columns past the last of n keys, and keys that row i does not see; false if it sees none.
 */
static bool hide(const Cross *x, int i, int j0, int n, real *s)
{
    for (int j = n; j < up_to(n, SUMS); j++)
        s[j] = -R(HUGE_VAL);
    return !x->hide || x->hide(x->ctx, i, j0, s);
}

static void find_scores(const Cross *x, Rows q, int i0, int j0, int n)
{
    if (x->score)
        x->score(x->ctx, i0, j0, n, x->s);
    else
        products(x->s, q, x->D, x->kt);
}

/* Whether none of the first n numbers is infinite or NaN. */
static bool all_finite(const real *a, int n)
{
    int others = 0;

    for (int i = 0; i < n; i++)
        others += !(a[i] - a[i] == 0);
    return others == 0;
}

/*
 * Values as they are multiplied, where a hidden key's weight is 0: 0 for those that are not finite,
 * which add_odd() adds to the rows that see them.
 */
static Rows finite_values(const Cross *x, Rows v)
{
    Rows to = { x->clean, v.ld, v.t0, v.n };

    if (!x->hide || all_finite(v.at, v.n * v.ld))
        return v;
    for (int i = 0; i < v.n * v.ld; i++)
        to.at[i] = all_finite(v.at + i, 1) ? v.at[i] : 0;
    return to;
}

/* What finite_values() left out of rows i0 .. */
static void add_odd(const Cross *x, int i0, int j0, Rows v, Rows o)
{
    real seen[TILE];

    for (int r = 0; r < o.n; r++) {
        memset(seen, 0, sizeof seen);
        if (!x->hide(x->ctx, i0 + r, j0, seen))
            continue;
        for (int j = 0; j < v.n; j++)
            for (int e = 0; e < x->E && seen[j] == 0; e++)
                if (!all_finite(&row_of(v.at, j, v.ld)[e], 1))
                    row_of(o.at, r, o.ld)[e] += row_of(x->s, r, TILE)[j] * row_of(v.at, j, v.ld)[e];
    }
}

/* Rows i0 .. of a tile, with the keys at j0; `values` are theirs. */
static void add_tile(const Cross *x, int i0, Rows v, Rows values)
{
    const Rows q = part(x->q, i0, TILE), o = part(x->o, i0, TILE);
    const int j0 = v.t0 - x->v.t0;

    find_scores(x, q, i0, j0, v.n);
    for (int r = 0; r < q.n; r++) {
        real *s = row_of(x->s, r, TILE);

        if (hide(x, i0 + r, j0, v.n, s))
            weighting_softmax.weigh(s, up_to(v.n, SUMS), row_of(o.at, r, o.ld), x->E,
                                    &x->row[i0 + r]);
        else
            memset(s, 0, TILE * sizeof(real));
    }
    rows_multiply((Rows){ o.at, o.ld, 0, up_to(q.n, MR) }, (Rows){ x->s, TILE, 0, q.n }, v.n,
                  values.at, true);
    if (values.at != v.at)
        add_odd(x, i0, j0, v, o);
}

static void transpose_keys(const Cross *x, int j0)
{
    if (!x->score)
        rows_transpose(part(x->k, j0, TILE), x->kt, TILE, x->D);
}

void cross_add(const Cross *x)
{
    for (int j0 = 0; j0 < x->v.n; j0 += TILE) {
        const Rows v = part(x->v, j0, TILE), values = finite_values(x, v);

        transpose_keys(x, j0);
        for (int i0 = 0; i0 < x->q.n; i0 += TILE)
            add_tile(x, i0, v, values);
    }
}

void cross_finish(const Cross *x)
{
    for (int i = 0; i < x->q.n; i++)
        for (int e = 0; e < x->E; e++)
            row_of(x->o.at, i, x->o.ld)[e] /= guard(x->row[i].c);
}

void cross_delta(const Cross *x)
{
    for (int i = 0; i < x->q.n; i++)
        x->row[i].delta = row_dot(row_of(x->g.at, i, x->g.ld), row_of(x->o.at, i, x->o.ld), x->E);
}

/* As in softmax.c; but where A is 0, so is ds, even if the value of a hidden key is NaN. */
static void unweigh_seen(real *restrict s, real *restrict dA, int n, const RowState *row)
{
    const real m = row->m, by = 1 / row->c, delta = row->delta;

    for (int j = 0; j < n; j++) {
        s[j] = exp_below(s[j] - m) * by;
        dA[j] = s[j] == 0 ? 0 : s[j] * (dA[j] - delta);
    }
}

/* A and ds of a row. Where one key has all the weight, its score has no gradient: not a rounding.
 */
static void unweigh(const Cross *x, int i, int j0, int n, real *s, real *ds)
{
    if (!hide(x, i, j0, n, s)) {
        memset(s, 0, TILE * sizeof(real));
        memset(ds, 0, TILE * sizeof(real));
        return;
    }
    (x->hide ? unweigh_seen : weighting_softmax.unweigh)(s, ds, up_to(n, SUMS), &x->row[i]);
    for (int j = 0; x->row[i].c == 1 && j < n; j++)
        ds[j] = s[j] == 1 ? 0 : ds[j];
    for (int j = n; j < up_to(n, MR); j++)
        s[j] = ds[j] = 0; /* these columns are read: the kernel rounds up */
}

static void back_tile(const Cross *x, int i0, int j0, int n)
{
    const Rows q = part(x->q, i0, TILE), g = part(x->g, i0, TILE);
    const Rows s = { x->s, TILE, 0, q.n }, ds = { x->ds, TILE, 0, q.n };

    find_scores(x, q, i0, j0, n);
    products(x->ds, g, x->E, x->vt);
    for (int r = 0; r < q.n; r++)
        unweigh(x, i0 + r, j0, n, row_of(x->s, r, TILE), row_of(x->ds, r, TILE));
    rows_multiply_over(row_of(x->dv.at, j0, x->dv.ld), n, s, g, q.n);
    if (x->take) {
        x->take(x->ctx, i0, j0, n, x->ds);
        return;
    }
    const Rows dq = part(x->dq, i0, TILE);
    rows_multiply((Rows){ dq.at, dq.ld, 0, up_to(q.n, MR) }, ds, n, row_of(x->k.at, j0, x->k.ld),
                  true);
    rows_multiply_over(row_of(x->dk.at, j0, x->dk.ld), n, ds, q, q.n);
}

void cross_backward(const Cross *x)
{
    for (int j0 = 0; j0 < x->v.n; j0 += TILE) {
        const Rows v = part(x->v, j0, TILE);

        transpose_keys(x, j0);
        rows_transpose(v, x->vt, TILE, x->E);
        for (int i0 = 0; i0 < x->q.n; i0 += TILE)
            back_tile(x, i0, j0, v.n);
    }
}
