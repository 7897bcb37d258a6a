/*
 * Features for comparing two vectors: rows 2b and 2b + 1 of x, called u and v here, become one row
 * (Conneau et al., 2017, arXiv:1705.02364, as in the Long Range Arena's retrieval task).
 *
 *     y = [u; v; u * v; u - v]
 *
 * Backward, where p, q, r, s are the four parts of dy:
 *
 *     du += p + v * r + s
 *     dv += q + u * r - s
 */
#include "ops/ops.h"

typedef struct {
    Node node;
    Tensor *x;
} Pair;

static void pair_backward(Node *node)
{
    Pair *op = (Pair *)node;
    const Grad dx = tape_grad(node->tape, op->x);
    const int C = tensor_cols(op->x);

    for (int b = 0; b < node->y->dim[0]; b++) {
        const size_t at = 2 * (size_t)b * (size_t)C;
        const real *u = op->x->data + at, *v = u + C, *p = node->y->grad + 2 * at;
        const real *q = p + C, *r = q + C, *s = r + C;
        real *du = dx.at + at, *dv = du + C;

        for (int c = 0; c < C; c++) {
            du[c] = (dx.add ? du[c] : 0) + p[c] + v[c] * r[c] + s[c];
            dv[c] = (dx.add ? dv[c] : 0) + q[c] + u[c] * r[c] - s[c];
        }
    }
}

Tensor *op_pair(Tape *tape, Tensor *x)
{
    const int B = tensor_rows(x) / 2, C = tensor_cols(x);
    Pair *op = tape_node(tape, sizeof *op, pair_backward, SHAPE(B, 4 * C));

    op->x = x;
    for (int b = 0; b < B; b++) {
        const real *u = x->data + 2 * (size_t)b * (size_t)C, *v = u + C;
        real *y = op->node.y->data + 4 * (size_t)b * (size_t)C;

        for (int c = 0; c < C; c++) {
            y[c] = u[c], y[C + c] = v[c];
            y[2 * C + c] = u[c] * v[c], y[3 * C + c] = u[c] - v[c];
        }
    }
    return op->node.y;
}
