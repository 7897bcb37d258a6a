/*
 * The average of the first n_b positions of each sequence b, with weights that a learned query w
 * (C) gives them; the others are padding.
 *
 *     s_bt = w.x_bt / sqrt(C)
 *     a_bt = e^s_bt / sum over u < n_b of e^s_bu
 *     y_b  = sum over t < n_b of a_bt x_bt
 *
 * Backward, with g = dy. Of the weights, dL/da_bt = g_b.x_bt, and da_bt / ds_bu = a_bt ([t = u] -
 * a_bu), so
 *
 *     ds_bt  = a_bt (g_b.x_bt - sum over u of a_bu g_b.x_bu) = a_bt (g_b.x_bt - g_b.y_b)
 *     dx_bt += a_bt g_b + ds_bt w / sqrt(C) for t < n_b
 *     dw    += sum over b and t < n_b of ds_bt x_bt / sqrt(C)
 *
 * The average of an empty sequence is 0. It is Fastformer's pool (ops/attention/engine/pooling.c)
 * of a whole sequence; with w = 0 it is the mean.
 */
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

#include <string.h>

typedef struct {
    Node node;
    Tensor *x, *w;
    const int *length;
    int T, C;
    real *a, *dw; /* (B, T); the part of each sequence, (B, C) */
    Grad dx;
} Average;

static int positions(const Average *op, int b)
{
    return op->length && op->length[b] < op->T ? op->length[b] : op->T;
}

static void average_sequences(void *ctx, int begin, int end)
{
    const Average *op = ctx;
    const int C = op->C;
    const real scale = 1 / sqrt(R(C));

    for (int b = begin; b < end; b++) {
        const int n = positions(op, b);
        const real *x = op->x->data + (size_t)b * (size_t)op->T * (size_t)C;
        real *y = op->node.y->data + (size_t)b * (size_t)C, *a = op->a + (size_t)b * (size_t)op->T;

        memset(y, 0, (size_t)C * sizeof *y);
        for (int t = 0; t < n; t++)
            a[t] = scale * row_dot(op->w->data, x + (size_t)t * (size_t)C, C);
        const real by = n > 0 ? 1 / row_exp(a, n, row_max(a, n, a[0])) : 0;
        for (int t = 0; t < n; t++, x += C) {
            a[t] *= by;
            for (int c = 0; c < C; c++)
                y[c] += a[t] * x[c];
        }
    }
}

/* The gradients of one position, whose number is `at`, from those of its average g. */
static void backward_position(const Average *op, size_t at, real a, real ds, const real *g,
                              real *restrict dw)
{
    const real *restrict x = op->x->data + at, *restrict w = op->w->data;
    real *restrict dx = pool_scratch();

    for (int c = 0; c < op->C; c++) {
        dx[c] = a * g[c] + ds * w[c];
        dw[c] += ds * x[c];
    }
    grad_add(op->dx, at, dx, op->C);
}

static void backward_sequences(void *ctx, int begin, int end)
{
    const Average *op = ctx;
    const int C = op->C;
    const real scale = 1 / sqrt(R(C));

    for (int b = begin; b < end; b++) {
        const int n = positions(op, b);
        const real *g = op->node.y->grad + (size_t)b * (size_t)C;
        const real *a = op->a + (size_t)b * (size_t)op->T;
        const real along = row_dot(g, op->node.y->data + (size_t)b * (size_t)C, C);
        size_t at = (size_t)b * (size_t)op->T * (size_t)C;
        real *dw = op->dw + (size_t)b * (size_t)C;

        memset(dw, 0, (size_t)C * sizeof *dw);
        for (int t = 0; t < n; t++, at += (size_t)C) {
            const real ds = a[t] * (row_dot(g, op->x->data + at, C) - along);

            backward_position(op, at, a[t], scale * ds, g, dw);
        }
        if (!op->dx.add)
            memset(op->dx.at + at, 0, (size_t)(op->T - n) * (size_t)C * sizeof(real));
    }
}

static void average_backward(Node *node)
{
    Average *op = (Average *)node;
    Tape *tape = node->tape;
    const int B = node->y->dim[0], C = op->C;
    const size_t bytes = (size_t)B * (size_t)C * sizeof(real);

    op->dw = arena_take(tape->mem, bytes);
    op->dx = tape_grad(tape, op->x);
    pool_reserve(tape->pool, (size_t)C * sizeof(real));
    pool_for(tape->pool, B, 1, backward_sequences, op);
    const Grad dw = tape_grad(tape, op->w);
    for (int b = 0; b < B; b++)
        for (int c = 0; c < C; c++)
            dw.at[c] = (dw.add || b > 0 ? dw.at[c] : 0) + op->dw[b * C + c];
    arena_give(tape->mem, op->dw, bytes);
}

Tensor *op_average(Tape *tape, Tensor *x, Tensor *w, const int *length)
{
    const int B = x->dim[0], C = tensor_cols(x);
    Average *op = tape_node(tape, sizeof *op, average_backward, SHAPE(B, C));

    op->x = x, op->w = w;
    op->length = length;
    op->T = x->dim[1], op->C = C;
    op->a = tape_keep(&op->node, (size_t)B * (size_t)op->T * sizeof(real));
    pool_for(tape->pool, B, 1, average_sequences, op);
    return op->node.y;
}
