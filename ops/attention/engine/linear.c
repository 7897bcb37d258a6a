#include "ops/attention/engine/linear.h"

#include "ops/attention/engine/rope.h"
#include "ops/base/error.h"
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

static MapRows map_rows(const LinearHead *h, bool key, Rows x, int ldf)
{
    const Linear *op = h->op;
    size_t D = (size_t)op->D, F = (size_t)op->F, head = (size_t)h->head.h;
    MapRows m = { .key = key, .t0 = x.t0, .n = x.n, .D = op->D, .F = op->F, .M = op->M };

    m.ldx = x.ld, m.ldf = ldf;
    if (op->to_f) {
        m.omega = op->in.omega->data + head * F * D;
        m.to_f = op->to_f + head * D * (size_t)h->F;
        m.to_x = op->to_x + head * F * (size_t)h->D;
    }
    if (!key && op->stats > 0)
        m.stat = own_row(h, op->stat, x.t0, op->stats);
    return m;
}

/*
 * Only rows that are there have features: the others are zeros. Performer works
 * on whole tiles, and its others are made zeros afterwards.
 */
static void make_features(const LinearHead *h, bool key, Features to)
{
    const Linear *op = h->op;
    int n = rows_inside(h, to.x);
    MapRows m = map_rows(h, key, to.x, to.f.ld);
    size_t ld = (size_t)to.f.ld, bytes = (size_t)to.f.n * ld * sizeof(real);

    m.n = m.to_f ? to.x.n : n;
    memset(to.f.at, 0, bytes);
    op->map->apply(&m, to.x.at, to.f.at);
    memset(row_of(to.f.at, n, to.f.ld), 0, (size_t)(to.f.n - n) * ld * sizeof(real));
    if (!op->turns)
        return;
    memcpy(to.turned.at, to.f.at, bytes);
    rows_turn((Rows){ to.turned.at, to.turned.ld, to.x.t0, n }, op->turns, op->F, false);
}

void linear_keys(const LinearHead *h, Features to)
{
    head_gather(&h->head, to.x, h->op->in.k->data, h->op->D);
    make_features(h, true, to);
}

void linear_queries(const LinearHead *h, Features to)
{
    head_gather(&h->head, to.x, h->op->in.q->data, h->op->D);
    make_features(h, false, to);
}

void linear_measure(const LinearHead *h, Rows q, const real *z, int ldz)
{
    const Linear *op = h->op;

    for (int r = 0; op->stats > 0 && r < rows_inside(h, q); r++)
        op->map->measure(op->in.q->data + head_place(&h->head, q.t0 + r, op->D),
                         z + (size_t)r * (size_t)ldz, op->F,
                         own_row(h, op->stat, q.t0 + r, op->stats));
}

static bool has_quotient(const FeatureMap *map)
{
    return !map->stats || map->shifted;
}

/* C of row t; `live` where the guard leaves it alone. What phi is scaled by, the guard is. */
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
            has_quotient(op->map)
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
        dc[r] = live && has_quotient(op->map) ? -row_dot(row, y, op->E) : 0;
    }
}

void linear_dz(const LinearHead *h, int t, const real *phi, real dc, real *dz)
{
    const Linear *op = h->op;
    const real *whole = has_quotient(op->map) ? NULL : own_row(h, op->dz, t, op->F);

    for (int f = 0; f < op->F; f++)
        dz[f] = whole ? whole[f] : dc * phi[f];
}

/* phi = s / z with z a number for itself: dz = -phi dphi / z. */
static void leave_dz(const LinearHead *h, int t, const real *phi, const real *dphi)
{
    const Linear *op = h->op;
    real *dz = own_row(h, op->dz, t, op->F);
    const real *z = own_row(h, op->stat, t, op->F);

    for (int f = 0; f < op->F; f++)
        dz[f] = z[f] > 0 ? -phi[f] * dphi[f] / z[f] : 0;
}

