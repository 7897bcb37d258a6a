/*
 * A head is one piece of work. A long head, if there are few, is cut into parts: part p has
 * every parts-th tile of rows forward, and of keys backward, where the parts' sums for dq are
 * added in order at the end. The cut depends only on T and H, so a sequence gets the same bits
 * in any batch.
 *
 * tau and RoPE are applied to the copies of q and k, and undone in the gradients of the copies.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

typedef struct {
    Node node;
    Mix in;
    Tiling how;
    int B, T, H, D, E, parts, tile;
    const real *angles, *tau, *divisor; /* for rows that see 0 .. T keys; divisor may be NULL */
    const real *gain, *turns;           /* f of bias.h, likewise, and its angles; NULL: no bias */
    real *w, *dw;                       /* (H, 2 T); (B, H, parts, 2 T) */
    int chunk, window;
    RowState *row; /* (B, H, T) */
    real *partial; /* dq of parts (B, H, parts, T', D') if parts > 1 */
    Grad dq, dk, dv, da, db;
} Pairs;

/* A head, or a part of one: its view, and its copies in a thread's scratch memory. */
typedef struct {
    const Pairs *op;
    Head head;
    int part, length; /* T' = T rounded up to tiles */
    Tiles t;
} Work;

static Work work_of(const Pairs *op, int number)
{
    Work w = { .op = op, .head = head_of(&op->in, number / op->parts), .part = number % op->parts };

    w.length = up_to(op->T, op->tile);
    w.t = (Tiles){ .tile = op->tile,
                   .weighting = op->how.weighting,
                   .view = view_of(&op->in, w.head.b),
                   .depth = op->D,
                   .wide = op->E,
                   .D = up_to(op->D, NR),
                   .E = up_to(op->E, NR),
                   .row = op->row + (size_t)(number / op->parts) * (size_t)op->T };
    w.t.view.chunk = op->chunk;
    if (op->gain) {
        w.t.f = op->gain, w.t.w = op->w + (2 * w.head.h + 1) * op->T;
        w.t.dw = op->dw ? op->dw + (size_t)(2 * number + 1) * (size_t)op->T : NULL;
    }
    return w;
}

static void scale_rows(const Work *w, Rows x)
{
    const Pairs *op = w->op;

    for (int r = 0; r < x.n; r++) {
        Span keys = view_keys(&w->t.view, x.t0 + r);
        real tau = op->tau[keys.to - keys.from];

        for (int d = 0; d < op->D; d++)
            row_of(x.at, r, x.ld)[d] *= tau;
    }
}

/* The rows of the tile at t0 that exist; results for rows beyond are never read. */
static int rows_in(const Pairs *op, int t0)
{
    return min(op->tile, op->T - t0);
}

static void gather_q(const Work *w, Rows to)
{
    head_gather(&w->head, to, w->op->in.q->data, w->op->D);
    rows_rotate(to, w->op->angles, w->op->D, false);
    scale_rows(w, to);
}

/* Gathers the tile of k at to.t0, and rotates it by RoPE into its transpose kt. */
static void gather_k(const Work *w, Rows to, real *kt)
{
    head_gather(&w->head, to, w->op->in.k->data, w->op->D);
    rows_rotate(to, w->op->angles, w->op->D, false);
    rows_transpose(to, kt, w->t.tile, w->op->D);
}

/* Before the first key: the rows' divisors, or 0 for those that are sums. */
static void start_rows(const Work *w, int i0)
{
    const Pairs *op = w->op;

    for (int i = i0; i < i0 + rows_in(op, i0); i++) {
        Span keys = view_keys(&w->t.view, i);
        const real c = op->divisor ? op->divisor[keys.to - keys.from] : 0;

        w->t.row[i] = pairs_start(op->how.weighting, c);
    }
}

