/*
 * Tensors, and the tape that remembers how they were made.
 *
 * A tensor is a row-major block of reals with at most four dimensions and,
 * while it is needed, a block of the same shape for the derivative of the loss.
 * There are no views and no strides: an op that needs another layout reads it
 * as a Matrix (ops/kernel/gemm.h), which has them.
 *
 * An op is a C function that takes the tape and its operands, computes its
 * result at once, and leaves on the tape a node that can undo it:
 *
 *     h = op_dense(tape, x, w1, ...);     y = op_dense(tape, h, w2, ...);
 *
 *     tape->last -> [dense: h w2 -> y] -> [dense: x w1 -> h] -> NULL
 *
 * The nodes are in the order of the calls, newest first, so walking the list
 * is the chain rule in the right order and nothing needs sorting. A node is a
 * struct of the op's own that starts with Node and names its operands; this
 * is all that its backward gets.
 *
 * Two rules hold everywhere. A backward adds to the gradients of its operands
 * (tape_grad() says when there is nothing yet to add to) and never just assigns
 * them: an operand may have been used twice. And what is on the tape has a
 * gradient; what needs none (token ids, angles) is not a tensor but an array.
 *
 * A gradient's life is short: its memory is found when the first contribution
 * arrives, and goes back to the arena, with the result's own, when the node
 * that made the result has been undone.
 */
#ifndef OPS_TAPE_H
#define OPS_TAPE_H

#include "ops/base/arena.h"
#include "ops/base/pool.h"
#include "ops/base/real.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int ndim, dim[4];
    size_t n;          /* number of elements */
    real *data, *grad; /* grad is NULL where there is no memory for it yet */
    bool has_grad;     /* grad holds something: a contribution must be added to it */
} Tensor;

typedef struct Node {
    void (*backward)(struct Node *self);
    Tensor *y;         /* the result */
    bool in_place;     /* y is another node's result, changed where it lies */
    bool known;        /* y's numbers are there already: tape_part() */
    struct Kept *kept; /* what else it has: tape_keep() */
    struct Node *prev;
    struct Tape *tape;
} Node;

/* What lasts from one position to the next: ops/decoding.h. */
typedef struct {
    int t, most; /* the position of this step, and how many there will be at most */
    struct State *first, **next;
} Decoding;

typedef struct Tape {
    Arena *mem; /* what a step makes; tape_reset() takes it all back */
    Pool *pool;
    Node *last;
    bool forward_only;     /* leave no nodes: evaluation, sampling */
    bool recompute;        /* keep of a part its result alone: tape_part() */
    struct Making *making; /* the part that is being made, or NULL */
    bool row_by_row;       /* dense layers work on single rows: decoding (see ops/dense.c) */
    /*
     * For tests: every gradient stays in memory, and starts at 1, which is taken
     * off before its own backward reads it; so an assignment instead of an
     * addition shows in the numbers.
     */
    bool audit;
    struct Angles *angles; /* those that this step has already computed: ops/rope.c */
    Decoding *decoding;    /* position by position; NULL: whole sequences */
} Tape;

/* The shape as a literal: SHAPE(B, T, C) is the two arguments (ndim, dim). */
#define SHAPE(...)                                                                                 \
    (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* A tensor in `mem` that holds anything and has no gradient yet. */
Tensor *tensor_new(Arena *mem, int ndim, const int *dim);

/* The same numbers in another shape of as many elements. */
Tensor *tensor_reshape(Tensor *t, int ndim, const int *dim);

/* All dimensions but the last, multiplied; and the last. */
int tensor_rows(const Tensor *t);
int tensor_cols(const Tensor *t);

/*
 * A node of `size` bytes at the front of the tape, with a result of that shape.
 * The op fills in its operands, and the result.
 */
void *tape_node(Tape *tape, size_t size, void (*backward)(Node *self), int ndim, const int *dim);

/* The same for an op that changes its operand in place: the result is `x` itself. */
void *tape_node_in_place(Tape *tape, size_t size, void (*backward)(Node *self), Tensor *x);

/* `bytes` that hold anything, for as long as the node's result: what its backward will read. */
void *tape_keep(Node *node, size_t bytes);

/*
 * y = f(ctx, x), whose nodes may read x, what outlives the step, and each other's results;
 * others read of it nothing but y. A tape that recomputes keeps nothing but y either,
 *
 *     tape->last -> [part: x -> y] -> ...          y -> [dense: h w -> y] -> [norm: x -> h]
 *
 * and calls f again when y's gradient is there, for nodes that it walks back at once. So f
 * has to make the same nodes and numbers each time. But for the last: its result is y, which
 * is `known` then, and an op that looks may leave it as it is. A tape that is forward only
 * keeps y alone as well. ctx has to last until the backward.
 */
typedef Tensor *TapePart(struct Tape *tape, void *ctx, Tensor *x);
Tensor *tape_part(Tape *tape, TapePart *f, void *ctx, Tensor *x);

/*
 * Where a backward puts its contribution to the gradient of x: element by
 * element,   dx.at[i] = (dx.add ? dx.at[i] : 0) + contribution.
 */
typedef struct {
    real *at;
    bool add; /* there is something already; else `at` holds anything */
} Grad;
Grad tape_grad(Tape *tape, Tensor *x);

/* The same for n numbers from element `at` on: loops that do more than this are hard to vectorise.
 */
static inline void grad_add(Grad dx, size_t at, const real *restrict contribution, int n)
{
    real *restrict to = dx.at + at;

    for (int i = 0; dx.add && i < n; i++)
        to[i] += contribution[i];
    for (int i = 0; !dx.add && i < n; i++)
        to[i] = contribution[i];
}

/* For a backward that does not touch every element: adding is always right. */
real *tape_grad_zeroed(Tape *tape, Tensor *x);

/*
 * For a backward that is the only one to read x: where it can, the gradient is
 * written over the numbers themselves (dx.at == x->data), each after it was read.
 */
Grad tape_grad_over(Tape *tape, Tensor *x);

/* dx += dy, where dy is not needed any more: without a copy when x has no gradient yet. */
void tape_grad_pass(Tape *tape, Tensor *y, Tensor *x);

/* Adds dy to the gradient of y, the last result, and runs the whole tape backward. */
void tape_backward(Tape *tape, Tensor *y, const real *dy);

void tape_reset(Tape *tape);

#endif
