#include "ops/attention/engine/linear.h"

#include "ops/kernel/elementary.h"

#include <string.h>

int features_same(int D, int m)
{
    (void)m;
    return D;
}

LinearHead linear_head(const Linear *op, int number)
{
    LinearHead h = { .op = op, .head = head_of(&op->in, number), .number = number };

    h.view = view_of(&op->in, h.head.b);
    h.D = up_to(op->D, NR), h.E = up_to(op->E, NR), h.F = up_to(op->F, NR);
    return h;
}

/* Row t of this head in an array (B, H, T, width). */
static real *own_row(const LinearHead *h, real *array, int t, int width)
{
    size_t row = (size_t)h->number * (size_t)h->op->T + (size_t)t;

    return array + row * (size_t)width;
}

static int rows_inside(const LinearHead *h, Rows x)
{
    return max(0, min(x.n, h->op->T - x.t0));
}

void linear_rotate(const Linear *op, Rows f, bool back)
{
    for (int of = 0; op->angles && of < op->F; of += op->ladder)
        rows_rotate((Rows){ f.at + of, f.ld, f.t0, f.n }, op->angles, op->ladder, back);
}

size_t linear_learned_size(int R, int D)
{
    return (size_t)up_to(R, MR) * (size_t)up_to(D, NR);
}

static MapRows map_rows(const LinearHead *h, bool key, Rows x, int ldf)
{
    const Linear *op = h->op;
    MapRows m = { .in = &op->in,
                  .prepared = op->prepared,
                  .key = key,
                  .T = op->T,
                  .head = h->head.h,
                  .t0 = x.t0,
                  .n = x.n,
                  .D = op->D,
                  .F = op->F,
                  .ldx = x.ld,
                  .ldf = ldf,
                  .live = min(rows_inside(h, x), key ? max(0, h->view.length - x.t0) : x.n) };

    if (op->dw[key])
        m.dw = op->dw[key] + (size_t)h->number * linear_learned_size(op->w[key]->dim[1], op->D);
    if (!key && op->stats > 0)
        m.stat = own_row(h, op->stat, x.t0, op->stats);
    return m;
}

/* The features of rows beyond the last position are zero. */
static void make_features(const LinearHead *h, bool key, Features to)
{
    const Linear *op = h->op;
    int n = rows_inside(h, to.x);
    MapRows m = map_rows(h, key, to.x, to.f.ld);
    size_t ld = (size_t)to.f.ld, bytes = (size_t)to.f.n * ld * sizeof(real);

    m.n = op->prepared ? to.x.n : n;
    memset(to.f.at, 0, bytes);
    op->map->apply(&m, to.x.at, to.f.at);
    memset(row_of(to.f.at, n, to.f.ld), 0, (size_t)(to.f.n - n) * ld * sizeof(real));
    if (!op->angles)
        return;
    memcpy(to.rotated.at, to.f.at, bytes);
    linear_rotate(op, (Rows){ to.rotated.at, to.rotated.ld, to.x.t0, n }, false);
}

/* Rows of q or k, rotated if that is done before the map. */
static void gather(const LinearHead *h, Rows to, const real *from)
{
    head_gather(&h->head, to, from, h->op->D);
    rows_rotate((Rows){ to.at, to.ld, to.t0, rows_inside(h, to) }, h->op->before, h->op->D, false);
}

void linear_keys(const LinearHead *h, Features to)
{
    gather(h, to.x, h->op->in.k->data);
    make_features(h, true, to);
}

void linear_queries(const LinearHead *h, Features to)
{
    gather(h, to.x, h->op->in.q->data);
    make_features(h, false, to);
}

void linear_measure(const LinearHead *h, Rows q, const real *z, int ldz)
{
    const Linear *op = h->op;

    if (op->stats > 0)
        gather(h, q, op->in.q->data);
    for (int r = 0; op->stats > 0 && r < rows_inside(h, q); r++)
        op->map->measure(row_of(q.at, r, q.ld), z + (size_t)r * (size_t)ldz, op->F,
                         own_row(h, op->stat, q.t0 + r, op->stats));
}

bool linear_has_quotient(const FeatureMap *map)
{
    return !map->stats || map->shifted;
}

/* C of row t; `live` unless the guard acts, which is scaled like phi. */
static real divisor(const LinearHead *h, int t, bool *live)
{
    const Linear *op = h->op;
    real c = *own_row(h, op->c, t, 1), least = GUARD;

    if (op->map->shifted)
        least = ldexp(least, -(int)*own_row(h, op->stat, t, 1));
    *live = c >= least || c <= -least;
    return *live ? c : c < 0 ? -least : least;
}

