/*
 * Linear attention over all positions, in time linear in T. Features are computed chunk by chunk
 * (TILE positions), and everything before a chunk is summed in a matrix and a vector:
 *
 *     S = sum over j of psi_j v_j^T  (F, E)        z = sum over j of psi_j  (F)
 *
 * Bidirectional, S and z are sums over all keys, and o_i = S^T phi_i / C_i. Causal, S is the
 * sum over the chunks before that of i, and the pairs within the chunk are added,
 *
 *     o_i = (S^T phi_i + sum over j of (phi_i . psi_j) v_j) / C_i          j <= i in i's chunk
 *
 * as one tile of tiles.c. z_i = sum of psi_j over all j <= i is computed row by row: the sum over
 * the chunks before, plus the running sum within the chunk.
 *
 * Backward, in the letters of linear.h: u_i = g_i / C_i, and dc_i and dz_i are the gradients of
 * c_i and z_i. For query i, S again sums up the chunks before; for key j, the chunks after are
 * summed up in
 *
 *     R = sum over i of phi_i u_i^T  (F, E)        r = sum over i of dz_i  (F)
 *
 * Causal, with both sums in the second column within the chunk:
 *
 *     dphi_i = S u_i + dc_i z_i  +  sum over j <= i of (u_i . v_j) psi_j
 *     dpsi_j = R v_j + r         +  sum over i >= j of ((u_i . v_j) phi_i + dz_i)
 *     dv_j   = R^T psi_j         +  sum over i >= j of (phi_i . psi_j) u_i
 *
 * Bidirectional, S, R and r are sums over all positions, and the second column is empty.
 *
 * The forward pass keeps S and z as they are before each chunk. The backward pass computes the
 * features again, and runs from the last chunk to the first, updating R and r. Bidirectional there
 * are three passes: S and z; then dq, R and r; then dk and dv. States only ever grow by addition:
 * nothing is recovered by subtraction.
 */
#include "ops/attention/engine/linear.h"

#include "ops/kernel/elementary.h"

#include <string.h>

/* One chunk of a head, and the running sums. */
typedef struct {
    LinearHead h;
    bool causal;
    Features q, k;
    Rows v, g, o, dphi, dpsi, dv;
    real *kt, *vt, *s, *ds; /* rotated psi and v transposed, and the chunk's pairs */
    real *z, *dz, *dc;      /* z of the chunk's rows (TILE, F'); a row; (TILE) */
    real *sum, *later;      /* z before the chunk; r */
    real *S, *St;           /* S or R, (F, E'); one of them transposed, (E, F') */
} Scan;

static Rows rows(real **free, int ld)
{
    return (Rows){ carve(free, TILE, ld), ld, 0, TILE };
}

static Features features(real **free, const LinearHead *h)
{
    Features x = { .x = rows(free, h->D), .f = rows(free, h->F), .dx = rows(free, h->D) };

    carve(free, 2, h->D); /* behind dx, for the map */
    x.rotated = h->op->angles ? rows(free, h->F) : x.f;
    return x;
}

static Scan scan_open(const Linear *op, int number)
{
    real *free = pool_scratch();
    Scan x = { .h = linear_head(op, number), .causal = op->in.causal };
    int E = x.h.E, F = x.h.F, deep = up_to(op->F, MR), wide = up_to(op->E, MR);

    x.h.head.ahead = TILE;
    x.q = features(&free, &x.h), x.k = features(&free, &x.h);
    x.v = rows(&free, E), x.g = rows(&free, E), x.o = rows(&free, E), x.dv = rows(&free, E);
    x.dphi = rows(&free, F), x.dpsi = rows(&free, F);
    x.kt = carve(&free, TILE, F), x.vt = carve(&free, TILE, E);
    x.s = carve(&free, TILE, TILE), x.ds = carve(&free, TILE, TILE);
    x.z = carve(&free, TILE, F), x.dz = carve(&free, 1, F), x.sum = carve(&free, 1, F);
    x.later = carve(&free, 1, F);
    x.dc = carve(&free, 1, TILE);
    x.S = carve(&free, deep, E), x.St = carve(&free, wide, F);
    memset(x.sum, 0, (size_t)F * sizeof(real));
    memset(x.later, 0, (size_t)F * sizeof(real));
    memset(x.S, 0, (size_t)deep * (size_t)E * sizeof(real));
    memset(x.St, 0, (size_t)wide * (size_t)F * sizeof(real));
    return x;
}

size_t scan_scratch(const Linear *op)
{
    size_t D = (size_t)up_to(op->D, NR), E = (size_t)up_to(op->E, NR);
    size_t F = (size_t)up_to(op->F, NR), deep = (size_t)up_to(op->F, MR);

    return TILE * (4 * D + 8 * F + 5 * E + 2 * TILE + 1) + 4 * D + 3 * F + deep * E +
           (size_t)up_to(op->E, MR) * F + MR; /* MR: the kernel reads that far beyond a column */
}

