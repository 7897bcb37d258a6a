#include "ops/attention/engine/tiles.h"

#include "ops/kernel/elementary.h"

#include <string.h>

/* The part of a span within the tile at j0, counted from j0. */
static Span within(const Tiles *x, Span s, int j0)
{
    s.from = min(max(s.from - j0, 0), x->tile);
    s.to = max(s.from, min(s.to - j0, x->tile));
    return s;
}

static Span keys_in(const Tiles *x, int i, int j0)
{
    return within(x, view_keys(&x->view, i), j0);
}

/* Ends of spans never move back: if the first and last row see the same keys, so do all others. */
static void find_spans(Group *g, const Tiles *x, int i, int j0)
{
    const Span first = keys_in(x, i, j0), last = keys_in(x, i + MR - 1, j0);
    const bool same = first.from == last.from && first.to == last.to;

    for (int r = 0; r < MR; r++)
        g->row[r] = same ? first : keys_in(x, i + r, j0);
    g->all = (Span){ last.from, first.to };
}

/* The keys of row i as a span around them; returns the number of spans that they are. */
static int find_row(const Tiles *x, int i, int j0, Span *row, bool *seen)
{
    int n = 0;

    *row = (Span){ 0, 0 };
    memset(seen, 0, (size_t)x->tile * sizeof *seen);
    for (Span s = view_run(&x->view, i, j0); s.from < s.to && s.from < j0 + x->tile; n++) {
        const Span part = within(x, s, j0);

        *row = (Span){ n ? row->from : part.from, part.to };
        for (int j = part.from; j < part.to; j++)
            seen[j] = true;
        s = view_run(&x->view, i, s.to);
    }
    return n;
}

static void find_runs(Group *g, const Tiles *x, int i, int j0)
{
    g->all = (Span){ 0, x->tile };
    for (int r = 0; r < MR; r++) {
        g->ragged |= find_row(x, i + r, j0, &g->row[r], g->seen[r]) > 1;
        g->all.from = max(g->all.from, g->row[r].from);
        g->all.to = min(g->all.to, g->row[r].to);
    }
}

void group_of(Group *g, const Tiles *x, int i, int j0)
{
    const int inside = min(MR, x->view.T - i);

    g->ragged = false;
    (view_is_span(&x->view) ? find_spans : find_runs)(g, x, i, j0);
    if (g->ragged || g->all.from >= g->all.to)
        g->all = (Span){ 0, 0 };
    g->any = (Span){ x->tile, 0 };
    for (int r = 0; r < MR; r++) {
        const Span s = g->row[r];
        const bool some = r < inside && s.from < s.to;

        g->row[r] = r < inside ? s : (Span){ 0, 0 };
        g->any.from = some ? min(g->any.from, s.from) : g->any.from;
        g->any.to = some ? max(g->any.to, s.to) : g->any.to;
    }
}

bool tiles_meet(const Tiles *x, int i0, int j0)
{
    return !x->met || x->met[i0 / x->tile * (up_to(x->view.T, x->tile) / x->tile) + j0 / x->tile];
}

void tiles_scores(real *s, Factors f, Span keys)
{
    int from = keys.from / NR * NR;

    f.b += from;
    for (int j = from; j < keys.to; j += NR, f.b += NR)
        kernel_columns(s + j, f.ldb, &f, false, keys.to - j);
}

void tiles_accumulate(real *c, Factors f, int wide)
{
    for (int d = 0; f.k > 0 && d < wide; d += NR, f.b += NR)
        kernel_columns(c + d, f.ldb, &f, true, wide - d);
}

/* Hides SUMS scores at j, except from .. to-1 of the row. */
static void hide_some(real *s, int j, Span seen, real hidden)
{
    lanes_put(s + j, lanes_within(lanes_at(s + j), seen.from - j, seen.to - j, lanes_all(hidden)));
}

/*
 * It stores whole vectors, since whole vectors are loaded next: store forwarding needs equal sizes.
 */
Span tiles_hide(real *s, const Group *g, int r, real hidden)
{
    const Span seen = g->row[r];
    const Span whole = { seen.from / SUMS * SUMS, up_to(seen.to, SUMS) };

    if (whole.from < seen.from)
        hide_some(s, whole.from, seen, hidden);
    if (seen.to < whole.to)
        hide_some(s, whole.to - SUMS, seen, hidden);
    for (int j = seen.from; g->ragged && j < seen.to; j++)
        s[j] = g->seen[r][j] ? s[j] : hidden;
    return whole;
}

void tiles_times_L(const Tiles *x, int i, Span seen, real *s)
{
    const real *L = x->L ? x->L + (i - x->i0) * x->tile : NULL;

    for (int j = seen.from; L && j < seen.to; j++)
        s[j] *= L[j];
}

real tiles_gain(const Tiles *x, int i)
{
    return x->f[view_count(&x->view, i)];
}

void tiles_add_bias(const Tiles *x, int i, int j0, Span seen, real *s)
{
    const real f = x->w && seen.from < seen.to ? tiles_gain(x, i) : 0;
    const real *w = x->w ? x->w + (j0 - i) : NULL;

    for (int j = seen.from; w && j < seen.to; j++)
        s[j] += f * w[j];
    if (x->forget)
        forget_add(x->forget, i, j0, seen, s);
}
