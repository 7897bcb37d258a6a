/* What every op promises, whatever it computes. */
#ifndef TESTS_PROMISES_H
#define TESTS_PROMISES_H

#include "tests/tests.h"

/* y of the operands x, all in double; ctx is the Subject's. */
typedef void Formula(const void *ctx, double *const *x, double *y);

/* A function of n operands, and the formula that it should be. */
typedef struct {
    const char *name; /* for the message when a promise is not kept */
    Function *f;
    Formula *naive;
    void *ctx;
    Tensor *const *x;
    int n;
} Subject;

enum { OPERANDS = 80 }; /* at most */

/* What came of it once: the result, and with a `dy` the gradients of the operands. */
typedef struct {
    size_t n;
    real *y, *dx[OPERANDS];
} Outcome;
Outcome outcome(Arena *mem, const Subject *s, int threads, const real *dy);

/* Weights for any outcome: more of them than an output here has numbers. */
enum { WEIGHTS = 1 << 17 };
const real *weights(void);
real *weights_new(Arena *mem); /* a copy */

double *doubles(Arena *mem, const real *x, size_t n);
bool same_bits(const real *a, const real *b, size_t n);
bool all_zero(const real *x, size_t n);
bool all_finite(const real *x, size_t n);

/* a against b: in double the worst number relative to the largest, in float the RMS. */
void check_close(const char *name, const real *a, const double *b, size_t n, double tolerance);
static const double forward_tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 2e-6,
                    backward_tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

void check_formula(const Subject *s);

/*
 * The gradients along random directions against the slope of the formula, in
 * the product too and at any size: the formula is in double, so its differences
 * are exact enough. An operand before `from` is left out.
 */
void check_slopes(const Subject *s, int from);

void check_backward_adds(const Subject *s);
void check_no_upstream_no_gradient(const Subject *s);
void check_twice_upstream_twice_gradient(const Subject *s);
void check_threads(const Subject *s);
void check_operands_untouched(const Subject *s);

/*
 * `one` is sequence b of B by itself, of which `in_batch` came with weights(); the first `batched`
 * operands have the batch as their first dimension, and the others are the same.
 */
void check_alone_as_in_batch(const Outcome *in_batch, int B, const Subject *one, int b,
                             int batched);

/* Sequence b of t by itself. */
Tensor *sequence(Arena *mem, const Tensor *t, int b);

#endif
