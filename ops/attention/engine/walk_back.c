/* The backward pass; the derivation is at the head of fastformer.c. */
#include "ops/attention/engine/walk.h"

#include <string.h>

/* Computes dv and dh of the chunk. */
static void meet_back(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    int rows = walk_rows_from(x, t0);

    for (int r = 0; r < rows; r++) {
        size_t at = head_place(&x->head, t0 + r, op->D);
        const real *restrict du = op->node.y->grad + at, *restrict v = op->in.v->data + at;
        const real *restrict h = row_of(x->h.rows, r, x->h.ld);
        real *restrict dh = row_of(x->d.at, r, x->d.ld), *restrict dv = x->dk.at;

        head_ask(&x->head, t0 + r, op->node.y->grad, op->D);
        head_ask(&x->head, t0 + r, op->in.v->data, op->D);
        for (int d = 0; d < op->D; d++) {
            dh[d] = du[d] * v[d];
            dv[d] = du[d] * h[d];
        }
        grad_add(op->dv, at, dv, op->D);
    }
    if (!op->in.causal)
        pooling_back(&x->h, walk_part(x->d, t0, rows), (Rows){ 0 });
}

/* From dp of the chunk computes dg, overwriting p, and dk, and adds to dW. */
static void interact_back(Walk *x, int t0)
{
    const Interaction how = x->op->how;
    Rows g = { x->g.rows, x->g.ld, t0, TILE }, k = walk_keys_at(x, t0, x->op->in.k);
    bool mul = how == MUL;
    int D = x->op->D;

    if (how == CONCAT) {
        rows_multiply(x->p, x->d, D, x->W[0], false);
        rows_multiply(x->dk, x->d, D, x->W[1], false);
        rows_multiply_over(x->dW[0], D, x->d, g, k.n);
        rows_multiply_over(x->dW[1], D, x->d, x->k, k.n);
        return;
    }
    for (int r = 0; r < k.n; r++) {
        const real *restrict gr = row_of(g.at, r, g.ld), *restrict kr = row_of(k.at, r, k.ld);
        const real *restrict dp = row_of(x->d.at, r, x->d.ld);
        real *restrict dg = row_of(x->p.at, r, x->p.ld);
        real *restrict dk = row_of(x->dk.at, r, x->dk.ld);

        for (int d = 0; d < D; d++) {
            dg[d] = mul ? dp[d] * kr[d] : dp[d];
            dk[d] = mul ? dp[d] * gr[d] : dp[d];
        }
    }
}

/* Writes the gradients of the chunk's keys, and zeros for its other rows. */
static void leave(const Walk *x, Grad to, Rows from, int t0)
{
    int keys = walk_keys_from(x, t0);

    memset(row_of(from.at, keys, from.ld), 0,
           (size_t)(TILE - keys) * (size_t)from.ld * sizeof(real));
    head_scatter(&x->head, to, (Rows){ from.at, from.ld, t0, TILE }, x->op->D);
}

/* If all rows have the same pool, their gradients were added before the keys: clears them. */
static Rows forget(const Walk *x, Rows rows)
{
    if (!x->op->in.causal)
        memset(rows.at, 0, (size_t)rows.n * (size_t)rows.ld * sizeof(real));
    return rows;
}

static void keys_back(Walk *x, int t0)
{
    int keys = walk_keys_from(x, t0);

    pooling_back(&x->h, forget(x, walk_part(x->d, t0, walk_rows_from(x, t0))),
                 walk_part(x->p, t0, keys));
    interact_back(x, t0);
    leave(x, x->op->dk, x->dk, t0);
    if (!x->op->in.causal)
        pooling_back(&x->g, walk_part(x->p, t0, keys), (Rows){ 0 });
}

static void queries_back(Walk *x, int t0)
{
    Rows q = walk_keys_at(x, t0, x->op->in.q);

    pooling_back(&x->g, forget(x, walk_part(x->p, t0, q.n)), q);
    leave(x, x->op->dq, x->p, t0);
}