static void finish_rows(const Work *w, int i0)
{
    const Pairs *op = w->op;

    for (int i = i0; i < i0 + rows_in(op, i0); i++) {
        real *y = op->node.y->data + head_place(&w->head, i, op->E);
        const real *o = row_of(w->t.o, i - i0, w->t.E);
        Span keys = view_keys(&w->t.view, i);
        real c = guard(w->t.row[i].c);

        for (int e = 0; e < op->E; e++)
            y[e] = keys.from < keys.to ? o[e] / c : 0;
    }
}

static void forward_part(Work *w)
{
    const Pairs *op = w->op;
    const int tile = op->tile, step = op->parts * tile;
    real *free = pool_scratch(), *k = carve(&free, tile, w->t.D), *q = carve(&free, tile, w->t.D);

    w->t.kt = carve(&free, w->length, w->t.D);
    w->t.v = carve(&free, w->length, w->t.E);
    w->t.o = carve(&free, tile, w->t.E);
    w->t.s = carve(&free, tile, tile);
    for (int j0 = 0; j0 < w->t.view.length; j0 += tile)
        gather_k(w, (Rows){ k, w->t.D, j0, rows_in(op, j0) }, row_of(w->t.kt, j0, op->D));
    head_gather(&w->head, (Rows){ w->t.v, w->t.E, 0, op->T }, op->in.v->data, op->E);
    for (int i0 = w->part * tile; i0 < op->T; i0 += step) {
        gather_q(w, (Rows){ q, w->t.D, i0, rows_in(op, i0) });
        w->t.q = q, w->t.i0 = i0;
        start_rows(w, i0);
        tiles_forward(&w->t, i0);
        finish_rows(w, i0);
    }
}

static void forward_parts(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = work_of(ctx, number);

        forward_part(&w);
    }
}

static void scatter_q(const Work *w, Rows dq)
{
    scale_rows(w, dq);
    rows_rotate(dq, w->op->angles, w->op->D, true);
    head_scatter(&w->head, w->op->dq, dq, w->op->D);
}

/* Gathers all rows of q and of g = do, and clears dq. */
static void gather_rows(const Work *w)
{
    const Pairs *op = w->op;

    gather_q(w, (Rows){ w->t.q, w->t.D, 0, op->T });
    head_gather(&w->head, (Rows){ w->t.g, w->t.E, 0, op->T }, op->node.y->grad, op->E);
    memset(w->t.dq, 0, (size_t)op->T * (size_t)w->t.D * sizeof(real));
}

static void backward_tile(Work *w, int j0, real *v)
{
    const Pairs *op = w->op;
    const int n = rows_in(op, j0);
    Rows dk = { w->t.dk, w->t.D, j0, n }, dv = { w->t.dv, w->t.E, j0, n };
    Rows keys = { w->t.k, w->t.D, j0, n }, values = { v, w->t.E, j0, n };

    w->t.j0 = j0;
    gather_k(w, keys, w->t.kt);
    head_gather(&w->head, values, op->in.v->data, op->E);
    rows_transpose(values, w->t.vt, op->tile, op->E);
    tiles_backward(&w->t, j0);
    rows_rotate(dk, op->angles, op->D, true);
    head_scatter(&w->head, op->dk, dk, op->D);
    head_scatter(&w->head, op->dv, dv, op->E);
}

/* delta of a head's rows; 0 where the divisor does not depend on the scores. */
static void delta_of_head(const Pairs *op, int number)
{
    Head head = head_of(&op->in, number);
    RowState *row = op->row + (size_t)number * (size_t)op->T;

    for (int i = 0; i < op->T; i++) {
        size_t y = head_place(&head, i, op->E);
        bool moves = op->how.weighting->averages && row[i].c >= GUARD;

        row[i].delta = moves ? row_dot(op->node.y->grad + y, op->node.y->data + y, op->E) : 0;
    }
}

static void find_delta(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++)
        delta_of_head(ctx, number);
}

