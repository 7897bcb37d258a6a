/*
 * Forward, over square tiles of pairs (Milakov and Gimelshein, 2018; Dao et al., 2022). While row i
 * visits its keys, o_i and c_i are the sums over the keys so far; a weighting with a running
 * maximum m_i rescales both when m_i changes. At the end o_i is divided by c_i. Of the matrix only
 * m_i and c_i are stored, two numbers per row.
 *
 * Backward, with g = do. Since o_i = sum over j of A_ij v_j,
 *
 *     dA_ij = g_i . v_j
 *
 * If c_i does not depend on the scores, A_ij = w(s_ij) / c_i gives
 *
 *     ds_ij = w'(s_ij) / c_i dA_ij
 *
 * If c_i = sum over l of w(s_il), every A_il depends on s_ij through c_i. By the quotient rule,
 * with [j = l] = 1 if j is l, else 0,
 *
 *     dA_il / dw(s_ij) = ([j = l] c_i - w(s_il)) / c_i^2 = ([j = l] - A_il) / c_i
 *
 *     ds_ij = w'(s_ij) sum over l of dA_il ([j = l] - A_il) / c_i
 *           = w'(s_ij) / c_i (dA_ij - delta_i)
 *
 *     delta_i = sum over l of A_il dA_il = g_i . sum over l of A_il v_l = g_i . o_i
 *
 * The first case is the second with delta_i = 0. So is a row whose divisor max(c_i, GUARD) is
 * the guard: a constant. With s_ij = tau_i q_i . k_j,
 *
 *     dv_j = sum over i of A_ij g_i
 *     dq_i = sum over j of ds_ij tau_i k_j
 *     dk_j = sum over i of ds_ij tau_i q_i
 *
 * The backward pass computes everything but m and c again, tile by tile: five products to the
 * forward pass's two. tau_i is multiplied into the copies of q.
 *
 * A key hidden from row i must not enter its sums, not even multiplied by zero (it may be NaN).
 * So rows are processed in groups of MR: the keys that the whole group sees go through the
 * kernel, and the few at either end of a row are added one by one.
 */
#include "ops/attention/engine/tiles.h"

#include "ops/kernel/elementary.h"

#include <string.h>

static void plain_weigh(real *s, int n, real *o, int E, RowState *row)
{
    (void)s, (void)n, (void)o, (void)E, (void)row;
}

static void plain_unweigh(real *s, real *dA, int n, const RowState *row)
{
    (void)s, (void)dA, (void)n, (void)row;
}

const Weighting weighting_plain = { 0, false, false, plain_weigh, plain_unweigh, NULL };

/* The part of row i's keys within the tile at j0, counted from j0. */
static Span keys_in(const Tiles *x, int i, int j0)
{
    Span s = view_keys(&x->view, i);

    s.from = min(max(s.from - j0, 0), x->tile);
    s.to = max(s.from, min(s.to - j0, x->tile));
    return s;
}

/*
 * For a group of MR rows: the keys of each row, their union, and their intersection. For the
 * intersection rows beyond T count as if they existed, so that the first rows of a longer sequence
 * are computed in the same way.
 */
typedef struct {
    Span row[MR], any, all;
} Group;

/* Ends of spans never move back: if the first and last row see the same keys, so do all others. */
static Group group_of(const Tiles *x, int i, int j0)
{
    const int inside = min(MR, x->view.T - i);
    const Span first = keys_in(x, i, j0), last = keys_in(x, i + MR - 1, j0);
    const bool same = first.from == last.from && first.to == last.to;
    Group g = { .any = { x->tile, 0 }, .all = { last.from, first.to } };

    for (int r = 0; r < MR; r++) {
        Span s = same ? first : keys_in(x, i + r, j0);
        bool some = r < inside && s.from < s.to;

        g.row[r] = r < inside ? s : (Span){ 0, 0 };
        g.any.from = some ? min(g.any.from, s.from) : g.any.from;
        g.any.to = some ? max(g.any.to, s.to) : g.any.to;
    }
    if (g.all.from >= g.all.to)
        g.all = (Span){ 0, 0 };
    return g;
}

/* s = MR rows of a times a transposed tile, for `keys` and a few around them. */
static void scores(real *s, Factors f, Span keys)
{
    int from = keys.from / NR * NR;

    f.b += from;
    for (int j = from; j < keys.to; j += NR, f.b += NR)
        kernel(s + j, f.ldb, f, false);
}

