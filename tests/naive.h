/*
 * The textbook formulas of the ops: in double, one number at a time, straight from the papers.
 * They are what the ops are compared with, so they share no line with them. The formulas of the
 * attentions are in ops/attention/plain.
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "ops/rope.h"
#include "tools/common/op_table.h"

/* y of the operands of c; x[i] is NULL where c has no operand i. */
typedef void OpFormula(const OpCall *c, double *const *x, double *y);
/* The formula of the row of that name in the table of ops, or NULL. */
OpFormula *naive_op(const char *name);

double naive_silu(double x);

/* y = f(x) W^T + b + r; f, b and r may be NULL. x is (rows, in), w (out, in). */
typedef struct {
    const double *x, *w, *b, *r;
    double (*f)(double x);
    int rows, in, out;
} NaiveDense;
void naive_dense(const NaiveDense *d, double *y);

/* Rows of n numbers. */
void naive_rmsnorm(const double *x, const double *gain, double epsilon, int n, double *y);
/* The gain and the bias. */
void naive_layernorm(const double *x, const double *const gain[2], double epsilon, int n,
                     double *y);

/*
 * One head at one position: the pairs (x_2m, x_2m+1) rotated by position * 10000^(-2m/D); with a
 * scale s > 0 the position is divided by it, or for ntk 10000 is multiplied by s^(D/(D-2)).
 */
void naive_rope(const double *x, int position, int D, RopeScale scale, double *y);

/* -log softmax(x)[target], or 0 where target is -1. */
double naive_cross_entropy(const double *x, int target, int V);

#endif
