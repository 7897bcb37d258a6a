/*
 * Rows times numbers: row i of x (R, C) times s_(i mod n), one of n numbers. They may be one for
 * each row (n = R), or, where rows are those of positions and heads, one for each head (n = H).
 * With g = dy,
 *
 *     y_i = s_(i mod n) x_i       dx_i += s_(i mod n) g_i
 *     ds_j += sum over the rows i with i mod n = j, in their order, of g_i.x_i
 */
#include "ops/base/error.h"
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

enum { GRAIN = 64 };

typedef struct {
    Node node;
    Tensor *x, *s;
    int C;
    real *dot; /* g_i.x_i of each row */
} ScaleRows;

static real number_of(const ScaleRows *op, int i)
{
    return op->s->data[(size_t)i % op->s->n];
}

static void forward(void *ctx, int begin, int end)
{
    const ScaleRows *op = ctx;

    for (int i = begin; i < end; i++) {
        const real s = number_of(op, i), *x = op->x->data + (size_t)i * (size_t)op->C;
        real *y = op->node.y->data + (size_t)i * (size_t)op->C;

        for (int c = 0; c < op->C; c++)
            y[c] = s * x[c];
    }
}

/* dx, in place of g, which is not needed again. */
static void backward(void *ctx, int begin, int end)
{
    const ScaleRows *op = ctx;

    for (int i = begin; i < end; i++) {
        const real s = number_of(op, i);
        real *g = op->node.y->grad + (size_t)i * (size_t)op->C;

        op->dot[i] = row_dot(g, op->x->data + (size_t)i * (size_t)op->C, op->C);
        for (int c = 0; c < op->C; c++)
            g[c] *= s;
    }
}

static void scale_rows_backward(Node *node)
{
    ScaleRows *op = (ScaleRows *)node;
    Tape *tape = node->tape;
    const size_t rows = (size_t)tensor_rows(op->x), n = op->s->n;

    op->dot = arena_take(tape->mem, rows * sizeof(real));
    pool_for(tape->pool, (int)rows, GRAIN, backward, op);
    const Grad ds = tape_grad(tape, op->s);
    for (size_t i = 0; i < rows; i++)
        ds.at[i % n] = (ds.add || i >= n ? ds.at[i % n] : 0) + op->dot[i];
    arena_give(tape->mem, op->dot, rows * sizeof(real));
    tape_grad_pass(tape, node->y, op->x);
}

Tensor *op_scale_rows(Tape *tape, Tensor *x, Tensor *s)
{
    ScaleRows *op = tape_node(tape, sizeof *op, scale_rows_backward, x->ndim, x->dim);

    op->x = x, op->s = s, op->C = tensor_cols(x);
    if ((size_t)tensor_rows(x) % s->n != 0)
        BUG("scale_rows: %zu numbers for %d rows", s->n, tensor_rows(x));
    pool_for(tape->pool, tensor_rows(x), GRAIN, forward, op);
    return op->node.y;
}
