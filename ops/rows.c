/*
 * Gathers the rows that have a target, so that the head multiplies no others, and scatters them
 * back. For n rows i_0 < i_1 < ..,
 *
 *     pick     y_k = x_(i_k)                                  dx_(i_k) += g_k
 *     place    y_(i_k) = x_k, and the other rows are 0        dx_k     += g_(i_k)
 *
 * so each is the other's backward pass.
 */
#include "ops/ops.h"

#include <string.h>

typedef struct {
    Node node;
    Tensor *x;
    const int *at;
    int n;
} Some;

static real *row(real *of, int i, int C)
{
    return of + (size_t)i * (size_t)C;
}

static void pick_backward(Node *node)
{
    const Some *op = (Some *)node;
    const int C = tensor_cols(op->x);
    real *dx = tape_grad_zeroed(node->tape, op->x);

    for (int k = 0; k < op->n; k++)
        for (int c = 0; c < C; c++)
            row(dx, op->at[k], C)[c] += row(node->y->grad, k, C)[c];
}

Tensor *op_pick(Tape *tape, Tensor *x, const int *at, int n)
{
    const int C = tensor_cols(x);
    Some *op = tape_node(tape, sizeof *op, pick_backward, SHAPE(n, C));

    op->x = x, op->at = at, op->n = n;
    for (int k = 0; k < n; k++)
        memcpy(row(op->node.y->data, k, C), row(x->data, at[k], C), (size_t)C * sizeof(real));
    return op->node.y;
}

static void place_backward(Node *node)
{
    const Some *op = (Some *)node;
    const int C = tensor_cols(op->x);
    const Grad dx = tape_grad(node->tape, op->x);

    for (int k = 0; k < op->n; k++)
        grad_add(dx, (size_t)k * (size_t)C, row(node->y->grad, op->at[k], C), C);
}

Tensor *op_place(Tape *tape, Tensor *x, const int *at, int rows)
{
    const int C = tensor_cols(x);
    Some *op = tape_node(tape, sizeof *op, place_backward, SHAPE(rows, C));

    op->x = x, op->at = at, op->n = tensor_rows(x);
    memset(op->node.y->data, 0, op->node.y->n * sizeof(real));
    for (int k = 0; k < op->n; k++)
        memcpy(row(op->node.y->data, at[k], C), row(x->data, k, C), (size_t)C * sizeof(real));
    return op->node.y;
}
