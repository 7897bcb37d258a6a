/* The backward pass; the derivation is at the head of fastformer.c. */
#include "ops/attention/engine/walk.h"

#include <string.h>

/* The rows of a = W [y; x], and where their gradients go. */
typedef struct {
    Rows y, x, da, dy, dx;
} Joined;

/* Computes dy and dx, and adds the first n rows to dW. */
static void join_back(Halves *of, Joined j, int D, int n)
{
    rows_multiply(j.dy, j.da, D, of->W[0], false);
    rows_multiply(j.dx, j.da, D, of->W[1], false);
    rows_multiply_over(of->dW[0], D, j.da, j.y, n);
    rows_multiply_over(of->dW[1], D, j.da, j.x, n);
}

static void meet_back_concat(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    Rows h = { x->h.rows, x->h.ld, t0, TILE };

    head_gather(&x->head, walk_part(x->u, t0, TILE), op->node.y->grad, op->D);
    head_gather(&x->head, walk_part(x->v, t0, TILE), op->in.v->data, op->D);
    join_back(&x->of[1], (Joined){ h, x->v, x->u, x->d, x->dk }, op->D, walk_rows_from(x, t0));
    head_scatter(&x->head, op->dv, walk_part(x->dk, t0, TILE), op->D);
}

static void meet_back_rows(Walk *x, int t0)
{
    const Fastformer *op = x->op;
    int rows = walk_rows_from(x, t0);
    bool mul = op->how[1] == MUL;

    for (int r = 0; r < rows; r++) {
        size_t at = head_place(&x->head, t0 + r, op->D);
        const real *restrict du = op->node.y->grad + at, *restrict v = op->in.v->data + at;
        const real *restrict h = row_of(x->h.rows, r, x->h.ld);
        real *restrict dh = row_of(x->d.at, r, x->d.ld), *restrict dv = x->dk.at;

        head_ask(&x->head, t0 + r, op->node.y->grad, op->D);
        head_ask(&x->head, t0 + r, op->in.v->data, op->D);
        for (int d = 0; d < op->D; d++) {
            dh[d] = mul ? du[d] * v[d] : du[d];
            dv[d] = mul ? du[d] * h[d] : du[d];
        }
        grad_add(op->dv, at, dv, op->D);
    }
}

/* Computes dv and dh of the chunk. */
static void meet_back(Walk *x, int t0)
{
    if (x->op->how[1] == CONCAT)
        meet_back_concat(x, t0);
    else
        meet_back_rows(x, t0);
    if (!x->op->in.causal)
        pooling_back(&x->h, walk_part(x->d, t0, walk_rows_from(x, t0)), (Rows){ 0 });
}

/* From dp of the chunk computes dg, overwriting p, and dk, and adds to dW. */
static void interact_back(Walk *x, int t0)
{
    const Interaction how = x->op->how[0];
    Rows g = { x->g.rows, x->g.ld, t0, TILE }, k = walk_keys_at(x, t0, x->op->in.k);
    bool mul = how == MUL;
    int D = x->op->D;

    if (how == CONCAT) {
        join_back(&x->of[0], (Joined){ g, x->k, x->d, x->p, x->dk }, D, k.n);
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
    const size_t matrices = !!op->matrix[0] + !!op->matrix[1];

    return 2 * (size_t)op->D + matrices * walk_matrix_size(op->D);
}

/* Copies the gradients of the head's W and W', if it has them. */
static void leave_matrices(const Walk *x, real *to)
{
    const int D = x->op->D;

    for (int m = 0; m < 2; m++)
        for (int i = 0; x->op->matrix[m] && i < 2 * D; i++, to += D)
            memcpy(to, row_of(x->of[m].dW[i % 2], i / 2, x->k.ld), (size_t)D * sizeof(real));
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
    leave_matrices(&x, x.h.dw + D);
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
    int D = op->D, matrix = (int)walk_matrix_size(D);
    const real *d = op->partial;

    for (int number = 0; number < op->B * op->H; number++, d += partial_size(op)) {
        Grad to[] = { op->dw_q, op->dw_k, op->dW[0], op->dW[1] };
        const real *from = d;

        for (int i = 0; i < 4; i++) {
            const int n = i < 2 ? D : op->matrix[i - 2] ? matrix : 0;

            to[i].add |= number >= op->H;
            if (n > 0)
                grad_add(to[i], (size_t)(number % op->H) * (size_t)n, from, n);
            from += n;
        }
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
    for (int i = 0; i < 2; i++)
        if (op->matrix[i])
            op->dW[i] = tape_grad(tape, op->matrix[i]);
    op->partial = arena_take(tape->mem, bytes);
    walk_reserve(op);
    pool_for(tape->pool, op->B * op->H, 1, backward_heads, op);
    backward_parameters(op);
    arena_give(tape->mem, op->partial, bytes);
}