/* dx of the rows that are there, from df. */
static Rows chain_rows(const LinearHead *h, bool key, Features at, real *df)
{
    Rows dx = { at.dx.at, at.dx.ld, at.x.t0, rows_inside(h, at.x) };
    MapRows m = map_rows(h, key, at.x, at.f.ld);

    m.n = m.to_f ? at.x.n : dx.n;
    h->op->map->chain(&m, at.x.at, at.f.at, df, dx.at);
    return dx;
}

void linear_chain_queries(const LinearHead *h, Features q, Rows dphi, const real *dc, const real *z,
                          int ldz)
{
    const Linear *op = h->op;
    int n = rows_inside(h, dphi);

    rows_turn((Rows){ dphi.at, dphi.ld, dphi.t0, n }, op->turns, op->F, true);
    for (int r = 0; r < n; r++) {
        real *row = row_of(dphi.at, r, dphi.ld);

        for (int f = 0; has_quotient(op->map) && f < op->F; f++)
            row[f] += dc[r] * z[(size_t)r * (size_t)ldz + (size_t)f];
        if (!has_quotient(op->map))
            leave_dz(h, dphi.t0 + r, row_of(q.f.at, r, q.f.ld), row);
    }
    head_scatter(&h->head, op->dq, chain_rows(h, false, q, dphi.at), op->D);
}

void linear_chain_keys(const LinearHead *h, Features k, Rows dpsi, Rows dv)
{
    const Linear *op = h->op;
    Rows dk = chain_rows(h, true, k, dpsi.at);

    for (int r = max(0, min(dk.n, h->view.length - dpsi.t0)); r < dk.n; r++) {
        /* nobody sees padding, whatever is in it */
        memset(row_of(dk.at, r, dk.ld), 0, (size_t)op->D * sizeof(real));
        memset(row_of(dv.at, r, dv.ld), 0, (size_t)op->E * sizeof(real));
    }
    head_scatter(&h->head, op->dk, dk, op->D);
    head_scatter(&h->head, op->dv, dv, op->E);
}

static void linear_backward(Node *node)
{
    Linear *op = (Linear *)node;
    Tape *tape = node->tape;
    bool window = op->in.set.window > 0;
    size_t bytes = has_quotient(op->map)
                       ? 0
                       : (size_t)(op->B * op->H) * (size_t)op->T * (size_t)op->F * sizeof(real);

    /* in the order in which they are written: one tensor may be all three */
    op->dq = tape_grad(tape, op->in.q);
    op->dk = tape_grad(tape, op->in.k);
    op->dv = tape_grad(tape, op->in.v);
    op->dz = bytes ? arena_take(tape->mem, bytes) : NULL;
    pool_reserve(tape->pool, (window ? band_scratch(op) : scan_scratch(op)) * sizeof(real));
    pool_for(tape->pool, op->B * op->H, 1, window ? band_backward : scan_backward, op);
    if (bytes)
        arena_give(tape->mem, op->dz, bytes);
}

static real *zeros(Node *node, size_t n)
{
    return memset(tape_keep(node, n * sizeof(real)), 0, n * sizeof(real));
}

/* Performer's directions as the kernel wants them, times D^(-1/4). */
static void lay_out_omega(Linear *op)
{
    int wide_f = up_to(op->F, NR), wide_x = up_to(op->D, NR);
    size_t H = (size_t)op->H, D = (size_t)op->D, F = (size_t)op->F;
    real by = R(pow((double)op->D, -0.25));

    op->to_f = zeros(&op->node, H * D * (size_t)wide_f);
    op->to_x = zeros(&op->node, H * F * (size_t)wide_x);
    for (size_t i = 0; i < H * F; i++)
        for (size_t d = 0; d < D; d++) {
            real w = op->in.omega->data[i * D + d] * by;

            op->to_f[(i / F * D + d) * (size_t)wide_f + i % F] = w;
            op->to_x[i * (size_t)wide_x + d] = w;
        }
}

