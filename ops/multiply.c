/*
 * A product element by element, with g = dy:
 *
 *     y = a * b       da += g * b       db += g * a
 */
#include "ops/ops.h"

enum { GRAIN = 1 << 13 };

typedef struct {
    Node node;
    Tensor *a, *b;
    Grad da, db;
} Multiply;

static void forward(void *ctx, int begin, int end)
{
    const Multiply *op = ctx;

    for (int i = begin; i < end; i++)
        op->node.y->data[i] = op->a->data[i] * op->b->data[i];
}

static void backward(void *ctx, int begin, int end)
{
    const Multiply *op = ctx;
    const Grad da = op->da, db = op->db;
    const real *g = op->node.y->grad;

    for (int i = begin; i < end; i++) {
        const real a = op->a->data[i], b = op->b->data[i];

        da.at[i] = (da.add ? da.at[i] : 0) + g[i] * b;
        db.at[i] = (db.add ? db.at[i] : 0) + g[i] * a;
    }
}

static void multiply_backward(Node *node)
{
    Multiply *op = (Multiply *)node;

    op->da = tape_grad(node->tape, op->a); /* in the order in which they are written */
    op->db = tape_grad(node->tape, op->b);
    pool_for(node->tape->pool, (int)op->a->n, GRAIN, backward, op);
}

Tensor *op_multiply(Tape *tape, Tensor *a, Tensor *b)
{
    Multiply *op = tape_node(tape, sizeof *op, multiply_backward, a->ndim, a->dim);

    op->a = a, op->b = b;
    pool_for(tape->pool, (int)a->n, GRAIN, forward, op);
    return op->node.y;
}
