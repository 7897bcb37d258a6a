/*
 * The mean of the first n_b positions of each sequence b; the others are padding.
 *
 *     y_b = 1/n_b sum over t < n_b of x_bt
 *
 * Backward, with g = dy:
 *
 *     dx_bt += g_b / n_b for t < n_b
 *
 * The mean of an empty sequence is 0.
 */
#include "ops/ops.h"

typedef struct {
    Node node;
    Tensor *x;
    const int *length;
    int T, C;
    Grad dx;
} Mean;

static int positions(const Mean *op, int b)
{
    return op->length && op->length[b] < op->T ? op->length[b] : op->T;
}

static void mean_sequences(void *ctx, int begin, int end)
{
    const Mean *op = ctx;

    for (int b = begin; b < end; b++) {
        int n = positions(op, b), C = op->C;
        const real *x = op->x->data + (size_t)b * (size_t)op->T * (size_t)C;
        real *y = op->node.y->data + (size_t)b * (size_t)C, by = n > 0 ? R(1.0 / n) : 0;

        for (int c = 0; c < C; c++)
            y[c] = 0;
        for (int t = 0; t < n; t++, x += C)
            for (int c = 0; c < C; c++)
                y[c] += x[c];
        for (int c = 0; c < C; c++)
            y[c] *= by;
    }
}

static void backward_sequences(void *ctx, int begin, int end)
{
    const Mean *op = ctx;

    for (int b = begin; b < end; b++) {
        int n = positions(op, b), C = op->C;
        size_t at = (size_t)b * (size_t)op->T * (size_t)C;
        const real *g = op->node.y->grad + (size_t)b * (size_t)C;
        real by = n > 0 ? R(1.0 / n) : 0;

        for (int t = 0; t < op->T; t++, at += (size_t)C)
            for (int c = 0; c < C; c++)
                op->dx.at[at + (size_t)c] =
                    (op->dx.add ? op->dx.at[at + (size_t)c] : 0) + (t < n ? by * g[c] : 0);
    }
}

static void mean_backward(Node *node)
{
    Mean *op = (Mean *)node;

    op->dx = tape_grad(node->tape, op->x);
    pool_for(node->tape->pool, node->y->dim[0], 1, backward_sequences, op);
}

Tensor *op_mean(Tape *tape, Tensor *x, const int *length)
{
    Mean *op = tape_node(tape, sizeof *op, mean_backward, SHAPE(x->dim[0], tensor_cols(x)));

    op->x = x;
    op->length = length;
    op->T = x->dim[1];
    op->C = tensor_cols(x);
    pool_for(tape->pool, x->dim[0], 1, mean_sequences, op);
    return op->node.y;
}