Tensor *linear_mix(Tape *tape, Mix in, const FeatureMap *map)
{
    const int *q = in.q->dim, *v = in.v->dim;
    int m = in.omega ? in.omega->dim[1] : 0;
    bool window = in.set.window > 0;

    if (in.q->n != in.k->n || q[0] != v[0] || q[1] != v[1] || q[2] != v[2])
        BUG("attention: q (%d, %d, %d, %d) does not go with v (%d, %d, %d, %d)", q[0], q[1], q[2],
            q[3], v[0], v[1], v[2], v[3]);

    Linear *op = tape_node(tape, sizeof *op, linear_backward, 4, v);
    op->in = in, op->map = map;
    op->B = q[0], op->T = q[1], op->H = q[2], op->D = q[3], op->E = v[3];
    op->F = map->features(op->D, m);
    op->stats = map->stats ? map->stats(op->F) : 0;
    op->M = max(op->T, in.set.horizon);
    op->turns = in.set.rope ? rope_turns(tape, op->T, op->F, in.set.rope_scale) : NULL;
    if (in.omega)
        lay_out_omega(op);
    size_t rows = (size_t)(op->B * op->H) * (size_t)op->T;
    op->c = tape_keep(&op->node, rows * sizeof(real));
    op->stat = op->stats ? tape_keep(&op->node, rows * (size_t)op->stats * sizeof(real)) : NULL;
    pool_reserve(tape->pool, (window ? band_scratch(op) : scan_scratch(op)) * sizeof(real));
    pool_for(tape->pool, op->B * op->H, 1, window ? band_forward : scan_forward, op);
    return op->node.y;
}

/*
 * Decoding keeps, of each head, z and the sum S of psi v^T, turned; with a window
 * the positions in it instead, psi, turned psi and v, in a ring. In front is the
 * number of keys that were no padding, and room for what a position needs.
 */
enum { OWN = 6 };

size_t linear_state(MixSize s, const FeatureMap *map)
{
    size_t F = (size_t)map->features(s.D, s.features), E = (size_t)s.E, H = (size_t)s.H;
    size_t ring = s.set.window < s.T ? (size_t)s.set.window + 1 : (size_t)s.T;

    return 1 + OWN * F + (s.set.window > 0 ? ring * H * (2 * F + E) : H * (F + F * E));
}

/* A head at a position. */
typedef struct {
    const Step *s;
    int F, E, h;
    Span keys; /* those seen */
    real *turns, *psi, *turned, *phi, *z, *stat;
    real *kept; /* z and S of the head; or the ring, of all heads */
} StepHead;

static real *slot_of(const StepHead *x, int t)
{
    int ring = x->s->in->set.window + 1, H = x->s->in->q->dim[2], wide = 2 * x->F + x->E;

    return x->kept + ((size_t)(t % ring) * (size_t)H + (size_t)x->h) * (size_t)wide;
}

/* The features of one row, turned too; `key` ones go to psi, others to phi. */
static void step_features(const StepHead *x, const FeatureMap *map, bool key)
{
    const Mix *in = x->s->in;
    int D = in->q->dim[3], F = x->F;
    real *f = key ? x->psi : x->phi;
    MapRows m = { .key = key, .t0 = x->s->t, .n = 1, .D = D, .F = F, .ldx = D, .ldf = F };

    m.M = max(in->set.horizon, x->s->t + 1);
    m.omega = in->omega ? in->omega->data + (size_t)x->h * (size_t)F * (size_t)D : NULL;
    m.stat = x->stat;
    map->apply(&m, (key ? in->k : in->q)->data + x->h * D, f);
    memcpy(x->turned, f, (size_t)F * sizeof(real));
    if (in->set.rope)
        rope_turn(x->turned, x->turns, F, false);
}

