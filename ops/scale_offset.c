/*
 * A gain and an offset for each of C columns, by which the gated attention unit derives
 * q and k from one z (Hua et al., 2022, arXiv:2202.10447).
 *
 *     y = gamma x + beta
 *
 * Backward, with g = dy:
 *
 *     dx     += gamma g
 *     dgamma += sum over rows of g x
 *     dbeta  += sum over rows of g
 *
 * The rows are summed in blocks of ROWS, and the blocks in order.
 */
#include "ops/ops.h"

#include <string.h>

enum { ROWS = 32 };

typedef struct {
    Node node;
    Tensor *x, *gamma, *beta;
    int rows, C;
    Grad dx;
    real *partial; /* of each block: dgamma (C), dbeta (C) */
} ScaleOffset;

static void scale_rows(void *ctx, int begin, int end)
{
    const ScaleOffset *op = ctx;
    const real *restrict gamma = op->gamma->data, *restrict beta = op->beta->data;
    int C = op->C;

    for (int i = begin; i < end; i++) {
        const real *restrict x = op->x->data + (size_t)i * (size_t)C;
        real *restrict y = op->node.y->data + (size_t)i * (size_t)C;

        for (int c = 0; c < C; c++)
            y[c] = gamma[c] * x[c] + beta[c];
    }
}

static void backward_row(const ScaleOffset *op, int i, real *restrict dgamma, real *restrict dbeta)
{
    size_t at = (size_t)i * (size_t)op->C;
    const real *restrict x = op->x->data + at, *restrict g = op->node.y->grad + at;
    const real *restrict gamma = op->gamma->data;
    real *restrict dx = pool_scratch();

    for (int c = 0; c < op->C; c++) {
        dx[c] = gamma[c] * g[c];
        dgamma[c] += g[c] * x[c];
        dbeta[c] += g[c];
    }
    grad_add(op->dx, at, dx, op->C);
}

static void backward_rows(void *ctx, int begin, int end)
{
    const ScaleOffset *op = ctx;

    for (int block = begin; block < end; block++) {
        real *dgamma = op->partial + (size_t)block * 2 * (size_t)op->C;
        int last = (block + 1) * ROWS < op->rows ? (block + 1) * ROWS : op->rows;

        memset(dgamma, 0, 2 * (size_t)op->C * sizeof(real));
        for (int i = block * ROWS; i < last; i++)
            backward_row(op, i, dgamma, dgamma + op->C);
    }
}

static void sum_partial(Grad to, const real *partial, int blocks, int C)
{
    for (int block = 0; block < blocks; block++, partial += 2 * C)
        for (int c = 0; c < C; c++)
            to.at[c] = (to.add || block > 0 ? to.at[c] : 0) + partial[c];
}

static void scale_offset_backward(Node *node)
{
    ScaleOffset *op = (ScaleOffset *)node;
    Tape *tape = node->tape;
    int blocks = (op->rows + ROWS - 1) / ROWS;
    size_t bytes = (size_t)blocks * 2 * (size_t)op->C * sizeof(real);

    op->partial = arena_take(tape->mem, bytes);
    op->dx = tape_grad(tape, op->x);
    pool_reserve(tape->pool, (size_t)op->C * sizeof(real));
    pool_for(tape->pool, blocks, 1, backward_rows, op);
    sum_partial(tape_grad(tape, op->gamma), op->partial, blocks, op->C);
    sum_partial(tape_grad(tape, op->beta), op->partial + op->C, blocks, op->C);
    arena_give(tape->mem, op->partial, bytes);
}

Tensor *op_scale_offset(Tape *tape, Tensor *x, Tensor *gamma, Tensor *beta)
{
    ScaleOffset *op = tape_node(tape, sizeof *op, scale_offset_backward, x->ndim, x->dim);

    op->x = x, op->gamma = gamma, op->beta = beta;
    op->rows = tensor_rows(x), op->C = tensor_cols(x);
    pool_for(tape->pool, op->rows, ROWS, scale_rows, op);
    return op->node.y;
}
