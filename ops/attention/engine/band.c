/*
 * Linear attention with a window: row i sees the keys with |i - j| <= w and, if causal, j <= i.
 * A running sum over the window would have to subtract the keys that leave it, which accumulates
 * rounding errors. So the pairs of the band are computed explicitly, as for softmax (tiles.c), in
 * O(T w).
 *
 * The sum z_i of psi_j over the window of row i is one vector per row, and so is the sum of dz_i
 * over the rows that see key j. Both are sums over spans whose ends only move forward. Each is
 * computed from two parts around a `middle` between the ends: the suffix sums up to the middle,
 * computed once, and a running sum of everything after it,
 *
 *     from ........ middle ........ to
 *     |- suffix sum -||- running sum -|
 *
 * When `from` passes the middle, `to` becomes the new middle. So every term is added twice,
 * and nothing is subtracted.
 */
#include "ops/attention/engine/linear.h"

#include <string.h>

typedef struct {
    LinearHead h;
    int n; /* T' */
    Features q, k;
    Rows v, g, dphi, dpsi, dv;
    real *z, *room, *so_far, *dc; /* (T', F') twice, F' and T' */
    real *kt, *vt, *o, *s, *ds;
} Band;

static Rows rows(real **free, int n, int ld)
{
    return (Rows){ carve(free, n, ld), ld, 0, n };
}

static Features features(real **free, const LinearHead *h, int n)
{
    Features x = { .x = rows(free, n, h->D), .f = rows(free, n, h->F), .dx = rows(free, n, h->D) };

    carve(free, 2, h->D); /* behind dx, for the map */
    x.rotated = h->op->angles ? rows(free, n, h->F) : x.f;
    return x;
}

static Band band_open(const Linear *op, int number)
{
    real *free = pool_scratch();
    Band x = { .h = linear_head(op, number), .n = up_to(op->T, TILE) };
    int E = x.h.E, F = x.h.F, n = x.n;

    x.q = features(&free, &x.h, n), x.k = features(&free, &x.h, n);
    x.v = rows(&free, n, E), x.g = rows(&free, n, E), x.dv = rows(&free, n, E);
    x.dphi = rows(&free, n, F), x.dpsi = rows(&free, n, F);
    x.z = carve(&free, n, F), x.room = carve(&free, n + 1, F), x.so_far = carve(&free, 1, F);
    x.dc = carve(&free, n, 1);
    x.kt = carve(&free, n, F), x.vt = carve(&free, TILE, E), x.o = carve(&free, TILE, E);
    x.s = carve(&free, TILE, TILE), x.ds = carve(&free, TILE, TILE);
    return x;
}

size_t band_scratch(const Linear *op)
{
    size_t D = (size_t)up_to(op->D, NR), E = (size_t)up_to(op->E, NR);
    size_t F = (size_t)up_to(op->F, NR), n = (size_t)up_to(op->T, TILE);

    return n * (4 * D + 9 * F + 3 * E + 1) + 4 * D + 2 * F + 2 * TILE * (E + TILE);
}

/* Suffix sums: row t of room is the sum of x from t to the end of the span. */
static void sum_back(real *room, const real *x, Span s, int F)
{
    for (int t = s.to - 1; t >= s.from; t--)
        for (int f = 0; f < F; f++)
            room[(size_t)t * (size_t)F + (size_t)f] =
                x[(size_t)t * (size_t)F + (size_t)f] +
                (t + 1 < s.to ? room[(size_t)(t + 1) * (size_t)F + (size_t)f] : 0);
}

/* Row t of out = the sum of the rows of x in the span of t. */
static void sum_spans(const Band *b, Span (*span_of)(const View *v, int t), const real *x,
                      real *out)
{
    int F = b->h.F, middle = 0, to = 0;

    for (int t = 0; t < b->h.op->T; t++) {
        Span s = span_of(&b->h.view, t);
        real *sum = row_of(out, t, F);

        memset(sum, 0, (size_t)F * sizeof(real));
        if (s.from >= s.to)
            continue;
        if (s.from >= middle) {
            sum_back(b->room, x, s, F);
            memset(b->so_far, 0, (size_t)F * sizeof(real));
            middle = to = s.to;
        }
        for (; to < s.to; to++)
            for (int f = 0; f < F; f++)
                b->so_far[f] += x[(size_t)to * (size_t)F + (size_t)f];
        for (int f = 0; f < F; f++)
            sum[f] = row_of(b->room, s.from, F)[f] + b->so_far[f];
    }
}

