/*
 * RMSNorm (Zhang and Sennrich, 2019) and LayerNorm (Ba et al., 2016), of rows
 * of C numbers:
 *
 *     xhat = (x - mu) r,    r = 1 / sqrt(mean (x - mu)^2 + eps)
 *     y    = gain xhat + bias
 *
 * with mu = mean x for LayerNorm, and mu = 0 and no bias for RMSNorm.
 *
 * Backward, with g = dy. The gradient of xhat is h = gain g. For columns c and l of a row, and
 * v = mean (x - mu)^2 + eps, whose derivative through mu is 0 since the x - mu sum to 0:
 *
 *     dmu/dx_l     = 1/C                                               0 for RMSNorm
 *     dv/dx_l      = 2 (x_l - mu) / C
 *     dr/dx_l      = -1/2 v^(-3/2) dv/dx_l = -r^3 (x_l - mu) / C = -r^2 xhat_l / C
 *     dxhat_c/dx_l = ([c = l] - dmu/dx_l) r + (x_c - mu) dr/dx_l
 *                  = r ([c = l] - 1/C - xhat_c xhat_l / C)             no 1/C for RMSNorm
 *
 * and the sum over c of h_c dxhat_c/dx_l is dx_l:
 *
 *     dx    += r (h - mean(h) - xhat mean(h xhat))                     no mean(h) for RMSNorm
 *     dgain += sum over rows of g xhat
 *     dbias += sum over rows of g
 *
 * Rows of length 1, x / |x|, are RMSNorm's with a sum instead of its mean: r = 1 / sqrt(|x|^2 +
 * eps) and dxhat_c/dx_l = r ([c = l] - xhat_c xhat_l), so that dx += r (h - xhat (h.xhat)).
 *
 * A gain and an offset alone, by which the gated attention unit derives q and k from one z (Hua et
 * al., 2022, arXiv:2202.10447), are the second line of a norm:
 *
 *     y = gain x + bias        dx += gain g        dgain += sum over rows of g x
 *
 * The rows are summed in blocks of ROWS, and the blocks in order.
 */
#include "ops/kernel/elementary.h"
#include "ops/ops.h"

#include <string.h>

enum { ROWS = 32 };

typedef struct Norm {
    Node node;
    Tensor *x, *gain, *bias; /* gain and bias may be NULL: 1 and 0 */
    bool centre;             /* LayerNorm */
    bool length;             /* to length 1: sums instead of means */
    double eps;
    void (*backward_row)(const struct Norm *op, int i, real *dgain, real *dbias);
    int rows, C;
    real *mean, *scale; /* (rows): mu and r */
    Grad dx;
    real *partial; /* of each block: dgain (C), dbias (C) */
} Norm;

/* What a sum over a row is divided by. */
static real shares(const Norm *op)
{
    return op->length ? 1 : R(op->C);
}

static void norm_rows(void *ctx, int begin, int end)
{
    Norm *op = ctx;
    int C = op->C;

    for (int i = begin; i < end; i++) {
        const real *x = op->x->data + (size_t)i * (size_t)C;
        const real *gain = op->gain ? op->gain->data : NULL;
        real *y = op->node.y->data + (size_t)i * (size_t)C;
        real mu = op->centre ? row_sum(x, C) / R(C) : 0;

        for (int c = 0; c < C; c++)
            y[c] = x[c] - mu;
        real r = 1 / sqrt(row_dot(y, y, C) / shares(op) + R(op->eps));
        for (int c = 0; c < C; c++)
            y[c] *= gain ? r * gain[c] : r;
        for (int c = 0; op->bias && c < C; c++)
            y[c] += op->bias->data[c];
        op->mean[i] = mu, op->scale[i] = r;
    }
}

/* Computes h and xhat of the row in the scratch memory, for the means and for dx. */
static void backward_row(const Norm *op, int i, real *restrict dgain, real *restrict dbias)
{
    int C = op->C;
    size_t at = (size_t)i * (size_t)C;
    const real *restrict x = op->x->data + at, *restrict g = op->node.y->grad + at;
    const real *restrict gain = op->gain ? op->gain->data : NULL;
    real *restrict h = pool_scratch(), *restrict xhat = h + C, mu = op->mean[i], r = op->scale[i];

    for (int c = 0; c < C; c++) {
        xhat[c] = (x[c] - mu) * r;
        h[c] = gain ? gain[c] * g[c] : g[c];
        dgain[c] += g[c] * xhat[c];
        dbias[c] += g[c];
    }
    real along = row_dot(h, xhat, C) / shares(op), shift = op->centre ? row_sum(h, C) / R(C) : 0;

    for (int c = 0; c < C; c++)
        h[c] = r * (h[c] - shift - xhat[c] * along);
    grad_add(op->dx, at, h, C);
}

