/*
 * One row repeated n times, as for a pooling vector shared by all heads. With g = dy:
 *
 *     y_h = x                 dx += sum over h of g_h, in order of h
 */
#include "ops/ops.h"

#include <string.h>

typedef struct {
    Node node;
    Tensor *x;
} Repeat;

static void repeat_backward(Node *node)
{
    Repeat *op = (Repeat *)node;
    int C = tensor_cols(op->x), rows = tensor_rows(node->y);
    Grad dx = tape_grad(node->tape, op->x);
    const real *g = node->y->grad;

    for (int h = 0; h < rows; h++, g += C)
        for (int c = 0; c < C; c++)
            dx.at[c] = (dx.add || h > 0 ? dx.at[c] : 0) + g[c];
}

Tensor *op_repeat(Tape *tape, Tensor *x, int n)
{
    int C = tensor_cols(x);
    Repeat *op = tape_node(tape, sizeof *op, repeat_backward, SHAPE(n, C));

    op->x = x;
    for (int h = 0; h < n; h++)
        memcpy(op->node.y->data + (size_t)h * (size_t)C, x->data, x->n * sizeof(real));
    return op->node.y;
}
