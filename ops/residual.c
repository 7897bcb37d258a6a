/*
 * Sum and dropout, with g = dy:
 *
 *     y = a + b                       da += g            db += g
 *     y = x m / (1 - p)               dx += g m / (1 - p)
 *
 * where m is 1 with probability 1 - p and 0 otherwise. The backward pass draws the same m again
 * from the same counter, so no mask is stored.
 */
#include "ops/ops.h"

enum { GRAIN = 1 << 13 };

typedef struct {
    Node node;
    Tensor *a, *b;
    Grad db;
} Add;

static void add_forward(void *ctx, int begin, int end)
{
    const Add *op = ctx;

    for (int i = begin; i < end; i++)
        op->node.y->data[i] = op->a->data[i] + op->b->data[i];
}

static void add_backward_range(void *ctx, int begin, int end)
{
    const Add *op = ctx;

    grad_add(op->db, (size_t)begin, op->node.y->grad + begin, end - begin);
}

static void add_backward(Node *node)
{
    Add *op = (Add *)node;

    op->db = tape_grad(node->tape, op->b);
    pool_for(node->tape->pool, (int)op->b->n, GRAIN, add_backward_range, op);
    tape_grad_pass(node->tape, node->y, op->a);
}

Tensor *op_add(Tape *tape, Tensor *a, Tensor *b)
{
    Add *op = tape_node(tape, sizeof *op, add_backward, a->ndim, a->dim);

    op->a = a, op->b = b;
    if (!op->node.known)
        pool_for(tape->pool, (int)a->n, GRAIN, add_forward, op);
    return op->node.y;
}

typedef struct {
    Node node;
    Tensor *x;
    Random random;
    uint64_t threshold; /* a draw below it drops */
    real keep;          /* 1 / (1 - p) */
} Dropout;

static real mask(const Dropout *op, int i)
{
    return (random_bits(op->random, (uint64_t)i) >> 11) < op->threshold ? 0 : op->keep;
}

static void dropout_forward(void *ctx, int begin, int end)
{
    const Dropout *op = ctx;

    for (int i = begin; i < end; i++)
        op->node.y->data[i] = op->x->data[i] * mask(op, i);
}

static void dropout_backward_range(void *ctx, int begin, int end)
{
    const Dropout *op = ctx;

    for (int i = begin; i < end; i++)
        op->node.y->grad[i] *= mask(op, i);
}

static void dropout_backward(Node *node)
{
    Dropout *op = (Dropout *)node;

    pool_for(node->tape->pool, (int)op->x->n, GRAIN, dropout_backward_range, op);
    tape_grad_pass(node->tape, node->y, op->x);
}

Tensor *op_dropout(Tape *tape, Tensor *x, double p, Random random)
{
    Dropout *op = tape_node(tape, sizeof *op, dropout_backward, x->ndim, x->dim);

    op->x = x, op->random = random;
    op->threshold = (uint64_t)(p * 0x1p53);
    op->keep = R(1 / (1 - p));
    pool_for(tape->pool, (int)x->n, GRAIN, dropout_forward, op);
    return op->node.y;
}