/* The key of this position joins those that are kept; z is that of the row. */
static void step_keep(StepHead *x)
{
    int F = x->F, E = x->E;
    const real *v = x->s->in->v->data + x->h * E;

    if (x->s->in->set.window > 0) {
        if (!x->s->padding) {
            real *slot = slot_of(x, x->s->t);

            memcpy(slot, x->psi, (size_t)F * sizeof(real));
            memcpy(slot + F, x->turned, (size_t)F * sizeof(real));
            memcpy(slot + 2 * F, v, (size_t)E * sizeof(real));
        }
        memset(x->z, 0, (size_t)F * sizeof(real));
        for (int j = x->keys.from; j < x->keys.to; j++)
            for (int f = 0; f < F; f++)
                x->z[f] += slot_of(x, j)[f];
        return;
    }
    real *z = x->kept, *S = z + F;
    for (int f = 0; !x->s->padding && f < F; f++) {
        z[f] += x->psi[f];
        for (int e = 0; e < E; e++)
            S[f * E + e] += x->turned[f] * v[e];
    }
    memcpy(x->z, z, (size_t)F * sizeof(real));
}

/* o = the turned phi times S, or times what is in the ring. */
static void step_sum(const StepHead *x, real *restrict o)
{
    int F = x->F, E = x->E;
    bool window = x->s->in->set.window > 0;

    memset(o, 0, (size_t)E * sizeof(real));
    for (int f = 0; !window && f < F; f++)
        for (int e = 0; e < E; e++)
            o[e] += x->turned[f] * (x->kept + F)[f * E + e];
    for (int j = x->keys.from; window && j < x->keys.to; j++) {
        const real *slot = slot_of(x, j);
        real a = row_dot(x->turned, slot + F, F);

        for (int e = 0; e < E; e++)
            o[e] += a * slot[2 * F + e];
    }
}

static void step_head(StepHead *x, const FeatureMap *map)
{
    const Mix *in = x->s->in;
    int D = in->q->dim[3];
    real least = GUARD, c = 1;

    step_features(x, map, true);
    step_keep(x);
    if (!x->s->o)
        return;
    real *o = x->s->o + x->h * x->E;
    if (map->stats)
        map->measure(in->q->data + x->h * D, x->z, x->F, x->stat);
    step_features(x, map, false);
    step_sum(x, o);
    if (!map->stats || map->shifted)
        c = row_dot(x->phi, x->z, x->F);
    if (map->shifted)
        least = ldexp(least, -(int)x->stat[0]);
    if (c < least && c > -least)
        c = c < 0 ? -least : least;
    for (int e = 0; e < x->E; e++)
        o[e] = x->keys.from < x->keys.to ? o[e] / c : 0;
}

void linear_step(Step s, const FeatureMap *map)
{
    const Mix *in = s.in;
    int H = in->q->dim[2], D = in->q->dim[3], E = in->v->dim[3];
    int F = map->features(D, in->omega ? in->omega->dim[1] : 0);
    real *own = s.state + 1, *kept = own + OWN * F;

    if (!s.padding)
        s.state[0] += 1;
    if (in->set.rope)
        rope_position(own, s.t, F, in->set.rope_scale);
    View view = { s.t + 1, (int)s.state[0], in->set.window, 0, true };
    for (int h = 0; h < H; h++) {
        StepHead x = {
            &s,      F,           E,           h,           view_keys(&view, s.t), own,
            own + F, own + 2 * F, own + 3 * F, own + 4 * F, own + 5 * F,           kept
        };

        if (in->set.window == 0)
            x.kept += (size_t)h * (size_t)(F + F * E);
        step_head(&x, map);
    }
}

/* phi(q) S and the sum of psi v^T, and inside a chunk, or a band, the pairs. */
double linear_cost(MixSize s, const FeatureMap *map)
{
    double F = map->features(s.D, s.features), pairs = s.causal ? 0.5 * TILE : 0;

    if (s.set.window > 0)
        return s.H * (F + s.E) * fmin(s.T, (s.causal ? 1 : 2) * s.set.window + 1);
    return s.H * (2 * F * s.E + fmin(pairs, s.T) * (F + s.E));
}

/* c and stat; dz, where phi is divided by z. */
MixMemory linear_memory(MixSize s, const FeatureMap *map)
{
    int F = map->features(s.D, s.features), stats = map->stats ? map->stats(F) : 0;

    return (MixMemory){ s.H * (1.0 + stats), has_quotient(map) ? 0 : (double)s.H * F };
}
