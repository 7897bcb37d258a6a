/*
 * A derivative in two ways: by hand, as the backward pass computes it, and by finite differences of
 * the forward pass. The loss is a random weighting of the outputs: their plain sum would hide
 * mistakes, since the sum of many results (a softmax, a norm) does not depend on the input.
 */
#ifndef TOOLS_COMMON_DERIVATIVE_H
#define TOOLS_COMMON_DERIVATIVE_H

#include "ops/tape.h"

#include <stdint.h>

/* The largest error allowed for a derivative by hand, in double. */
#define DERIVATIVE_TOLERANCE 1e-7

/* Fills with normal samples of standard deviation `scale`, which depend only on the seed. */
void fill(real *at, size_t n, uint64_t seed, double scale);

/* A tensor of such numbers, with memory for its gradient: an operand to differentiate by. */
Tensor *leaf(Arena *mem, uint64_t seed, double scale, int ndim, const int *dim);

/* The largest |a - b| relative to the largest |b|; 0 if both are exactly 0. NaN is infinite. */
double distance(const real *a, const real *b, size_t n);

/* f'(0), by central differences of fourth order, with a step that avoids the kinks of f. */
typedef double Curve(void *ctx, double x);
double slope(Curve *f, void *ctx);

typedef Tensor *Function(Tape *tape, void *ctx);

typedef struct {
    Tape *tape; /* reset for every evaluation */
    Function *f;
    void *ctx;
    const real *weight; /* one per output */
} Loss;

/* Computes the derivatives by n operands into their gradients. */
void derivative_by_hand(Loss l, Tensor *const *x, int n);

/* The derivative along u, which has the shape of the operand x: by differences; from a gradient. */
double derivative_along(Loss l, Tensor *x, const real *u);
double derivative_of_along(const Tensor *x, const real *got, const real *u);

/*
 * The distance() between a gradient `got` of the operand x and finite differences, over all
 * elements; if there are more than `most`, over the largest of `got`, random others, and along a
 * random direction of all. NaN is infinite.
 */
double derivative_off(Loss l, Tensor *x, const real *got, size_t most, uint64_t seed);

#endif
