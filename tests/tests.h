/* The suites, and what they share. A test's name is the sentence that it proves. */
#ifndef TESTS_TESTS_H
#define TESTS_TESTS_H

#include "ops/attention.h"
#include "ops/ops.h"
#include "tools/common/derivative.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* Check writes the line of every assertion that holds to a file, for the report of a crash: tests
 * with a million of them would spend most of their time on that. */
#define _mark_point(file, line) (void)0

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static const bool in_double = sizeof(real) == sizeof(double);

/* Differences and long sequences repeat what a sanitizer has seen: other builds have them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* Whether a sanitizer may do without case i, since case 0 of every n runs the same code. */
static inline bool spared(int i, int n)
{
    return sanitized && i % n != 0;
}

/* A new test case of the suite, with ten minutes for each of its tests. */
TCase *group(Suite *s, const char *name);

/* A tape with an arena and `threads` threads, and its end. */
Tape tape_open(int threads);
void tape_close(Tape *tape);

/* leaf() for tests with many cases of the same few seeds: drawing would take most of their time. */
Tensor *leaf_again(Arena *mem, uint64_t seed, double scale, int ndim, const int *dim);

/* sqrt(mean (a-b)^2 / mean b^2). NaN counts as infinite. */
double distance_rms(const real *a, const double *b, size_t n);

/*
 * Compares the backward of f with central differences, for a loss that is a
 * random weighting of the outputs: element by element for every operand, and of
 * an operand with more than `most` elements for that many of them and along a
 * random direction. Run in the proof build, where the tolerance is 1e-7; in
 * float it checks nothing but that the backward runs. It does so on an auditing
 * tape (gradients start at 1) and on one that recycles memory as in training;
 * the two must agree.
 */
void check_gradient(const char *name, Function *f, void *ctx, Tensor *const *operand, int n);
void check_gradient_of(const char *name, Function *f, void *ctx, Tensor *const *operand, int n,
                       size_t most);

#endif