/* c (MR rows, `wide`) += s times rows of b, where s(i, p) = s[i * rs + p * cs] for p < n. */
static void accumulate(real *c, Factors f, int wide)
{
    for (int d = 0; f.k > 0 && d < wide; d += NR, f.b += NR)
        kernel(c + d, wide, f, true);
}

/* Hides SUMS scores at j, except from .. to-1 of the row. */
static void hide_some(real *s, int j, Span seen, real hidden)
{
    lanes_put(s + j, lanes_within(lanes_at(s + j), seen.from - j, seen.to - j, lanes_all(hidden)));
}

/*
 * Hides the scores of keys that a row does not see, out to multiples of SUMS; returns these bounds.
 * It stores whole vectors, since whole vectors are loaded next: store forwarding needs equal sizes.
 */
static Span hide(real *s, Span seen, real hidden)
{
    Span whole = { seen.from / SUMS * SUMS, up_to(seen.to, SUMS) };

    if (whole.from < seen.from)
        hide_some(s, whole.from, seen, hidden);
    if (seen.to < whole.to)
        hide_some(s, whole.to - SUMS, seen, hidden);
    return whole;
}

/* Weights, or their gradients, of row i times L. */
static void times_L(const Tiles *x, int i, Span seen, real *s)
{
    const real *L = x->L ? x->L + (i - x->i0) * x->tile : NULL;

    for (int j = seen.from; L && j < seen.to; j++)
        s[j] *= L[j];
}

/* f_i of the bias of row i. */
static real gain_of(const Tiles *x, int i)
{
    const Span keys = view_keys(&x->view, i);

    return x->f[keys.to - keys.from];
}

static void add_bias(const Tiles *x, int i, int j0, Span seen, real *s)
{
    const real f = x->w && seen.from < seen.to ? gain_of(x, i) : 0;
    const real *w = x->w ? x->w + (j0 - i) : NULL;

    for (int j = seen.from; w && j < seen.to; j++)
        s[j] += f * w[j];
}

static void add_bias_gradient(const Tiles *x, int i, int j0, Span seen, const real *ds)
{
    const real f = x->w && seen.from < seen.to ? gain_of(x, i) : 0;
    real *dw = x->w ? x->dw + (j0 - i) : NULL;

    for (int j = seen.from; dw && j < seen.to; j++)
        dw[j] += f * ds[j];
}

/* o += s[j] v_j for the keys from .. to-1 */
static void add_some(real *restrict o, const real *s, const real *restrict v, int E, Span keys)
{
    for (int j = keys.from; j < keys.to; j++)
        for (int e = 0; e < E; e++)
            o[e] += s[j] * v[j * E + e];
}

/* MR rows from i on, keys of the tile at j0. */
static void forward_group(Tiles *x, int i, int j0, real *o)
{
    Group g = group_of(x, i, j0);
    const real *q = row_of(x->q, i - x->i0, x->D), *v = row_of(x->v, j0 - x->j0, x->E);
    const real *kt = row_of(x->kt, j0 - x->j0, x->depth);

    if (g.any.from >= g.any.to)
        return;
    scores(x->s, (Factors){ q, x->D, 1, kt, x->tile, x->depth }, g.any);
    for (int r = 0; r < MR; r++) {
        real *s = x->s + r * x->tile;

        add_bias(x, i + r, j0, g.row[r], s);
        Span whole = hide(s, g.row[r], x->weighting->hidden);

        if (g.row[r].from < g.row[r].to)
            x->weighting->weigh(s + whole.from, whole.to - whole.from, o + r * x->E, x->E,
                                x->row ? x->row + i + r : NULL);
        times_L(x, i + r, g.row[r], s);
    }
    accumulate(o,
               (Factors){ x->s + g.all.from, x->tile, 1, v + g.all.from * x->E, x->E,
                          g.all.to - g.all.from },
               x->E);
    for (int r = 0; r < MR; r++) {
        Span keys = g.row[r];
        int middle = g.all.from < g.all.to ? g.all.from : keys.to;

        add_some(o + r * x->E, x->s + r * x->tile, v, x->E, (Span){ keys.from, middle });
        if (g.all.from < g.all.to)
            add_some(o + r * x->E, x->s + r * x->tile, v, x->E, (Span){ g.all.to, keys.to });
    }
}

