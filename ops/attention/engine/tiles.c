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
 *     derivative of A_il with respect to w(s_ij)
 *           = ([j = l] c_i - w(s_il)) / c_i^2 = ([j = l] - A_il) / c_i
 *
 *     ds_ij = w'(s_ij) sum over l of dA_il ([j = l] - A_il) / c_i
 *           = w'(s_ij) / c_i (dA_ij - delta_i)
 *
 *     delta_i = sum over l of A_il dA_il = g_i . sum over l of A_il v_l = g_i . o_i
 *
 * A null key, which every row with a key sees, has a score y_i and the value 0. Its weight e^y_i /
 * c_i changes c_i and nothing else, and with dA = 0 its gradient is
 *
 *     dy_i = e^y_i / c_i (0 - delta_i)
 *
 * The first case is the second with delta_i = 0. The same holds for a row whose divisor
 * max(c_i, GUARD) is the guard, and therefore a constant. With s_ij = tau_i q_i . k_j,
 *
 *     dv_j = sum over i of A_ij g_i
 *     dq_i = sum over j of ds_ij tau_i k_j
 *     dk_j = sum over i of ds_ij tau_i q_i
 *
 * The backward pass computes everything but m and c again, tile by tile: five products to the
 * forward pass's two. tau_i is multiplied into the copies of q.
 *
 * A key hidden from row i must not enter its sums of the forward pass, not even multiplied by zero
 * (it may be NaN). So rows are processed in groups of MR: the keys that the whole group sees go
 * through the kernel, and the few at either end of a row are added one by one. In the backward
 * pass ds_ij = 0 for a hidden key, whatever its v_j, but a NaN in k_j, q_i or g_i reaches the
 * gradients of the whole group.
 */
#include "ops/attention/engine/tiles.h"

#include <string.h>

static void plain_weigh(real *s, int n, real *o, int E, RowState *row)
{
    (void)s, (void)n, (void)o, (void)E, (void)row;
}

static void plain_unweigh(real *s, real *dA, int n, const RowState *row)
{
    (void)s, (void)dA, (void)n, (void)row;
}

const Weighting weighting_plain = { .weigh = plain_weigh, .unweigh = plain_unweigh };

/* o += s[j] v_j for the keys from .. to-1 */
static void add_some(real *restrict o, const real *s, const real *restrict v, int E, Span keys)
{
    for (int j = keys.from; j < keys.to; j++)
        for (int e = 0; e < E; e++)
            o[e] += s[j] * v[j * E + e];
}

/* The same for keys that all rows of a group see, by the kernel. */
static void add_all(const Tiles *x, const real *v, Span keys, real *o)
{
    tiles_accumulate(
        o,
        (Factors){ x->s + keys.from, x->tile, 1, v + keys.from * x->E, x->E, keys.to - keys.from },
        x->wide);
}

/* For each row of a group, those that all see, and then the others in order. */
static void add_spans(const Tiles *x, const Group *g, const real *v, real *o)
{
    add_all(x, v, g->all, o);
    for (int r = 0; r < MR; r++) {
        Span keys = g->row[r];
        int middle = g->all.from < g->all.to ? g->all.from : keys.to;

        add_some(o + r * x->E, x->s + r * x->tile, v, x->E, (Span){ keys.from, middle });
        if (g->all.from < g->all.to)
            add_some(o + r * x->E, x->s + r * x->tile, v, x->E, (Span){ g->all.to, keys.to });
    }
}

/* The same for rows of several spans each. */
static void add_runs(const Tiles *x, const Group *g, const real *v, real *o)
{
    bool all[2 * TILE];

    for (int j = g->any.from; j < g->any.to; j++) {
        all[j] = true;
        for (int r = 0; r < MR; r++)
            all[j] &= g->seen[r][j];
    }
    for (int j = g->any.from, to; j < g->any.to; j = to) {
        for (to = j + 1; to < g->any.to && all[to] == all[j];)
            to++;
        if (all[j])
            add_all(x, v, (Span){ j, to }, o);
    }
    for (int r = 0; r < MR; r++)
        for (int j = g->row[r].from; j < g->row[r].to; j++)
            if (g->seen[r][j] && !all[j])
                add_some(o + r * x->E, x->s + r * x->tile, v, x->E, (Span){ j, j + 1 });
}

/* MR rows from i on, keys of the tile at j0. */
static void forward_group(Tiles *x, int i, int j0, real *o)
{
    Group g;
    const real *q = row_of(x->q, i - x->i0, x->D), *v = row_of(x->v, j0 - x->j0, x->E);
    const real *kt = row_of(x->kt, j0 - x->j0, x->depth);

    group_of(&g, x, i, j0);
    if (g.any.from >= g.any.to)
        return;
    tiles_scores(x->s, (Factors){ q, x->D, 1, kt, x->tile, x->depth }, g.any);
    for (int r = 0; r < MR; r++) {
        real *s = x->s + r * x->tile;

        tiles_add_bias(x, i + r, j0, g.row[r], s);
        Span whole = tiles_hide(s, &g, r, x->weighting->hidden);

        if (g.row[r].from < g.row[r].to)
            x->weighting->weigh(s + whole.from, whole.to - whole.from, o + r * x->E, x->E,
                                x->row ? x->row + i + r : NULL);
        tiles_times_L(x, i + r, g.row[r], s);
    }
    (g.ragged ? add_runs : add_spans)(x, &g, v, o);
}

void tiles_forward(Tiles *x, int i0)
{
    int end = min(i0 + x->tile, x->view.T),
        first = view_keys(&x->view, i0).from / x->tile * x->tile;

    memset(x->o, 0, (size_t)(x->tile * x->E) * sizeof(real));
    for (int j0 = first; j0 < view_keys(&x->view, end - 1).to; j0 += x->tile)
        for (int i = i0; i < end && tiles_meet(x, i0, j0); i += MR)
            forward_group(x, i, j0, row_of(x->o, i - i0, x->E));
}
