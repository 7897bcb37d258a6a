/*
 * A head is one piece of work. If there are few heads, a long one is cut into parts: part p
 * computes every parts-th tile of rows in the forward pass, and of keys in the backward pass, where
 * the parts' sums for dq are added in order at the end. The cut depends only on T and H, so that a
 * sequence gives the same bits in any batch.
 *
 * tau and RoPE are applied to the copies of q and k, and undone in the gradients of the copies.
 */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/kernel/elementary.h"
#include "ops/rope.h"

#include <string.h>

/* Groups of rows end there at most. */
static int rows_end(const Pairs *op)
{
    return op->T + MR;
}

static size_t tile_pairs(const Pairs *op)
{
    const int tiles = up_to(op->T, op->tile) / op->tile;

    return (size_t)tiles * (size_t)tiles;
}

static void use_pattern(const Pairs *op, int number, Tiles *t)
{
    if (op->drawn)
        t->view.drawn = op->drawn + (size_t)number * view_drawn(&t->view, rows_end(op));
    if (op->met)
        t->met = op->met + (size_t)number * tile_pairs(op);
}

Work pairs_work(const Pairs *op, int number)
{
    Work w = { .op = op, .head = head_of(&op->in, number / op->parts), .part = number % op->parts };

    w.length = up_to(op->T, op->tile);
    w.t = (Tiles){ .tile = op->tile,
                   .weighting = op->how.weighting,
                   .view = pairs_view(&op->in, w.head.b),
                   .depth = op->D,
                   .wide = op->E,
                   .D = copy_width(op->D),
                   .E = copy_width(op->E),
                   .row = op->row + (size_t)(number / op->parts) * (size_t)op->T };
    use_pattern(op, w.head.b % op->patterns, &w.t);
    if (op->gain) {
        w.t.f = op->gain, w.t.w = op->w + (2 * w.head.h + 1) * op->T;
        w.t.dw = op->dw ? op->dw + (size_t)(2 * number + 1) * (size_t)op->T : NULL;
    }
    return w;
}

void pairs_scale(const Work *w, Rows x)
{
    const Pairs *op = w->op;

    for (int r = 0; r < x.n; r++) {
        real tau = op->tau[view_count(&w->t.view, x.t0 + r)];

        for (int d = 0; d < op->D; d++)
            row_of(x.at, r, x.ld)[d] *= tau;
    }
}

void pairs_gather_q(const Work *w, Rows to)
{
    head_gather(&w->head, to, w->op->in.q->data, w->op->D);
    rows_rotate(to, w->op->angles, w->op->D, false);
    pairs_scale(w, to);
}

void pairs_gather_k(const Work *w, Rows to, real *kt)
{
    head_gather(&w->head, to, w->op->in.k->data, w->op->D);
    rows_rotate(to, w->op->angles, w->op->D, false);
    rows_transpose(to, kt, w->t.tile, w->op->D);
}

void pairs_reserve(const Pairs *op, int of_d, int of_e, int tiles)
{
    size_t T = (size_t)up_to(op->T, op->tile), D = (size_t)copy_width(op->D);
    size_t E = (size_t)copy_width(op->E), numbers = T * ((size_t)of_d * D + (size_t)of_e * E);
    size_t tile = (size_t)op->tile * (3 * D + 4 * E + (size_t)(tiles * op->tile));
    size_t fade = op->g ? forget_room(op->T, op->tile) : 0;

    pool_reserve(op->node.tape->pool, (numbers + tile + fade) * sizeof(real));
}

void pairs_forget(Work *w, Forget *x, real **scratch)
{
    const Pairs *op = w->op;

    if (!op->g)
        return;
    *x = forget_open(scratch, &w->head, op->g, op->tile, w->t.view.length);
    w->t.forget = x;
}

/* Before the first key: the rows' divisors, or 0 for those that are sums. */
static void start_rows(const Work *w, int i0)
{
    const Pairs *op = w->op;
    const real null = op->sink ? op->sink[w->head.h] : 0;

    for (int i = i0; i < i0 + rows_in(op, i0); i++) {
        const real c = op->divisor ? op->divisor[view_count(&w->t.view, i)] : 0;

        w->t.row[i] = pairs_start(op->how.weighting, c, null);
    }
}

