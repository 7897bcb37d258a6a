/*
 * Dense layer.  y = f(x) W^T + b + r: row by row,
 *
 *     y_io = sum over j of f(x_ij) W_oj + b_o + r_io
 *
 * Backward, with g = dy: x_ij is in all y_io of its row, W_oj in y_io of every row i, so
 *
 *     dx_ij += f'(x_ij) sum over o of g_io W_oj       dx += (g W) f'(x), element by element
 *     dW_oj += sum over i of g_io f(x_ij)             dW += g^T f(x)
 *     db_o  += sum over i of g_io                     dr += g
 *
 * Bias and residual are added to a row of the product while it is in cache. f is part of
 * the layer that reads its values, and is applied to the packed copies of x that the product
 * makes: f(x) is never stored, the backward pass needs nothing but x, and f' is applied to
 * rows of g W that are still in cache. g W is computed DENSE_ROWS rows at a time, and dx is
 * written over x if it is the first contribution.
 *
 * On a tape whose `precision` is not float all three products round f(x), W and g to bf16 as they
 * pack them.
 *
 * The few rows of a decoder's step, one for each sequence, read each number of W once, where gemm
 * would first pack them all. So on its tape y_o = W_o . f(x) is computed for one o after another,
 * in about the time of reading W. The order of these sums differs from gemm's; hence the tape
 * selects the method (decode.c: for a step of one position), and the bits of a row do not depend on
 * its batch. A W that is also stored in bf16 (params_narrow()) is read from there; f(x) is not
 * rounded.
 */
#include "ops/base/error.h"
#include "ops/kernel/elementary.h"
#include "ops/kernel/gemm.h"
#include "ops/ops.h"

#include <string.h>

/* GRAIN: the numbers of W that make a piece of work large enough for a thread. */
#ifdef PROOF
enum { COLUMNS = 32, GRAIN = 20 };
#else
enum { COLUMNS = 32, GRAIN = 1 << 15 };
#endif

typedef struct {
    Node node;
    Dense in;
    int rows, from, to; /* x is (rows, from), y is (rows, to) */
    Grad dx, db;
    real *gw; /* DENSE_ROWS rows of g W, from row `first` on */
    int first;
} DenseNode;

static Matrix dense_input(const DenseNode *op)
{
    Matrix x = matrix(op->in.x->data, op->rows, op->from);

    return op->in.f ? mapped(x, op->in.f->apply) : x;
}

static void add_bias_residual(void *ctx, int i, int j0, int j1)
{
    const DenseNode *op = ctx;
    size_t at = (size_t)i * (size_t)op->to;
    real *y = op->node.y->data + at;

    if (op->in.b)
        for (int j = j0; j < j1; j++)
            y[j] += op->in.b->data[j];
    if (op->in.r)
        for (int j = j0; j < j1; j++)
            y[j] += op->in.r->data[at + (size_t)j];
}

/* A row of dx, from a row of g W. */
static void chain_row(void *ctx, int i, int j0, int j1)
{
    const DenseNode *op = ctx;
    size_t at = (size_t)(op->first + i) * (size_t)op->from + (size_t)j0;
    real *gw = op->gw + (size_t)i * (size_t)op->from + j0;

    op->in.f->chain(gw, op->in.x->data + at, j1 - j0);
    grad_add(op->dx, at, gw, j1 - j0);
}

static void backward_through(DenseNode *op, Matrix g)
{
    Tape *tape = op->node.tape;
    size_t bytes =
        (size_t)(op->rows < DENSE_ROWS ? op->rows : DENSE_ROWS) * (size_t)op->from * sizeof(real);
    Product p = { .b = matrix(op->in.w->data, op->to, op->from),
                  .precision = tape->precision,
                  .finish = chain_row,
                  .ctx = op };

    op->dx = tape_grad_over(tape, op->in.x);
    op->gw = arena_take(tape->mem, bytes);
    for (op->first = 0; op->first < op->rows; op->first += DENSE_ROWS) {
        int n = op->rows - op->first < DENSE_ROWS ? op->rows - op->first : DENSE_ROWS;

        p.a = matrix(g.at + op->first * g.rs, n, op->to);
        p.c = matrix(op->gw, n, op->from);
        gemm(tape->pool, p);
    }
    arena_give(tape->mem, op->gw, bytes);
}

static void backward_input(DenseNode *op, Matrix g)
{
    Grad dx = tape_grad(op->node.tape, op->in.x);

    gemm(op->node.tape->pool, (Product){ .c = matrix(dx.at, op->rows, op->from),
                                         .a = g,
                                         .b = matrix(op->in.w->data, op->to, op->from),
                                         .precision = op->node.tape->precision,
                                         .add = dx.add });
}

static void backward_bias(void *ctx, int begin, int end)
{
    const DenseNode *op = ctx;
    real sum[COLUMNS];

    for (int j0 = begin; j0 < end; j0 += COLUMNS) {
        int n = end - j0 < COLUMNS ? end - j0 : COLUMNS;

        memset(sum, 0, sizeof sum);
        for (int i = 0; i < op->rows; i++)
            for (int j = 0; j < n; j++)
                sum[j] += op->node.y->grad[(size_t)i * (size_t)op->to + (size_t)(j0 + j)];
        for (int j = 0; j < n; j++)
            op->db.at[j0 + j] = (op->db.add ? op->db.at[j0 + j] : 0) + sum[j];
    }
}