void tiles_forward(Tiles *x, int i0)
{
    int end = min(i0 + x->tile, x->view.T),
        first = view_keys(&x->view, i0).from / x->tile * x->tile;

    memset(x->o, 0, (size_t)(x->tile * x->E) * sizeof(real));
    for (int j0 = first; j0 < view_keys(&x->view, end - 1).to; j0 += x->tile)
        for (int i = i0; i < end; i += MR)
            forward_group(x, i, j0, row_of(x->o, i - i0, x->E));
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

/* A and ds of a row, with zeros for hidden keys. */
static void unweigh_row(const Tiles *x, int i, Span seen, real *s, real *ds)
{
    const RowState *row = x->row ? x->row + i : NULL;
    Span whole = { 0, 0 };

    if (seen.from < seen.to) {
        whole = hide(s, seen, x->weighting->hidden);
        hide(ds, seen, 0);
        x->weighting->unweigh(s + whole.from, ds + whole.from, whole.to - whole.from, row);
    }
    /* the weight of an only key is exactly 1, whatever its score */
    if (seen.to - seen.from == 1 && x->weighting->averages && !x->weighting->null &&
        row->c >= GUARD) {
        Span keys = view_keys(&x->view, i);

        ds[seen.from] = keys.to - keys.from == 1 ? 0 : ds[seen.from];
    }
    times_L(x, i, seen, s);
    times_L(x, i, seen, ds);
    clear_around(x, s, ds, whole);
}

/* MR rows from i on: their A and ds for the keys of the tile at j0, and dq. */
static void backward_group(Tiles *x, int i, int j0, real *s, real *ds)
{
    Group g = group_of(x, i, j0);
    const real *q = row_of(x->q, i - x->i0, x->D), *dy = row_of(x->g, i - x->i0, x->E);
    const real *kt = row_of(x->kt, j0 - x->j0, x->depth);
    const real *vt = row_of(x->vt, j0 - x->j0, x->wide);
    int some = max(0, g.any.to - g.any.from);

    if (some > 0 && (x->dk || x->weighting != &weighting_plain))
        scores(s, (Factors){ q, x->D, 1, kt, x->tile, x->depth }, g.any);
    if (some > 0)
        scores(ds, (Factors){ dy, x->E, 1, vt, x->tile, x->wide }, g.any);
    for (int r = 0; r < MR; r++) {
        add_bias(x, i + r, j0, g.row[r], s + r * x->tile);
        unweigh_row(x, i + r, g.row[r], s + r * x->tile, ds + r * x->tile);
        add_bias_gradient(x, i + r, j0, g.row[r], ds + r * x->tile);
    }
    if (x->dq && some > 0)
        accumulate(row_of(x->dq, i - x->i0, x->D),
                   (Factors){ ds + g.any.from, x->tile, 1,
                              row_of(x->k, j0 - x->j0 + g.any.from, x->D), x->D, some },
                   x->D);
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
        accumulate(
            row_of(x->dv, j, x->E),
            (Factors){ x->s + at, 1, x->tile, row_of(x->g, from - x->i0, x->E), x->E, to - from },
            x->E);
        accumulate(
            row_of(x->dk, j, x->D),
            (Factors){ x->ds + at, 1, x->tile, row_of(x->q, from - x->i0, x->D), x->D, to - from },
            x->D);
    }
}

void tiles_backward(Tiles *x, int j0)
{
    int last = min(j0 + x->tile, x->view.length) - 1;
    int first = view_rows(&x->view, j0).from / x->tile * x->tile;

    if (x->dk) {
        memset(x->dk, 0, (size_t)(x->tile * x->D) * sizeof(real));
        memset(x->dv, 0, (size_t)(x->tile * x->E) * sizeof(real));
    }
    for (int i0 = first; j0 <= last && i0 < view_rows(&x->view, last).to; i0 += x->tile) {
        int end = min(i0 + x->tile, x->view.T);

        for (int i = i0; i < end; i += MR)
            backward_group(x, i, j0, x->s + (i - i0) * x->tile, x->ds + (i - i0) * x->tile);
        if (x->dk)
            backward_keys(x, i0, end, j0);
    }
}
