/*
 * Softmax and cross-entropy in one: for a row x of V numbers and its target c,
 *
 *     y = -log(e^(x_c) / sum over j of e^(x_j))
 *       = log s - (x_c - m),    s = sum over j of e^(x_j - m),    m = max x_j
 *
 * m keeps the exponentials in range and cancels, so it is treated as a constant. Only m and s are
 * stored. Backward, with g = dy and p_j = e^(x_j - m) / s, the probability of j:
 *
 *     d(log s)/dx_j = 1/s ds/dx_j = p_j
 *     dx_j += g (p_j - [j = c])
 *
 * The probabilities of a row are recomputed for its gradient. x has no other reader, so dx is
 * written over x.
 */
#include "ops/base/error.h"
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

enum { ROWS = 8 };

typedef struct {
    Node node;
    Tensor *x;
    const int *target;
    real *m, *s; /* (rows) */
    int V;
    Grad dx;
} CrossEntropy;

static void loss_rows(void *ctx, int begin, int end)
{
    CrossEntropy *op = ctx;
    real *e = pool_scratch();

    for (int i = begin; i < end; i++) {
        const real *x = op->x->data + (size_t)i * (size_t)op->V;
        int c = op->target[i];

        op->node.y->data[i] = 0;
        if (c < 0)
            continue;
        memcpy(e, x, (size_t)op->V * sizeof(real));
        op->m[i] = row_max(x, op->V, -R(HUGE_VAL));
        op->s[i] = row_exp(e, op->V, op->m[i]);
        op->node.y->data[i] = log(op->s[i]) - (x[c] - op->m[i]);
    }
}

static void backward_rows(void *ctx, int begin, int end)
{
    CrossEntropy *op = ctx;
    int V = op->V;
    real *restrict dx = pool_scratch();

    for (int i = begin; i < end; i++) {
        const real *restrict x = op->x->data + (size_t)i * (size_t)V;
        real g = op->node.y->grad[i], m = op->m[i], scale = g / op->s[i];

        if (op->target[i] < 0) {
            memset(dx, 0, (size_t)V * sizeof(real));
        } else {
            for (int j = 0; j < V; j++)
                dx[j] = scale * exp_real(x[j] - m);
            dx[op->target[i]] -= g;
        }
        grad_add(op->dx, (size_t)i * (size_t)V, dx, V);
    }
}

static void cross_entropy_backward(Node *node)
{
    CrossEntropy *op = (CrossEntropy *)node;

    op->dx = tape_grad_over(node->tape, op->x);
    pool_reserve(node->tape->pool, (size_t)op->V * sizeof(real));
    pool_for(node->tape->pool, tensor_rows(op->x), ROWS, backward_rows, op);
}

Tensor *op_cross_entropy(Tape *tape, Tensor *x, const int *target)
{
    int rows = tensor_rows(x), V = tensor_cols(x);
    CrossEntropy *op = tape_node(tape, sizeof *op, cross_entropy_backward, SHAPE(rows));

    for (int i = 0; i < rows; i++)
        if (target[i] < -1 || target[i] >= V)
            BUG("cross entropy: target %d is not below %d", target[i], V);
    op->x = x, op->target = target, op->V = V;
    op->m = arena_zeros(tape->mem, (size_t)rows * sizeof(real));
    op->s = arena_zeros(tape->mem, (size_t)rows * sizeof(real));
    pool_reserve(tape->pool, (size_t)V * sizeof(real));
    pool_for(tape->pool, rows, ROWS, loss_rows, op);
    return op->node.y;
}