static void backward_part(Work *w)
{
    const Pairs *op = w->op;
    size_t all = (size_t)w->length * (size_t)w->t.D;
    real *free = pool_scratch(), *v;
    int number = w->head.b * op->H + w->head.h, tile = op->tile;

    w->t.q = carve(&free, w->length, w->t.D);
    w->t.g = carve(&free, w->length, w->t.E);
    w->t.dq = carve(&free, w->length, w->t.D);
    w->t.k = carve(&free, tile, w->t.D), w->t.kt = carve(&free, tile, w->t.D);
    v = carve(&free, tile, w->t.E), w->t.vt = carve(&free, tile, w->t.E);
    w->t.dk = carve(&free, tile, w->t.D), w->t.dv = carve(&free, tile, w->t.E);
    w->t.s = carve(&free, tile, tile), w->t.ds = carve(&free, tile, tile);
    if (op->parts > 1)
        w->t.dq = op->partial + (size_t)(number * op->parts + w->part) * all;
    else
        delta_of_head(op, number); /* its rows are copied next, and so in cache */
    gather_rows(w);
    for (int j0 = w->part * tile; j0 < op->T; j0 += op->parts * tile)
        backward_tile(w, j0, v);
    if (op->parts == 1)
        scatter_q(w, (Rows){ w->t.dq, w->t.D, 0, op->T });
}

static void backward_parts(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = work_of(ctx, number);

        backward_part(&w);
    }
}

/* Adds the parts of a head's dq, in order. */
static void add_parts(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = work_of(op, number * op->parts);
        size_t all = (size_t)w.length * (size_t)w.t.D, some = (size_t)op->T * (size_t)w.t.D;
        real *sum = op->partial + (size_t)(number * op->parts) * all;

        for (int part = 1; part < op->parts; part++)
            for (size_t i = 0; i < some; i++)
                sum[i] += sum[(size_t)part * all + i];
        scatter_q(&w, (Rows){ sum, w.t.D, 0, op->T });
    }
}

/* Adds up the dw of head h, in the order of sequences and parts, and leaves da and db. */
static void bias_heads(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;
    const int n = 2 * op->T;

    for (int h = begin; h < end; h++) {
        real *free = pool_scratch(), *row = carve(&free, 1, op->D);
        real *da = carve(&free, 2, op->D), *db = da + op->D, *sum = carve(&free, 1, n);
        const Bias bias = bias_of(&op->in, h, op->turns);

        memset(da, 0, (size_t)(2 * op->D + n) * sizeof(real));
        for (int b = 0; b < op->B; b++)
            for (int part = 0; part < op->parts; part++)
                for (int t = 0, piece = (b * op->H + h) * op->parts + part; t < n; t++)
                    sum[t] += op->dw[(size_t)piece * (size_t)n + (size_t)t];
        bias_back(&bias, sum, da, db, row);
        grad_add(op->da, (size_t)(h * op->D), da, op->D);
        grad_add(op->db, (size_t)(h * op->D), db, op->D);
    }
}

/* Scratch for a head's copies: rows of D' and E', and this many tiles of each and of scores. */
static void reserve(const Pairs *op, int of_d, int of_e, int tiles)
{
    size_t T = (size_t)up_to(op->T, op->tile), D = (size_t)up_to(op->D, NR);
    size_t E = (size_t)up_to(op->E, NR), numbers = T * ((size_t)of_d * D + (size_t)of_e * E);
    size_t tile = (size_t)op->tile * (3 * D + 4 * E + (size_t)(tiles * op->tile));

    pool_reserve(op->node.tape->pool, (numbers + tile) * sizeof(real));
}