void linear_divisors(const LinearHead *h, Rows phi, const real *z, int ldz)
{
    const Linear *op = h->op;

    for (int r = 0; r < rows_inside(h, phi); r++)
        *own_row(h, op->c, phi.t0 + r, 1) =
            linear_has_quotient(op->map)
                ? row_dot(row_of(phi.at, r, phi.ld), z + (size_t)r * (size_t)ldz, op->F)
                : 1;
}

void linear_finish(const LinearHead *h, Rows o)
{
    const Linear *op = h->op;

    for (int r = 0; r < rows_inside(h, o); r++) {
        real *y = op->node.y->data + head_place(&h->head, o.t0 + r, op->E);
        Span keys = view_keys(&h->view, o.t0 + r);
        bool live;
        real C = divisor(h, o.t0 + r, &live);

        for (int e = 0; e < op->E; e++)
            y[e] = keys.from < keys.to ? row_of(o.at, r, o.ld)[e] / C : 0;
    }
}

void linear_gather_g(const LinearHead *h, Rows g, real *dc)
{
    const Linear *op = h->op;

    head_gather(&h->head, g, op->node.y->grad, op->E);
    for (int r = 0; r < g.n; r++) {
        real *row = row_of(g.at, r, g.ld);
        const real *y = op->node.y->data + head_place(&h->head, min(g.t0 + r, op->T - 1), op->E);
        Span keys = view_keys(&h->view, g.t0 + r);
        bool live = false;
        real by = 0;

        head_ask(&h->head, g.t0 + r, op->node.y->data, op->E);
        if (g.t0 + r < op->T && keys.from < keys.to)
            by = 1 / divisor(h, g.t0 + r, &live);
        for (int e = 0; e < op->E; e++)
            row[e] *= by;
        dc[r] = live && linear_has_quotient(op->map) ? -row_dot(row, y, op->E) : 0;
    }
}

void linear_dz(const LinearHead *h, int t, const real *phi, real dc, real *dz)
{
    const Linear *op = h->op;
    const real *whole = linear_has_quotient(op->map) ? NULL : own_row(h, op->dz, t, op->F);

    for (int f = 0; f < op->F; f++)
        dz[f] = whole ? whole[f] : dc * phi[f];
}

/* phi = s / z, element by element, so dz = -phi dphi / z. */
static void leave_dz(const LinearHead *h, int t, const real *phi, const real *dphi)
{
    const Linear *op = h->op;
    real *dz = own_row(h, op->dz, t, op->F);
    const real *z = own_row(h, op->stat, t, op->F);

    for (int f = 0; f < op->F; f++)
        dz[f] = z[f] > 0 ? -phi[f] * dphi[f] / z[f] : 0;
}

Rows linear_chain(const LinearHead *h, bool key, Features at, real *df)
{
    Rows dx = { at.dx.at, at.dx.ld, at.x.t0, rows_inside(h, at.x) };
    MapRows m = map_rows(h, key, at.x, at.f.ld);

    m.n = h->op->prepared ? at.x.n : dx.n;
    h->op->map->chain(&m, at.x.at, at.f.at, df, dx.at);
    rows_rotate(dx, h->op->before, h->op->D, true);
    return dx;
}

void linear_chain_queries(const LinearHead *h, Features q, Rows dphi, const real *dc, const real *z,
                          int ldz)
{
    const Linear *op = h->op;
    int n = rows_inside(h, dphi);

    linear_rotate(op, (Rows){ dphi.at, dphi.ld, dphi.t0, n }, true);
    for (int r = 0; r < n; r++) {
        real *row = row_of(dphi.at, r, dphi.ld);

        for (int f = 0; linear_has_quotient(op->map) && f < op->F; f++)
            row[f] += dc[r] * z[(size_t)r * (size_t)ldz + (size_t)f];
        if (!linear_has_quotient(op->map))
            leave_dz(h, dphi.t0 + r, row_of(q.f.at, r, q.f.ld), row);
    }
    head_scatter(&h->head, op->dq, linear_chain(h, false, q, dphi.at), op->D);
}

void linear_chain_keys(const LinearHead *h, Features k, Rows dpsi, Rows dv)
{
    const Linear *op = h->op;
    Rows dk = linear_chain(h, true, k, dpsi.at);

    for (int r = max(0, min(dk.n, h->view.length - dpsi.t0)); r < dk.n; r++) {
        /* padding is seen by no row, whatever its contents */
        memset(row_of(dk.at, r, dk.ld), 0, (size_t)op->D * sizeof(real));
        memset(row_of(dv.at, r, dv.ld), 0, (size_t)op->E * sizeof(real));
    }
    head_scatter(&h->head, op->dk, dk, op->D);
    head_scatter(&h->head, op->dv, dv, op->E);
}
