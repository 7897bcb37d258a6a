/*
 * Rows repeated n times, as for the parameters of a head that all heads share. With g = dy, where
 * y_h and g_h are the h-th of n parts:
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
    int n = (int)op->x->n, times = (int)(node->y->n / op->x->n);
    Grad dx = tape_grad(node->tape, op->x);
    const real *g = node->y->grad;

    for (int h = 0; h < times; h++, g += n)
        for (int i = 0; i < n; i++)
            dx.at[i] = (dx.add || h > 0 ? dx.at[i] : 0) + g[i];
}

Tensor *op_repeat(Tape *tape, Tensor *x, int n)
{
    Repeat *op =
        tape_node(tape, sizeof *op, repeat_backward, SHAPE(n * tensor_rows(x), tensor_cols(x)));

    op->x = x;
    for (int h = 0; h < n; h++)
        memcpy(op->node.y->data + (size_t)h * x->n, x->data, x->n * sizeof(real));
    return op->node.y;
}