static void pairs_backward(Node *node)
{
    Pairs *op = (Pairs *)node;
    size_t bytes = (size_t)(op->B * op->H * op->parts) * (size_t)up_to(op->T, op->tile) *
                   (size_t)up_to(op->D, NR) * sizeof(real);
    size_t biases = (size_t)(op->B * op->H * op->parts) * 2 * (size_t)op->T * sizeof(real);

    /* in the order of writing: one tensor may be all three */
    op->dk = tape_grad(node->tape, op->in.k);
    op->dv = tape_grad(node->tape, op->in.v);
    op->dq = tape_grad(node->tape, op->in.q);
    reserve(op, 2, 1, 2);
    if (op->gain) {
        op->dw = arena_take(node->tape->mem, biases);
        memset(op->dw, 0, biases);
    }
    if (op->parts > 1) {
        op->partial = arena_take(node->tape->mem, bytes);
        pool_for(node->tape->pool, op->B * op->H, 1, find_delta, op);
    }
    pool_for(node->tape->pool, op->B * op->H * op->parts, 1, backward_parts, op);
    if (op->parts > 1) {
        pool_for(node->tape->pool, op->B * op->H, 1, add_parts, op);
        arena_give(node->tape->mem, op->partial, bytes);
    }
    if (op->gain) {
        op->da = tape_grad(node->tape, mix_tensor(&op->in, "rel_a"));
        op->db = tape_grad(node->tape, mix_tensor(&op->in, "rel_b"));
        pool_for(node->tape->pool, op->H, 1, bias_heads, op);
        arena_give(node->tape->mem, op->dw, biases);
    }
}

/* Tables of what depends only on the number of keys that a row sees. */
static void tabulate(Pairs *op)
{
    size_t bytes = (size_t)(op->T + 1) * sizeof(real);
    const int n0 = pairs_n0(&op->in);
    real *tau = tape_keep(&op->node, bytes);
    real *divisor = op->how.divisor ? tape_keep(&op->node, bytes) : NULL;

    for (int n = 0; n <= op->T; n++)
        tau[n] = op->how.tau(n0, op->D, n);
    for (int n = 0; divisor && n <= op->T; n++)
        divisor[n] = op->how.divisor(n0, n);
    op->tau = tau, op->divisor = divisor;
    if (!bias_is_on(&op->in.set))
        return;
    real *gain = tape_keep(&op->node, bytes);
    for (int n = 0; n <= op->T; n++)
        gain[n] = pairs_gain(&op->how, n0, op->D, n);
    op->gain = gain;
}

static void fill_heads(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;

    for (int h = begin; h < end; h++) {
        const Bias bias = bias_of(&op->in, h, op->turns);

        bias_fill(&bias, op->w + (size_t)(2 * h) * (size_t)op->T, pool_scratch());
    }
}

static void fill_bias(Pairs *op)
{
    op->turns = bias_angles(op->node.tape, &op->in);
    op->w = tape_keep(&op->node, (size_t)(2 * op->H) * (size_t)op->T * sizeof(real));
    pool_for(op->node.tape->pool, op->H, 1, fill_heads, op);
}

Tensor *pairs_mix(Tape *tape, const Mix *in)
{
    Pairs *op = tape_node(tape, sizeof *op, pairs_backward, 4, in->v->dim);
    const MixSize s = mix_size(in);

    op->in = *in, op->how = pairs_tiling(in->attention, &in->set);
    op->B = in->q->dim[0], op->T = s.T, op->H = s.H, op->D = s.D, op->E = s.E;
    op->chunk = pairs_chunk(in->attention, &in->set), op->window = setting(&in->set, "window");
    op->tile = pairs_tile(op->T);
    tabulate(op);
    op->parts = pairs_parts(op->window || op->chunk, op->T, op->H);
    op->angles = in->rope ? rope_angles(tape, op->T, op->D, in->rope_scale) : NULL;
    op->row = tape_keep(&op->node, (size_t)(op->B * op->H) * (size_t)op->T * sizeof *op->row);
    reserve(op, 1, 1, 1);
    if (op->gain)
        fill_bias(op);
    pool_for(tape->pool, op->B * op->H * op->parts, 1, forward_parts, op);
    return op->node.y;
}

const Engine engine_pairs = {
    .mix = pairs_mix,
    .step = pairs_step,
    .state = pairs_state,
    .cost = pairs_cost,
    .memory = pairs_memory,
    .sums = pairs_sums,
};
