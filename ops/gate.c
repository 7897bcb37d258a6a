/*
 * Numbers that control a mechanism, such as the rate at which a state fades, from the output of a
 * dense layer:
 *
 *     y_ic = s_c f(x_ic)       s_c = by, or -by e^(A_c) with a learned A
 *
 * (Mamba: Gu and Dao, 2023, arXiv:2312.00752; e^A keeps its sign whatever A is). Backward, with
 * g = dy; s_c is its own derivative:
 *
 *     dx_ic += s_c g_ic f'(x_ic)
 *     dA_c  += sum over i of g_ic y_ic
 *
 * The rows are summed in blocks of ROWS, and the blocks in order.
 */
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

#include <string.h>

#ifdef PROOF
enum { ROWS = 3 };
#else
enum { ROWS = 64 };
#endif

typedef struct {
    Node node;
    Gate in;
    int rows, C;
    real *dA; /* of each block, (C) */
} Gating;

static real scale(const Gating *op, int c)
{
    return R(op->in.by) * (op->in.A ? -exp_real(op->in.A->data[c]) : 1);
}

static int end_of(const Gating *op, int block)
{
    return (block + 1) * ROWS < op->rows ? (block + 1) * ROWS : op->rows;
}

static void multiply_rows(real *restrict x, const real *restrict s, int rows, int C)
{
    for (int i = 0; i < rows; i++, x += C)
        for (int c = 0; c < C; c++)
            x[c] *= s[c];
}

/* s (C), in a thread's scratch. */
static real *scales(const Gating *op)
{
    real *s = pool_scratch();

    for (int c = 0; c < op->C; c++)
        s[c] = scale(op, c);
    return s;
}

static void forward_blocks(void *ctx, int begin, int end)
{
    const Gating *op = ctx;
    const real *s = scales(op);

    for (int block = begin; block < end; block++) {
        const int rows = end_of(op, block) - block * ROWS, n = rows * op->C;
        const size_t at = (size_t)block * ROWS * (size_t)op->C;
        real *y = op->node.y->data + at;

        memcpy(y, op->in.x->data + at, (size_t)n * sizeof *y);
        if (op->in.f)
            op->in.f->apply(y, n);
        multiply_rows(y, s, rows, op->C);
    }
}

/* dx, in place of g, which is not needed again. */
static void backward_blocks(void *ctx, int begin, int end)
{
    const Gating *op = ctx;
    const real *s = scales(op);

    for (int block = begin; block < end; block++) {
        const int rows = end_of(op, block) - block * ROWS, n = rows * op->C;
        const size_t at = (size_t)block * ROWS * (size_t)op->C;
        const real *y = op->node.y->data + at;
        real *g = op->node.y->grad + at;

        for (int c = 0; op->in.A && c < op->C; c++) {
            real sum = 0;

            for (int i = c; i < n; i += op->C)
                sum += g[i] * y[i];
            op->dA[(size_t)block * (size_t)op->C + (size_t)c] = sum;
        }
        multiply_rows(g, s, rows, op->C);
        if (op->in.f)
            op->in.f->chain(g, op->in.x->data + at, n);
    }
}

static void gate_backward(Node *node)
{
    Gating *op = (Gating *)node;
    Tape *tape = node->tape;
    const int blocks = (op->rows + ROWS - 1) / ROWS, C = op->C;
    const size_t bytes = (size_t)blocks * (size_t)C * sizeof(real);

    op->dA = op->in.A ? arena_take(tape->mem, bytes) : NULL;
    pool_reserve(tape->pool, (size_t)C * sizeof(real));
    pool_for(tape->pool, blocks, 1, backward_blocks, op);
    if (op->in.A) {
        const Grad dA = tape_grad(tape, op->in.A);

        for (int block = 0; block < blocks; block++)
            for (int c = 0; c < C; c++)
                dA.at[c] = (dA.add || block > 0 ? dA.at[c] : 0) + op->dA[block * C + c];
        arena_give(tape->mem, op->dA, bytes);
    }
    tape_grad_pass(tape, node->y, op->in.x);
}

Tensor *op_gate(Tape *tape, Gate operands)
{
    Tensor *x = operands.x;
    Gating *op = tape_node(tape, sizeof *op, gate_backward, x->ndim, x->dim);

    op->in = operands;
    op->rows = tensor_rows(x), op->C = tensor_cols(x);
    pool_reserve(tape->pool, (size_t)op->C * sizeof(real));
    pool_for(tape->pool, (op->rows + ROWS - 1) / ROWS, 1, forward_blocks, op);
    return op->node.y;
}
