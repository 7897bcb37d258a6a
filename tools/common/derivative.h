/*
 * A derivative twice: by hand, as the backward computes it, and by differences
 * of the forward. What is differentiated is a loss that weighs every output by a
 * random number: their plain sum would hide mistakes, since much of what is
 * computed here sums to the same whatever goes in.
 */
#ifndef TOOLS_COMMON_DERIVATIVE_H
#define TOOLS_COMMON_DERIVATIVE_H

#include "ops/tape.h"

#include <stdint.h>

/* What a derivative by hand may be off, in double. */
#define DERIVATIVE_TOLERANCE 1e-7

/* Normal numbers times `scale`, the same for the same seed. */
void fill(real *at, size_t n, uint64_t seed, double scale);

/* A tensor of such numbers, with a gradient of its own: an operand to differentiate by. */
Tensor *leaf(Arena *mem, uint64_t seed, double scale, int ndim, const int *dim);

/* The largest |a - b| relative to the largest |b|; 0 if both are exactly 0. NaN counts as infinite.
 */
double distance(const real *a, const real *b, size_t n);

/* f'(0), by central differences of fourth order, as near together as the kinks of f ask for. */
typedef double Curve(void *ctx, double x);
double slope(Curve *f, void *ctx);

typedef Tensor *Function(Tape *tape, void *ctx);

typedef struct {
    Tape *tape; /* is reset for every evaluation */
    Function *f;
    void *ctx;
    const real *weight; /* of each output */
} Loss;

/* Leaves the derivatives by n operands in their gradients. */
void derivative_by_hand(Loss l, Tensor *const *x, int n);

/* Along u, which has the shape of the operand x: by differences, and of a gradient `got`. */
double derivative_along(Loss l, Tensor *x, const real *u);
double derivative_of_along(const Tensor *x, const real *got, const real *u);

/*
 * How far `got`, of the operand x, is off the differences: distance() over all
 * elements, or over `most` that are drawn if it has more.
 */
double derivative_off(Loss l, Tensor *x, const real *got, size_t most);

#endif