static void dense_backward(Node *node)
{
    DenseNode *op = (DenseNode *)node;
    Matrix g = matrix(node->y->grad, op->rows, op->to);

    Grad dw = tape_grad(node->tape, op->in.w);
    gemm(node->tape->pool, (Product){ .c = matrix(dw.at, op->to, op->from),
                                      .a = transposed(g),
                                      .b = dense_input(op),
                                      .add = dw.add,
                                      .precision = node->tape->precision,
                                      .over_batch = true });
    (op->in.f ? backward_through : backward_input)(op, g);
    if (op->in.b) {
        op->db = tape_grad(node->tape, op->in.b);
        pool_for(node->tape->pool, op->to, COLUMNS, backward_bias, op);
    }
    if (op->in.r)
        tape_grad_pass(node->tape, node->y, op->in.r);
}

/* The rows f(x), `wide` numbers each; for a W with n pairs in a row they are in the order that
 * pairs_dot() takes. */
typedef struct {
    DenseNode *op;
    const real *fx;
    int n, wide;
} DenseRows;

/* Output o of every row. */
static void rows_output(const DenseRows *r, int o)
{
    const DenseNode *op = r->op;
    const Tensor *w = op->in.w;
    const real *row_o = w->data + (size_t)o * (size_t)op->from, *fx = r->fx;
    const Bf16Pair *pairs = w->pairs ? w->pairs + (size_t)o * (size_t)r->n : NULL;
    const size_t wide = (size_t)r->wide, to = (size_t)op->to;
    real *y = op->node.y->data + o;
    int row = 0;

    for (; r->n % SUMS == 0 && row + DOTS <= op->rows;
         row += DOTS, fx += DOTS * wide, y += DOTS * to)
        if (pairs)
            pairs_dots(pairs, fx, wide, r->n, y, to);
        else
            row_dots(row_o, fx, wide, r->n, y, to);
    for (; row < op->rows; row++, fx += wide, y += to)
        *y = pairs ? pairs_dot(pairs, fx, r->n) : row_dot(row_o, fx, r->n);
}

static void rows_outputs(void *ctx, int begin, int end)
{
    const DenseRows *r = ctx;

    for (int o = begin; o < end; o++)
        rows_output(r, o);
    for (int row = 0; row < r->op->rows; row++)
        add_bias_residual(r->op, row, begin, end);
}

/* Rows of k numbers, those at even places first; an odd one ends with a 0. */
static void split(real *restrict to, const real *x, int rows, int k)
{
    const int n = (k + 1) / 2;

    for (int row = 0; row < rows; row++, x += k, to += 2 * n) {
        for (int i = 0; i < k / 2; i++)
            to[i] = x[2 * i], to[n + i] = x[2 * i + 1];
        if (k % 2)
            to[n - 1] = x[k - 1], to[2 * n - 1] = 0;
    }
}

static void forward_row_by_row(DenseNode *op)
{
    Tape *tape = op->node.tape;
    const Tensor *x = op->in.x;
    const bool pairs = op->in.w->pairs;
    const int n = pairs ? (op->from + 1) / 2 : op->from, wide = pairs ? 2 * n : n;
    const size_t numbers = (size_t)op->rows * (size_t)wide;
    real *fx = arena_take(tape->mem, numbers * sizeof *fx);

    if (pairs)
        split(fx, x->data, op->rows, op->from);
    else
        memcpy(fx, x->data, numbers * sizeof *fx);
    if (op->in.f)
        op->in.f->apply(fx, (int)numbers);
    pool_for(tape->pool, op->to, GRAIN / op->from / op->rows + 1, rows_outputs,
             &(DenseRows){ op, fx, n, wide });
    arena_give(tape->mem, fx, numbers * sizeof *fx);
}

static void forward_product(DenseNode *op)
{
    Matrix w = matrix(op->in.w->data, op->to, op->from);

    gemm(op->node.tape->pool, (Product){ .c = matrix(op->node.y->data, op->rows, op->to),
                                         .a = dense_input(op),
                                         .b = transposed(w),
                                         .precision = op->node.tape->precision,
                                         .finish = op->in.b || op->in.r ? add_bias_residual : NULL,
                                         .ctx = op });
}

Tensor *op_dense(Tape *tape, Dense in)
{
    int last = in.x->ndim - 1, dim[4];

    if (tensor_cols(in.x) != in.w->dim[1])
        BUG("dense: x has %d columns, w takes %d", tensor_cols(in.x), in.w->dim[1]);
    memcpy(dim, in.x->dim, sizeof dim);
    dim[last] = in.w->dim[0];

    DenseNode *op = tape_node(tape, sizeof *op, dense_backward, in.x->ndim, dim);
    op->in = in;
    op->rows = tensor_rows(in.x), op->from = in.w->dim[1], op->to = in.w->dim[0];
    if (tape->row_by_row)
        forward_row_by_row(op);
    else if (!op->node.known)
        forward_product(op);
    return op->node.y;
}