static void finish_rows(const Work *w, int i0)
{
    const Pairs *op = w->op;

    for (int i = i0; i < i0 + rows_in(op, i0); i++) {
        real *y = op->node.y->data + head_place(&w->head, i, op->E);
        const real *o = row_of(w->t.o, i - i0, w->t.E);
        const bool sees = view_count(&w->t.view, i) > 0;
        real c = guard(w->t.row[i].c);

        for (int e = 0; e < op->E; e++)
            y[e] = sees ? o[e] / c : 0;
    }
}

static void forward_part(Work *w)
{
    const Pairs *op = w->op;
    const int tile = op->tile, step = op->parts * tile;
    real *free = pool_scratch(), *k = carve(&free, tile, w->t.D), *q = carve(&free, tile, w->t.D);
    Forget forget;

    pairs_forget(w, &forget, &free);
    w->t.kt = carve(&free, w->length, w->t.D);
    w->t.v = carve(&free, w->length, w->t.E);
    w->t.o = carve(&free, tile, w->t.E);
    w->t.s = carve(&free, tile, tile);
    for (int j0 = 0; j0 < w->t.view.length; j0 += tile)
        pairs_gather_k(w, (Rows){ k, w->t.D, j0, rows_in(op, j0) }, row_of(w->t.kt, j0, op->D));
    head_gather(&w->head, (Rows){ w->t.v, w->t.E, 0, op->T }, op->in.v->data, op->E);
    for (int i0 = w->part * tile; i0 < op->T; i0 += step) {
        pairs_gather_q(w, (Rows){ q, w->t.D, i0, rows_in(op, i0) });
        w->t.q = q, w->t.i0 = i0;
        start_rows(w, i0);
        tiles_forward(&w->t, i0);
        finish_rows(w, i0);
    }
}

static void forward_parts(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = pairs_work(ctx, number);

        forward_part(&w);
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

/* Which tiles have a pair in them, for rows of several spans. */
static void find_met(const Pairs *op, const View *v, bool *met)
{
    const int tiles = up_to(op->T, op->tile) / op->tile;

    memset(met, 0, tile_pairs(op) * sizeof *met);
    for (int i = 0; i < op->T; i++)
        for (Span s = view_run(v, i, 0); s.from < s.to;) {
            const int last = (s.to - 1) / op->tile;

            for (int tile = s.from / op->tile; tile <= last; tile++)
                met[i / op->tile * tiles + tile] = true;
            s = view_run(v, i, max(s.to, (last + 1) * op->tile));
        }
}

/* Blocks are drawn among those that are not padding. */
static bool depends_on_length(const Pairs *op, const View *v)
{
    return v->random && !v->causal && op->in.length;
}

static void fill_patterns(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;

    for (int b = begin; b < end; b++) {
        View v = pairs_view(&op->in, b);

        if (!depends_on_length(op, &v))
            v.length = op->T;
        if (op->drawn) {
            int *drawn = op->drawn + (size_t)b * view_drawn(&v, rows_end(op));

            view_draw_all(&v, rows_end(op), drawn);
            v.drawn = drawn;
        }
        find_met(op, &v, op->met + (size_t)b * tile_pairs(op));
    }
}

/* What depends on V(i). Padding only removes keys from it, so that of a sequence without padding
 * serves all, unless blocks are drawn. */
static void find_patterns(Pairs *op)
{
    View v = pairs_view(&op->in, 0);

    v.length = op->T;
    op->parts = pairs_parts(&v, op->T, op->H);
    op->patterns = depends_on_length(op, &v) ? op->B : 1;
    if (view_is_span(&v))
        return;
    const size_t n = (size_t)op->patterns;
    if (v.random)
        op->drawn = tape_keep(&op->node, n * view_drawn(&v, rows_end(op)) * sizeof *op->drawn);
    op->met = tape_keep(&op->node, n * tile_pairs(op) * sizeof *op->met);
    pool_for(op->node.tape->pool, op->patterns, 1, fill_patterns, op);
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
    op->tile = pairs_tile(op->T);
    op->g = op->how.forgets ? mix_tensor(in, "g")->data : NULL;
    op->sink = pairs_sink(&op->how, in);
    tabulate(op);
    find_patterns(op);
    op->angles = in->rope ? rope_angles(tape, op->T, op->D, in->rope_scale) : NULL;
    op->row = tape_keep(&op->node, (size_t)(op->B * op->H) * (size_t)op->T * sizeof *op->row);
    pairs_reserve(op, 1, 1, 1);
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
