/*
 * Tensors, and the tape that records how they were computed.
 *
 * A tensor is a row-major block of reals with at most four dimensions and, while it is needed, a
 * block of the same shape for the gradient. There are no views and no strides: an op that needs
 * another layout reads the tensor through a Matrix (ops/kernel/matrix.h), which has strides.
 *
 * An op is a C function that takes the tape and its operands, computes its result immediately, and
 * pushes onto the tape a node that can run it backward:
 *
 *     h = op_dense(tape, x, w1, ...);     y = op_dense(tape, h, w2, ...);
 *
 *     tape->last -> [dense: h w2 -> y] -> [dense: x w1 -> h] -> NULL
 *
 * The list has the newest node first, so walking it applies the chain rule in a valid order and
 * nothing needs sorting. Each op has its own node type, a struct that starts with Node and names
 * the operands; its backward function receives nothing else.
 *
 * Two rules hold everywhere. A backward function adds to the gradients of its operands and never
 * assigns them, since an operand may be used twice (tape_grad() says when the memory is still
 * uninitialised). And every tensor on the tape has a gradient: what needs none (token ids, angles)
 * is a plain array.
 *
 * Gradients are short-lived: memory is allocated when the first contribution arrives, and goes back
 * to the arena, together with the tensor's data, once the node that computed the tensor has run
 * backward.
 */
#ifndef OPS_TAPE_H
#define OPS_TAPE_H

#include "ops/base/arena.h"
#include "ops/base/pool.h"
#include "ops/base/real.h"
#include "ops/kernel/bf16.h"
#include "ops/kernel/precision.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int ndim, dim[4];
    size_t n;              /* number of elements */
    real *data, *grad;     /* grad: NULL until memory is allocated */
    bool has_grad;         /* grad is initialised: contributions are added to it */
    const Bf16Pair *pairs; /* the rows of a weight matrix in bf16, or NULL: see params_narrow() */
} Tensor;

typedef struct Node {
    void (*backward)(struct Node *self);
    Tensor *y;         /* the result */
    bool in_place;     /* y is another node's result, modified in place */
    bool known;        /* y is already computed: see tape_part() */
    struct Kept *kept; /* its other memory: see tape_keep() */
    struct Node *prev;
    struct Tape *tape;
} Node;

/* State that lasts from one position to the next: ops/decoding.h. */
typedef struct {
    int t, most; /* the current position, and the largest number of positions */
    int B, b;    /* sequences, which are at the same position, and the one (or first) at work */
    struct State *first, **next;
} Decoding;

typedef struct Tape {
    Arena *mem; /* memory of the step, freed by tape_reset() */
    Pool *pool;
    Node *last;
    bool forward_only;     /* record no nodes: evaluation, sampling */
    bool recompute;        /* keep only the results of parts: see tape_part() */
    struct Making *making; /* the part being computed, or NULL */
    Precision precision;   /* of the operands of dense layers' products (ops/kernel/bf16.h) */
    bool row_by_row;       /* dense layers multiply single rows, for decoding (see ops/dense.c) */
    /*
     * For tests: every gradient stays in memory and starts at 1, which is subtracted before the
     * tensor's own backward reads it; so an assignment instead of an addition gives wrong numbers.
     */
    bool audit;
    struct Angles *angles; /* angles already computed in this step: ops/rope.c */
    Decoding *decoding;    /* decoding position by position; NULL: whole sequences */
} Tape;

/* SHAPE(B, T, C) expands to the two arguments ndim, dim. */
#define SHAPE(...)                                                                                 \
    (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* An uninitialised tensor in `mem`, without a gradient. */
Tensor *tensor_new(Arena *mem, int ndim, const int *dim);

/* Changes the shape; the number of elements must stay the same. */
Tensor *tensor_reshape(Tensor *t, int ndim, const int *dim);

/* The product of all dimensions but the last, and the last one. */
int tensor_rows(const Tensor *t);
int tensor_cols(const Tensor *t);

/*
 * Pushes a node of `size` bytes, with a result of the given shape. The op fills in its operands and
 * the result.
 */
void *tape_node(Tape *tape, size_t size, void (*backward)(Node *self), int ndim, const int *dim);

/* The same for an op that changes its operand in place: the result is `x` itself. */
void *tape_node_in_place(Tape *tape, size_t size, void (*backward)(Node *self), Tensor *x);

/* Uninitialised memory that lasts as long as the node's result, for use by its backward. */
void *tape_keep(Node *node, size_t bytes);

/*
 * y = f(ctx, x). The nodes of f may read x, memory that outlives the step, and each other's
 * results; other nodes may read only y. A recomputing tape keeps only y,
 *
 *     tape->last -> [part: x -> y] -> ...          y -> [dense: h w -> y] -> [norm: x -> h]
 *
 * and calls f again when y's gradient is complete, to run the nodes backward immediately. So f must
 * compute the same nodes and numbers each time, except that the last node's result, y, is already
 * `known` and an op that checks this flag may skip computing it. A forward-only tape also keeps
 * only y. ctx must stay valid until the backward pass.
 */
typedef Tensor *TapePart(struct Tape *tape, void *ctx, Tensor *x);
Tensor *tape_part(Tape *tape, TapePart *f, void *ctx, Tensor *x);

/*
 * Where a backward function puts its contribution to the gradient of x, for each element: dx.at[i]
 * = (dx.add ? dx.at[i] : 0) + contribution.
 */
typedef struct {
    real *at;
    bool add; /* false: `at` is uninitialised */
} Grad;
Grad tape_grad(Tape *tape, Tensor *x);

/* Adds n numbers, starting at element `at`. Separate, as larger loops are hard to vectorise. */
static inline void grad_add(Grad dx, size_t at, const real *restrict contribution, int n)
{
    real *restrict to = dx.at + at;

    for (int i = 0; dx.add && i < n; i++)
        to[i] += contribution[i];
    for (int i = 0; !dx.add && i < n; i++)
        to[i] = contribution[i];
}

/* For a backward that does not touch every element: initialised, so it can always be added to. */
real *tape_grad_zeroed(Tape *tape, Tensor *x);

/*
 * For a backward that is the only reader of x: if possible the gradient overwrites the data (dx.at
 * == x->data), so each element must be read before it is written.
 */
Grad tape_grad_over(Tape *tape, Tensor *x);

/* dx += dy, where dy is no longer needed: no copy is made if x has no gradient yet. */
void tape_grad_pass(Tape *tape, Tensor *y, Tensor *x);

/* Adds dy to the gradient of y, the last result, and runs the whole tape backward. */
void tape_backward(Tape *tape, Tensor *y, const real *dy);

void tape_reset(Tape *tape);

#endif