static void back_causal(Walk *x)
{
    for (int t0 = (walk_chunks(x->op) - 1) * TILE; t0 >= 0; t0 -= TILE) {
        walk_pool_queries(x, t0);
        walk_pool_keys(x, t0);
        meet_back(x, t0);
        keys_back(x, t0);
        queries_back(x, t0);
    }
}

static void back_bidirectional(Walk *x)
{
    int last = (walk_chunks(x->op) - 1) * TILE;

    pooling_settle(&x->g, walk_chunks(x->op));
    pooling_settle(&x->h, walk_chunks(x->op));
    for (int t0 = last; t0 >= 0; t0 -= TILE)
        meet_back(x, t0);
    for (int t0 = last; t0 >= 0; t0 -= TILE) {
        walk_pool_keys(x, t0);
        keys_back(x, t0);
    }
    for (int t0 = last; t0 >= 0; t0 -= TILE) {
        walk_pool_queries(x, t0);
        queries_back(x, t0);
    }
}

/* The size of a head's parameters, in numbers. */
static size_t partial_size(const Fastformer *op)
{
    return 2 * (size_t)op->D + walk_matrix_size(op->how, op->D);
}

static void backward_head(const Fastformer *op, int number)
{
    size_t size = partial_size(op);
    Walk x = walk_open(op, number);
    int D = op->D;

    x.head.ahead = -TILE;
    x.g.dw = memset(op->partial + (size_t)number * size, 0, size * sizeof(real));
    x.h.dw = x.g.dw + D;
    if (x.n > 0 && op->in.causal)
        back_causal(&x);
    else if (x.n > 0)
        back_bidirectional(&x);
    for (int i = 0; walk_matrix_size(op->how, op->D) > 0 && i < 2 * D; i++)
        memcpy(x.h.dw + (i + 1) * D, row_of(x.dW[i % 2], i / 2, x.k.ld), (size_t)D * sizeof(real));
    if (x.n > 0)
        return;
    walk_pass_nothing(&x, op->dv);
    walk_pass_nothing(&x, op->dk);
    walk_pass_nothing(&x, op->dq);
}

static void backward_heads(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++)
        backward_head(ctx, number);
}

/* Sums over the batch, in its order. */
static void backward_parameters(const Fastformer *op)
{
    int D = op->D, matrix = (int)walk_matrix_size(op->how, op->D);
    const real *d = op->partial;

    for (int number = 0; number < op->B * op->H; number++, d += partial_size(op)) {
        Grad dw_q = op->dw_q, dw_k = op->dw_k, dW = op->dW;
        size_t head = (size_t)(number % op->H), at = head * (size_t)D;

        dw_q.add |= number >= op->H, dw_k.add |= number >= op->H, dW.add |= number >= op->H;
        grad_add(dw_q, at, d, D);
        grad_add(dw_k, at, d + D, D);
        if (matrix > 0)
            grad_add(dW, head * (size_t)matrix, d + 2 * D, matrix);
    }
}

/* One tensor may be two operands: the gradient taken first is written first at each position. */
void walk_backward(Node *node)
{
    Fastformer *op = (Fastformer *)node;
    Tape *tape = node->tape;
    size_t bytes = (size_t)(op->B * op->H) * partial_size(op) * sizeof(real);

    op->dv = tape_grad(tape, op->in.v);
    op->dk = tape_grad(tape, op->in.k);
    op->dq = tape_grad(tape, op->in.q);
    op->dw_q = tape_grad(tape, op->pool_q);
    op->dw_k = tape_grad(tape, op->pool_k);
    if (walk_matrix_size(op->how, op->D) > 0)
        op->dW = tape_grad(tape, op->concat);
    op->partial = arena_take(tape->mem, bytes);
    walk_reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, backward_heads, op);
    backward_parameters(op);
    arena_give(tape->mem, op->partial, bytes);
}