static void scan_at(Scan *x, int t0)
{
    Rows *all[] = { &x->q.x, &x->q.f, &x->k.x, &x->k.f, &x->q.rotated, &x->k.rotated,
                    &x->v,   &x->g,   &x->o,   &x->dv,  &x->dphi,      &x->dpsi };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->t0 = t0;
}

/* The chunk's keys that are not padding. */
static int keys_of(const Scan *x)
{
    return max(0, min(TILE, x->h.view.length - x->v.t0));
}

static void load_keys(Scan *x, int t0)
{
    scan_at(x, t0);
    linear_keys(&x->h, x->k);
    head_gather(&x->h.head, x->v, x->h.op->in.v->data, x->h.op->E);
}

/* Computes z of the chunk's rows, and adds the chunk to the sum. */
static void run_z(Scan *x)
{
    int F = x->h.F;
    real *so_far = x->dz;

    memset(so_far, 0, (size_t)F * sizeof(real));
    for (int r = 0; r < TILE; r++) {
        for (int f = 0; r < keys_of(x) && f < F; f++)
            so_far[f] += row_of(x->k.f.at, r, F)[f];
        for (int f = 0; f < F; f++)
            row_of(x->z, r, F)[f] = x->sum[f] + so_far[f];
    }
    for (int f = 0; f < F; f++)
        x->sum[f] += so_far[f];
}

/* The pairs within the chunk. */
static Tiles pairs(const Scan *x)
{
    const LinearHead *h = &x->h;
    Tiles t = { .weighting = &weighting_plain,
                .tile = TILE,
                .view = h->view,
                .depth = h->op->F,
                .wide = h->op->E,
                .D = h->F,
                .E = h->E,
                .q = x->q.rotated.at,
                .g = x->g.at,
                .k = x->k.rotated.at,
                .kt = x->kt,
                .vt = x->vt,
                .s = x->s,
                .ds = x->ds };

    t.view.chunk = TILE;
    t.i0 = t.j0 = x->v.t0;
    return t;
}

static void forward_pairs(Scan *x)
{
    Tiles t = pairs(x);

    rows_transpose(x->k.rotated, x->kt, TILE, x->h.op->F);
    t.v = x->v.at, t.o = x->o.at;
    tiles_forward(&t, x->v.t0);
}

static void load_queries(Scan *x, const real *z, int ldz)
{
    linear_measure(&x->h, x->q.x, z, ldz);
    linear_queries(&x->h, x->q);
    linear_divisors(&x->h, x->q.f, z, ldz);
}

static void forward_causal(Scan *x)
{
    for (int t0 = 0; t0 < x->h.op->T; t0 += TILE) {
        states_put(&x->h.op->S, &x->h.head, t0, x->S);
        states_put(&x->h.op->z, &x->h.head, t0, x->sum);
        load_keys(x, t0);
        run_z(x);
        load_queries(x, x->z, x->h.F);
        forward_pairs(x);
        rows_multiply(x->o, x->q.rotated, x->h.op->F, x->S, true);
        linear_finish(&x->h, x->o);
        rows_multiply_over(x->S, x->h.op->F, x->k.rotated, x->v, keys_of(x));
    }
}

static void forward_bidirectional(Scan *x)
{
    for (int t0 = 0; t0 < x->h.view.length; t0 += TILE) {
        load_keys(x, t0);
        run_z(x);
        rows_multiply_over(x->S, x->h.op->F, x->k.rotated, x->v, keys_of(x));
    }
    for (int t0 = 0; t0 < x->h.op->T; t0 += TILE) {
        scan_at(x, t0);
        load_queries(x, x->sum, 0);
        rows_multiply(x->o, x->q.rotated, x->h.op->F, x->S, false);
        linear_finish(&x->h, x->o);
    }
}

void scan_forward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Scan x = scan_open(ctx, number);

        if (x.causal)
            forward_causal(&x);
        else
            forward_bidirectional(&x);
    }
}

/* dq of the chunk, after the other chunks' contributions to dphi. */
static void finish_queries(Scan *x, const real *z, int ldz)
{
    linear_chain_queries(&x->h, x->q, x->dphi, x->dc, z, ldz);
}

/* Adds to each dpsi_j of the chunk the dz_i of all i >= j. */
static void add_later_dz(Scan *x)
{
    int F = x->h.F;
    real *so_far = x->z; /* its rows are no longer needed */

    memset(so_far, 0, (size_t)F * sizeof(real));
    for (int r = min(TILE, x->h.op->T - x->v.t0) - 1; r >= 0; r--) {
        real *dpsi = row_of(x->dpsi.at, r, F);

        linear_dz(&x->h, x->v.t0 + r, row_of(x->q.f.at, r, F), x->dc[r], x->dz);
        for (int f = 0; f < x->h.op->F; f++) {
            so_far[f] += x->dz[f];
            dpsi[f] += x->later[f] + so_far[f];
        }
    }
    for (int f = 0; f < x->h.op->F; f++)
        x->later[f] += so_far[f];
}

