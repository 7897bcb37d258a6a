/*
 * A cap of logits (Gemma 2: arXiv:2408.00118), which keeps them between -c and c:
 *
 *     y = c tanh(x / c)       dx += g (1 - tanh(x / c)^2),       g = dy
 *
 * tanh(z) = 2 s(2z) - 1 with the sigmoid s. A loss may have written its gradient over y, so the
 * backward pass computes tanh from x again.
 */
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

enum { GRAIN = 1 << 13 };

typedef struct {
    Node node;
    Tensor *x;
    real c, by; /* by = 2 / c */
} Cap;

static inline real tanh_of(real by, real x) /* tanh(x / c) */
{
    return 2 * sigmoid(by * x) - 1;
}

static void forward(void *ctx, int begin, int end)
{
    const Cap *op = ctx;
    const real *x = op->x->data, c = op->c, by = op->by;
    real *y = op->node.y->data;

    for (int i = begin; i < end; i++)
        y[i] = c * tanh_of(by, x[i]);
}

/* dx, in place of g, which is not needed again. */
static void backward(void *ctx, int begin, int end)
{
    const Cap *op = ctx;
    const real *x = op->x->data, by = op->by;
    real *g = op->node.y->grad;

    for (int i = begin; i < end; i++) {
        const real t = tanh_of(by, x[i]);

        g[i] *= 1 - t * t;
    }
}

static void cap_backward(Node *node)
{
    Cap *op = (Cap *)node;

    pool_for(node->tape->pool, (int)op->x->n, GRAIN, backward, op);
    tape_grad_pass(node->tape, node->y, op->x);
}

Tensor *op_cap(Tape *tape, Tensor *x, double c)
{
    Cap *op = tape_node(tape, sizeof *op, cap_backward, x->ndim, x->dim);

    op->x = x, op->c = R(c), op->by = R(2 / c);
    pool_for(tape->pool, (int)x->n, GRAIN, forward, op);
    return op->node.y;
}
