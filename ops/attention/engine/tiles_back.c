/* The backward pass of tiles.c. */
#include "ops/attention/engine/tiles.h"

#include <string.h>

static void add_bias_gradient(const Tiles *x, int i, int j0, Span seen, const real *ds)
{
    const real f = x->w && seen.from < seen.to ? tiles_gain(x, i) : 0;
    real *dw = x->w ? x->dw + (j0 - i) : NULL;

    for (int j = seen.from; dw && j < seen.to; j++)
        dw[j] += f * ds[j];
}

/* Clears both outside of a span. */
static void clear_around(const Tiles *x, real *s, real *ds, Span whole)
{
    size_t before = (size_t)whole.from * sizeof(real);
    size_t after = (size_t)(x->tile - whole.to) * sizeof(real);

    if (before + after == 0)
        return;
    memset(s, 0, before);
    memset(ds, 0, before);
    memset(s + whole.to, 0, after);
    memset(ds + whole.to, 0, after);
}

/* A dA of row i, where s is A and ds not yet times L. */
static void put_products(const Tiles *x, int i, Span seen, const real *s, const real *ds)
{
    real *W = x->W ? x->W + (i - x->i0) * x->tile : NULL;

    for (int j = seen.from; W && j < seen.to; j++)
        W[j] = s[j] * ds[j];
}

/* A and ds of row r of a group, which is row i, with zeros for hidden keys. */
static void unweigh_row(const Tiles *x, const Group *g, int i, int r, real *s, real *ds)
{
    const RowState *row = x->row ? x->row + i : NULL;
    const Span seen = g->row[r];
    Span whole = { 0, 0 };

    if (seen.from < seen.to) {
        whole = tiles_hide(s, g, r, x->weighting->hidden);
        tiles_hide(ds, g, r, 0);
        x->weighting->unweigh(s + whole.from, ds + whole.from, whole.to - whole.from, row);
    }
    /* the weight of an only key is exactly 1, whatever its score */
    if (seen.to - seen.from == 1 && x->weighting->averages && !x->weighting->null &&
        row->c >= GUARD)
        ds[seen.from] = view_count(&x->view, i) == 1 ? 0 : ds[seen.from];
    tiles_times_L(x, i, seen, s);
    put_products(x, i, seen, s, ds);
    tiles_times_L(x, i, seen, ds);
    clear_around(x, s, ds, whole);
}

/* MR rows from i on: their A and ds for the keys of the tile at j0, and dq. */
static void backward_group(Tiles *x, int i, int j0, real *s, real *ds)
{
    Group g;
    const real *q = row_of(x->q, i - x->i0, x->D), *dy = row_of(x->g, i - x->i0, x->E);
    const real *kt = row_of(x->kt, j0 - x->j0, x->depth);
    const real *vt = row_of(x->vt, j0 - x->j0, x->wide);

    group_of(&g, x, i, j0);
    const int some = max(0, g.any.to - g.any.from);

    if (some > 0 && (x->dk || x->weighting != &weighting_plain))
        tiles_scores(s, (Factors){ q, x->D, 1, kt, x->tile, x->depth }, g.any);
    if (some > 0)
        tiles_scores(ds, (Factors){ dy, x->E, 1, vt, x->tile, x->wide }, g.any);
    for (int r = 0; r < MR; r++) {
        tiles_add_bias(x, i + r, j0, g.row[r], s + r * x->tile);
        unweigh_row(x, &g, i + r, r, s + r * x->tile, ds + r * x->tile);
        add_bias_gradient(x, i + r, j0, g.row[r], ds + r * x->tile);
    }
    if (x->dq && some > 0)
        tiles_accumulate(row_of(x->dq, i - x->i0, x->D),
                         (Factors){ ds + g.any.from, x->tile, 1,
                                    row_of(x->k, j0 - x->j0 + g.any.from, x->D), x->D, some },
                         x->depth);
}

/* Adds the contribution of rows i0 .. end-1 of a tile to dk and dv, from A and ds. */
static void backward_keys(Tiles *x, int i0, int end, int j0)
{
    for (int j = 0; j < x->tile && j0 + j < x->view.length; j += MR) {
        int last = min(j0 + j + MR, x->view.length) - 1;
        int from = max(i0, view_rows(&x->view, j0 + j).from);
        int to = min(end, view_rows(&x->view, last).to), at = (from - i0) * x->tile + j;

        if (from >= to)
            continue;
        tiles_accumulate(
            row_of(x->dv, j, x->E),
            (Factors){ x->s + at, 1, x->tile, row_of(x->g, from - x->i0, x->E), x->E, to - from },
            x->wide);
        tiles_accumulate(
            row_of(x->dk, j, x->D),
            (Factors){ x->ds + at, 1, x->tile, row_of(x->q, from - x->i0, x->D), x->D, to - from },
            x->depth);
    }
}

void tiles_backward(Tiles *x, int j0)
{
    int last = min(j0 + x->tile, x->view.length) - 1;
    int first = view_rows(&x->view, j0).from / x->tile * x->tile;

    if (x->dk && !x->adds) {
        memset(x->dk, 0, (size_t)(x->tile * x->D) * sizeof(real));
        memset(x->dv, 0, (size_t)(x->tile * x->E) * sizeof(real));
    }
    for (int i0 = first; j0 <= last && i0 < view_rows(&x->view, last).to; i0 += x->tile) {
        int end = min(i0 + x->tile, x->view.T);

        if (!tiles_meet(x, i0, j0))
            continue;
        for (int i = i0; i < end; i += MR)
            backward_group(x, i, j0, x->s + (i - i0) * x->tile, x->ds + (i - i0) * x->tile);
        if (x->forget)
            forget_take(x->forget, i0, j0, x->ds);
        if (x->dk)
            backward_keys(x, i0, end, j0);
    }
}