/* What both passes need: features, z, and psi transposed. */
static void load(Band *x)
{
    const LinearHead *h = &x->h;

    linear_keys(h, x->k);
    sum_spans(x, view_keys, x->k.f.at, x->z);
    head_gather(&h->head, x->v, h->op->in.v->data, h->op->E);
    for (int j0 = 0; j0 < x->n; j0 += TILE) {
        Rows tile = { row_of(x->k.rotated.at, j0, h->F), h->F, j0, TILE };

        rows_transpose(tile, row_of(x->kt, j0, h->op->F), TILE, h->op->F);
    }
}

static Tiles pairs(const Band *x)
{
    return (Tiles){ .weighting = &weighting_plain,
                    .tile = TILE,
                    .view = x->h.view,
                    .depth = x->h.op->F,
                    .wide = x->h.op->E,
                    .D = x->h.F,
                    .E = x->h.E,
                    .q = x->q.rotated.at,
                    .kt = x->kt,
                    .s = x->s,
                    .ds = x->ds };
}

void band_forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Band x = band_open(ctx, number);
        Tiles t = pairs(&x);

        load(&x);
        linear_measure(&x.h, x.q.x, x.z, x.h.F);
        linear_queries(&x.h, x.q);
        linear_divisors(&x.h, x.q.f, x.z, x.h.F);
        t.v = x.v.at, t.o = x.o;
        for (int i0 = 0; i0 < x.h.op->T; i0 += TILE) {
            tiles_forward(&t, i0);
            linear_finish(&x.h, (Rows){ x.o, x.h.E, i0, TILE });
        }
    }
}

/* The numerator's contribution to dphi, dpsi and dv. */
static void backward_pairs(Band *x)
{
    Tiles t = pairs(x);
    const LinearHead *h = &x->h;

    memset(x->dphi.at, 0, (size_t)x->n * (size_t)h->F * sizeof(real));
    t.g = x->g.at, t.dq = x->dphi.at;
    t.vt = x->vt;
    for (int j0 = 0; j0 < h->op->T; j0 += TILE) {
        rows_transpose((Rows){ row_of(x->v.at, j0, h->E), h->E, j0, TILE }, x->vt, TILE, h->op->E);
        t.j0 = j0;
        t.k = row_of(x->k.rotated.at, j0, h->F), t.kt = row_of(x->kt, j0, h->op->F);
        t.dk = row_of(x->dpsi.at, j0, h->F), t.dv = row_of(x->dv.at, j0, h->E);
        tiles_backward(&t, j0);
    }
}

void band_backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Band x = band_open(ctx, number);
        const Linear *op = x.h.op;
        real *dz = x.dphi.at; /* no longer needed */

        load(&x);
        linear_queries(&x.h, x.q);
        linear_gather_g(&x.h, x.g, x.dc);
        backward_pairs(&x);
        linear_chain_queries(&x.h, x.q, x.dphi, x.dc, x.z, x.h.F);
        for (int t = 0; t < op->T; t++)
            linear_dz(&x.h, t, row_of(x.q.f.at, t, x.h.F), x.dc[t], row_of(dz, t, x.h.F));
        linear_rotate(op, (Rows){ x.dpsi.at, x.h.F, 0, op->T }, true);
        sum_spans(&x, view_rows, dz, x.z);
        for (int t = 0; t < op->T; t++)
            for (int f = 0; f < op->F; f++)
                row_of(x.dpsi.at, t, x.h.F)[f] += row_of(x.z, t, x.h.F)[f];
        linear_chain_keys(&x.h, x.k, x.dpsi, x.dv);
    }
}
