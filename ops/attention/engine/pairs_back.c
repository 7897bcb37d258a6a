/* The backward pass of pairs.c. */
#include "ops/attention/engine/pairs.h"

#include "ops/attention/engine/bias.h"
#include "ops/kernel/elementary.h"

#include <string.h>

static void scatter_q(const Work *w, Rows dq)
{
    pairs_scale(w, dq);
    rows_rotate(dq, w->op->angles, w->op->D, true);
    head_scatter(&w->head, w->op->dq, dq, w->op->D);
}

/* Gathers all rows of q and of g = do, and clears dq. */
static void gather_rows(const Work *w)
{
    const Pairs *op = w->op;

    pairs_gather_q(w, (Rows){ w->t.q, w->t.D, 0, op->T });
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
    pairs_gather_k(w, keys, w->t.kt);
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

/* Gradients for forget.h of a part of a head. */
static real *fade_of(const Pairs *op, int number, int part)
{
    return op->fade + (size_t)(number * op->parts + part) * forget_grad_room(op->T, op->tile);
}

static void backward_part(Work *w)
{
    const Pairs *op = w->op;
    size_t all = (size_t)w->length * (size_t)w->t.D;
    real *free = pool_scratch(), *v;
    int number = w->head.b * op->H + w->head.h, tile = op->tile;
    Forget forget;

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
    pairs_forget(w, &forget, &free);
    if (op->g)
        forget_into(&forget, fade_of(op, number, w->part));
    for (int j0 = w->part * tile; j0 < op->T; j0 += op->parts * tile)
        backward_tile(w, j0, v);
    if (op->parts == 1)
        scatter_q(w, (Rows){ w->t.dq, w->t.D, 0, op->T });
}

static void backward_parts(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++) {
        Work w = pairs_work(ctx, number);

        backward_part(&w);
    }
}

/* Adds the parts of a head's dq, in order. */
static void add_parts(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;

    for (int number = begin; number < end; number++) {
        Work w = pairs_work(op, number * op->parts);
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

/* Adds the parts of a head's gradients for forget.h, in order, and leaves dg. */
static void forget_heads(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;
    const size_t n = forget_grad_room(op->T, op->tile);

    for (int number = begin; number < end; number++) {
        Forget forget = { .T = op->T, .tile = op->tile };
        const Head head = head_of(&op->in, number);
        real *sum = fade_of(op, number, 0);

        for (int part = 1; part < op->parts; part++)
            for (size_t i = 0; i < n; i++)
                sum[i] += fade_of(op, number, part)[i];
        forget_into(&forget, sum);
        forget_put(&forget, &head, pairs_view(&op->in, head.b).length, op->dg);
    }
}

/* dsink of head h, by dy of tiles.c; sequences in their order. */
static void sink_heads(void *ctx, int begin, int end)
{
    const Pairs *op = ctx;

    for (int h = begin; h < end; h++) {
        double sum = 0;

        for (int number = h; number < op->B * op->H; number += op->H) {
            const RowState *row = op->row + (size_t)op->T * (size_t)number;

            for (int i = 0; i < op->T; i++)
                sum -= (double)(exp_below(op->sink[h] - row[i].m) / row[i].c * row[i].delta);
        }
        grad_add(op->dsink, (size_t)h, &(real){ R(sum) }, 1);
    }
}

void pairs_backward(Node *node)
{
    Pairs *op = (Pairs *)node;
    size_t bytes = (size_t)(op->B * op->H * op->parts) * (size_t)up_to(op->T, op->tile) *
                   (size_t)copy_width(op->D) * sizeof(real);
    size_t fades =
        (size_t)(op->B * op->H * op->parts) * forget_grad_room(op->T, op->tile) * sizeof(real);
    size_t biases = (size_t)(op->B * op->H * op->parts) * 2 * (size_t)op->T * sizeof(real);

    /* in the order of writing: one tensor may be all three */
    op->dk = tape_grad(node->tape, op->in.k);
    op->dv = tape_grad(node->tape, op->in.v);
    op->dq = tape_grad(node->tape, op->in.q);
    pairs_reserve(op, 2, 1, 2);
    if (op->gain) {
        op->dw = arena_take(node->tape->mem, biases);
        memset(op->dw, 0, biases);
    }
    if (op->g) {
        op->fade = arena_take(node->tape->mem, fades);
        memset(op->fade, 0, fades);
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
    if (op->g) {
        op->dg = tape_grad(node->tape, mix_tensor(&op->in, "g"));
        pool_for(node->tape->pool, op->B * op->H, 1, forget_heads, op);
        arena_give(node->tape->mem, op->fade, fades);
    }
    if (op->sink) {
        op->dsink = tape_grad(node->tape, mix_tensor(&op->in, "sink"));
        pool_for(node->tape->pool, op->H, 1, sink_heads, op);
    }
    if (op->gain) {
        op->da = tape_grad(node->tape, mix_tensor(&op->in, "rel_a"));
        op->db = tape_grad(node->tape, mix_tensor(&op->in, "rel_b"));
        pool_for(node->tape->pool, op->H, 1, bias_heads, op);
        arena_give(node->tape->mem, op->dw, biases);
    }
}