/* The contribution of R to the chunk's keys. */
static void add_state(Scan *x, bool add)
{
    rows_transpose((Rows){ x->S, x->h.E, 0, x->h.op->F }, x->St, x->h.F, x->h.op->E);
    rows_multiply(x->dpsi, x->v, x->h.op->E, x->St, add);
    rows_multiply(x->dv, x->k.rotated, x->h.op->F, x->S, add);
}

static void rotate_back(Scan *x)
{
    int n = min(TILE, x->h.op->T - x->v.t0);

    linear_rotate(x->h.op, (Rows){ x->dpsi.at, x->h.F, x->v.t0, n }, true);
}

/* dphi of the chunks before, and z of the chunk's rows, from the states that were kept. */
static void read_states(Scan *x, int t0)
{
    const Linear *op = x->h.op;

    memcpy(x->sum, states_of(&op->z, &x->h.head, t0), op->z.size * sizeof(real));
    run_z(x);
    rows_transpose((Rows){ states_of(&op->S, &x->h.head, t0), x->h.E, 0, op->F }, x->St, x->h.F,
                   op->E);
    rows_multiply(x->dphi, x->g, op->E, x->St, false);
}

static void backward_pairs(Scan *x)
{
    Tiles t = pairs(x);

    rows_transpose(x->k.rotated, x->kt, TILE, x->h.op->F);
    rows_transpose(x->v, x->vt, TILE, x->h.op->E);
    t.dq = x->dphi.at, t.dk = x->dpsi.at, t.dv = x->dv.at;
    tiles_backward(&t, x->v.t0);
}

/* From the last chunk to the first: dq, dk, dv; R and r. */
static void backward_causal(Scan *x)
{
    x->h.head.ahead = -TILE;
    for (int t0 = (x->h.op->T - 1) / TILE * TILE; t0 >= 0; t0 -= TILE) {
        load_keys(x, t0);
        linear_queries(&x->h, x->q);
        linear_gather_g(&x->h, x->g, x->dc);
        read_states(x, t0);
        backward_pairs(x);
        finish_queries(x, x->z, x->h.F);
        add_state(x, true);
        rotate_back(x);
        add_later_dz(x);
        linear_chain_keys(&x->h, x->k, x->dpsi, x->dv);
        rows_multiply_over(x->S, x->h.op->F, x->q.rotated, x->g, TILE);
    }
}

/* All rows: dq from S; R and r. */
static void backward_all_queries(Scan *x, const real *z, real *R, real *r)
{
    for (int t0 = 0; t0 < x->h.op->T; t0 += TILE) {
        scan_at(x, t0);
        linear_queries(&x->h, x->q);
        linear_gather_g(&x->h, x->g, x->dc);
        rows_multiply(x->dphi, x->g, x->h.op->E, x->St, false);
        finish_queries(x, z, 0);
        rows_multiply_over(R, x->h.op->F, x->q.rotated, x->g, TILE);
        for (int i = 0; i < min(TILE, x->h.op->T - t0); i++) {
            linear_dz(&x->h, t0 + i, row_of(x->q.f.at, i, x->h.F), x->dc[i], x->dz);
            for (int f = 0; f < x->h.op->F; f++)
                r[f] += x->dz[f];
        }
    }
}

static void backward_bidirectional(Scan *x)
{
    real *r = x->z; /* the memory of z, whose only row is elsewhere */

    for (int t0 = 0; t0 < x->h.view.length; t0 += TILE) {
        load_keys(x, t0);
        run_z(x);
        rows_multiply_over(x->St, x->h.op->E, x->v, x->k.rotated, keys_of(x));
    }
    memset(r, 0, (size_t)x->h.F * sizeof(real));
    backward_all_queries(x, x->sum, x->S, r);
    for (int t0 = 0; t0 < x->h.op->T; t0 += TILE) {
        load_keys(x, t0);
        add_state(x, false);
        rotate_back(x);
        for (int i = 0; i < TILE; i++)
            for (int f = 0; f < x->h.op->F; f++)
                row_of(x->dpsi.at, i, x->h.F)[f] += r[f];
        linear_chain_keys(&x->h, x->k, x->dpsi, x->dv);
    }
}

void scan_backward(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Scan x = scan_open(ctx, number);

        if (x.causal)
            backward_causal(&x);
        else
            backward_bidirectional(&x);
    }
}