static void scale_rows(void *ctx, int begin, int end)
{
    const Norm *op = ctx;
    const real *restrict gain = op->gain->data, *restrict bias = op->bias->data;
    int C = op->C;

    for (int i = begin; i < end; i++) {
        const real *restrict x = op->x->data + (size_t)i * (size_t)C;
        real *restrict y = op->node.y->data + (size_t)i * (size_t)C;

        for (int c = 0; c < C; c++)
            y[c] = gain[c] * x[c] + bias[c];
    }
}

static void scale_backward_row(const Norm *op, int i, real *restrict dgain, real *restrict doffset)
{
    size_t at = (size_t)i * (size_t)op->C;
    const real *restrict x = op->x->data + at, *restrict g = op->node.y->grad + at;
    const real *restrict gain = op->gain->data;
    real *restrict dx = pool_scratch();

    for (int c = 0; c < op->C; c++) {
        dx[c] = gain[c] * g[c];
        dgain[c] += g[c] * x[c];
        doffset[c] += g[c];
    }
    grad_add(op->dx, at, dx, op->C);
}

static void backward_rows(void *ctx, int begin, int end)
{
    Norm *op = ctx;

    for (int block = begin; block < end; block++) {
        real *dgain = op->partial + (size_t)block * 2 * (size_t)op->C;
        int last = (block + 1) * ROWS < op->rows ? (block + 1) * ROWS : op->rows;

        memset(dgain, 0, 2 * (size_t)op->C * sizeof(real));
        for (int i = block * ROWS; i < last; i++)
            op->backward_row(op, i, dgain, dgain + op->C);
    }
}

static void sum_partial(Grad to, const real *partial, int blocks, int C)
{
    for (int block = 0; block < blocks; block++, partial += 2 * C)
        for (int c = 0; c < C; c++)
            to.at[c] = (to.add || block > 0 ? to.at[c] : 0) + partial[c];
}

static void norm_backward(Node *node)
{
    Norm *op = (Norm *)node;
    Tape *tape = node->tape;
    int blocks = (op->rows + ROWS - 1) / ROWS;
    size_t bytes = (size_t)blocks * 2 * (size_t)op->C * sizeof(real);

    op->partial = arena_take(tape->mem, bytes);
    op->dx = tape_grad(tape, op->x);
    pool_reserve(tape->pool, 2 * (size_t)op->C * sizeof(real));
    pool_for(tape->pool, blocks, 1, backward_rows, op);
    if (op->gain)
        sum_partial(tape_grad(tape, op->gain), op->partial, blocks, op->C);
    if (op->bias)
        sum_partial(tape_grad(tape, op->bias), op->partial + op->C, blocks, op->C);
    arena_give(tape->mem, op->partial, bytes);
}

static Norm *norm_node(Tape *tape, Norm operands)
{
    Tensor *x = operands.x;
    Norm *op = tape_node(tape, sizeof *op, norm_backward, x->ndim, x->dim);

    operands.node = op->node;
    *op = operands;
    op->rows = tensor_rows(x), op->C = tensor_cols(x);
    return op;
}

static Tensor *norm(Tape *tape, Norm operands)
{
    operands.backward_row = backward_row;
    Norm *op = norm_node(tape, operands);
    op->mean = tape_keep(&op->node, (size_t)op->rows * sizeof(real));
    op->scale = tape_keep(&op->node, (size_t)op->rows * sizeof(real));
    pool_for(tape->pool, op->rows, ROWS, norm_rows, op);
    return op->node.y;
}

Tensor *op_rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps)
{
    return norm(tape, (Norm){ .x = x, .gain = gain, .eps = eps });
}

Tensor *op_layernorm(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias, double eps)
{
    return norm(tape, (Norm){ .x = x, .gain = gain, .bias = bias, .centre = true, .eps = eps });
}

Tensor *op_l2norm(Tape *tape, Tensor *x, double eps)
{
    return norm(tape, (Norm){ .x = x, .length = true, .eps = eps });
}

Tensor *op_scale_offset(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias)
{
    Norm *op = norm_node(
        tape, (Norm){ .x = x, .gain = gain, .bias = bias, .backward_row = scale_backward_row });

    pool_for(tape->pool, op->rows, ROWS, scale_rows, op);
    return op->node.y;
}
