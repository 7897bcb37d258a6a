/*
 * A short convolution over positions, each column by itself: with w_j (C) and j < K,
 *
 *     y_t = sum over j of w_j * x_(t+a-j)        a = 0 if causal, else (K - 1) / 2
 *
 * where x is 0 before the first position, after the last, and at padding; there y is 0 too. As
 * x_u is in y_t for u = t + a - j, with g = dy,
 *
 *     dx_u += sum over j of w_j * g_(u-a+j)
 *     dw_j += sum over t of g_t * x_(t+a-j)
 *
 * Positions are cut into blocks of ROWS; the parts of dw are added in the order of the blocks. A
 * decoding tape keeps the last K - 1 rows of x, position u in row u mod (K - 1).
 */
#include "ops/decoding.h"
#include "ops/ops.h"

#include <string.h>

#ifdef PROOF
enum { ROWS = 3 };
#else
enum { ROWS = 64 };
#endif

typedef struct {
    Node node;
    Conv in;
    int T, C, ahead, blocks; /* ahead: a; blocks: of a sequence */
    Grad dx;
    real *dw; /* of each block of each sequence, (K, C) */
} Convolution;

/* Block `number` of all: positions begin .. end-1 of sequence b, the first n of which are no
 * padding; x, and y or its gradient, of the sequence. */
typedef struct {
    int begin, end, n;
    size_t at; /* of the sequence's first number */
} Block;

static Block block_of(const Convolution *op, int number)
{
    const int b = number / op->blocks, begin = number % op->blocks * ROWS, T = op->T;
    const int n = op->in.length && op->in.length[b] < T ? op->in.length[b] : T;

    return (Block){ begin, begin + ROWS < T ? begin + ROWS : T, n,
                    (size_t)b * (size_t)T * (size_t)op->C };
}

static void add_product(real *restrict y, const real *restrict w, const real *restrict x, int C)
{
    for (int c = 0; c < C; c++)
        y[c] += w[c] * x[c];
}

static void forward_blocks(void *ctx, int begin, int end)
{
    const Convolution *op = ctx;
    const int C = op->C;

    for (int number = begin; number < end; number++) {
        const Block b = block_of(op, number);
        const real *x = op->in.x->data + b.at;
        real *y = op->node.y->data + b.at;

        for (int t = b.begin; t < b.end; t++) {
            memset(y + (size_t)t * (size_t)C, 0, (size_t)C * sizeof *y);
            for (int j = 0, u = t + op->ahead; t < b.n && j < op->in.K; j++, u--)
                if (u >= 0 && u < b.n)
                    add_product(y + (size_t)t * (size_t)C, op->in.w->data + (size_t)(j * C),
                                x + (size_t)u * (size_t)C, C);
        }
    }
}

/* dx of position u, in a thread's scratch. */
static const real *backward_row(const Convolution *op, const Block *b, int u)
{
    const real *g = op->node.y->grad + b->at;
    real *dx = pool_scratch();

    memset(dx, 0, (size_t)op->C * sizeof *dx);
    for (int j = 0, t = u - op->ahead; u < b->n && j < op->in.K; j++, t++)
        if (t >= 0 && t < b->n)
            add_product(dx, op->in.w->data + (size_t)(j * op->C), g + (size_t)t * (size_t)op->C,
                        op->C);
    return dx;
}

static void backward_blocks(void *ctx, int begin, int end)
{
    const Convolution *op = ctx;
    const int C = op->C, K = op->in.K;

    for (int number = begin; number < end; number++) {
        const Block b = block_of(op, number);
        const real *x = op->in.x->data + b.at, *g = op->node.y->grad + b.at;
        real *dw = op->dw + (size_t)number * (size_t)(K * C);

        memset(dw, 0, (size_t)(K * C) * sizeof *dw);
        for (int t = b.begin; t < b.end; t++) {
            grad_add(op->dx, b.at + (size_t)t * (size_t)C, backward_row(op, &b, t), C);
            for (int j = 0, u = t + op->ahead; t < b.n && j < K; j++, u--)
                if (u >= 0 && u < b.n)
                    add_product(dw + (size_t)(j * C), g + (size_t)t * (size_t)C,
                                x + (size_t)u * (size_t)C, C);
        }
    }
}

static void conv_backward(Node *node)
{
    Convolution *op = (Convolution *)node;
    Tape *tape = node->tape;
    const int pieces = op->in.x->dim[0] * op->blocks, n = op->in.K * op->C;
    const size_t bytes = (size_t)pieces * (size_t)n * sizeof(real);

    op->dw = arena_take(tape->mem, bytes);
    op->dx = tape_grad(tape, op->in.x);
    pool_reserve(tape->pool, (size_t)op->C * sizeof(real));
    pool_for(tape->pool, pieces, 1, backward_blocks, op);
    const Grad dw = tape_grad(tape, op->in.w);
    for (int piece = 0; piece < pieces; piece++)
        for (int i = 0; i < n; i++)
            dw.at[i] = (dw.add || piece > 0 ? dw.at[i] : 0) +
                       op->dw[(size_t)piece * (size_t)n + (size_t)i];
    arena_give(tape->mem, op->dw, bytes);
}

/* Row number i of a decoding tape, position t of its sequence. */
static void step_row(const Convolution *op, int i, int t, real *kept)
{
    const int K = op->in.K, C = op->C;
    const real *x = op->in.x->data + (size_t)(i * C);
    real *y = op->node.y->data + (size_t)(i * C);

    memset(y, 0, (size_t)C * sizeof *y);
    if (op->in.length && t >= op->in.length[i / op->T]) {
        if (K > 1)
            memset(kept + (size_t)(t % (K - 1) * C), 0, (size_t)C * sizeof *kept);
        return;
    }
    add_product(y, op->in.w->data, x, C);
    for (int j = 1; j < K && j <= t; j++)
        add_product(y, op->in.w->data + (size_t)(j * C), kept + (size_t)((t - j) % (K - 1) * C), C);
    if (K > 1)
        memcpy(kept + (size_t)(t % (K - 1) * C), x, (size_t)C * sizeof *kept);
}

/* The next positions of a decoding tape. */
static void step(const Convolution *op)
{
    Tape *tape = op->node.tape;
    const size_t of_each = (size_t)((op->in.K - 1) * op->C);
    real *kept = tape_state(tape, of_each);

    for (int i = 0; i < op->in.x->dim[0] * op->T; i++)
        step_row(op, i, tape->decoding->t + i % op->T, kept + (size_t)(i / op->T) * of_each);
}

Tensor *op_conv(Tape *tape, Conv operands)
{
    Tensor *x = operands.x;
    Convolution *op = tape_node(tape, sizeof *op, conv_backward, x->ndim, x->dim);

    op->in = operands;
    op->T = x->dim[1], op->C = x->dim[2];
    op->ahead = operands.causal ? 0 : (operands.K - 1) / 2;
    op->blocks = (op->T + ROWS - 1) / ROWS;
    if (tape->decoding)
        step(op);
    else
        pool_for(tape->pool, x->dim[0] * op->blocks, 1, forward_blocks, op);
    return op->node.y;
}
