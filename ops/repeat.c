/*
 * Rows repeated n times, as for what all heads share: all rows of x at once (the parameters of a
 * head), or each for itself (the keys of positions). With g = dy, where x is cut into blocks x_i of
 * rows, and y into blocks of the same size:
 *
 *     y_(i n + h) = x_i       dx_i += sum over h < n of g_(i n + h), in order of h
 */
#include "ops/ops.h"

#include "ops/base/error.h"

#include <string.h>

enum { GRAIN = 32 };

typedef struct {
    Node node;
    Tensor *x;
    int n, size, blocks; /* size: numbers of a block */
    Grad dx;
} Repeat;

static void forward(void *ctx, int begin, int end)
{
    const Repeat *op = ctx;
    const size_t size = (size_t)op->size;

    for (int i = begin; i < end; i++) {
        real *y = op->node.y->data + (size_t)i * (size_t)op->n * size;

        for (int h = 0; h < op->n; h++, y += size)
            memcpy(y, op->x->data + (size_t)i * size, size * sizeof *y);
    }
}

static void backward(void *ctx, int begin, int end)
{
    const Repeat *op = ctx;
    const size_t size = (size_t)op->size;

    for (int i = begin; i < end; i++) {
        const real *g = op->node.y->grad + (size_t)i * (size_t)op->n * size;
        Grad dx = op->dx;

        for (int h = 0; h < op->n; h++, g += size, dx.add = true)
            grad_add(dx, (size_t)i * size, g, op->size);
    }
}

static void repeat_backward(Node *node)
{
    Repeat *op = (Repeat *)node;

    op->dx = tape_grad(node->tape, op->x);
    pool_for(node->tape->pool, op->blocks, GRAIN, backward, op);
}

Tensor *op_repeat(Tape *tape, Tensor *x, int rows, int n)
{
    const int all = tensor_rows(x), C = tensor_cols(x);
    Repeat *op = tape_node(tape, sizeof *op, repeat_backward, SHAPE(n * all, C));

    if (all % rows != 0)
        BUG("repeat: %d rows are no blocks of %d", all, rows);
    op->x = x, op->n = n, op->size = rows * C, op->blocks = all / rows;
    pool_for(tape->pool, op->blocks, GRAIN, forward, op);
    return op->node.y;
}
