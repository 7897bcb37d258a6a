/*
 * The textbook formulas of the ops: in double, one number at a time, straight from the
 * papers. They are what the ops are compared with, so they share no line with them.
 * (Attentions have their twins in ops/attention/plain.)
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "ops/rope.h"

#include <stdbool.h>

double naive_gelu(double x);
double naive_silu(double x);
double naive_swiglu(double a, double b);

/* y = f(x) W^T + b + r; f, b and r may be NULL. x is (rows, in), w (out, in). */
typedef struct {
    const double *x, *w, *b, *r;
    double (*f)(double x);
    int rows, in, out;
} NaiveDense;
void naive_dense(const NaiveDense *d, double *y);

/* y[b][t] = table[id[b][t]] + position[t]; position may be NULL. */
typedef struct {
    const double *table, *position;
    const int *id;
    int B, T, C;
} NaiveEmbedding;
void naive_embedding(const NaiveEmbedding *e, double *y);

/* Rows of n numbers. */
void naive_rmsnorm(const double *x, const double *gain, int n, double *y);
void naive_layernorm(const double *x, const double *gain, const double *bias, int n, double *y);

/*
 * One head at one position: the pairs (x_2m, x_2m+1) rotated by position * 10000^(-2m/D); with a
 * scale s > 0 the position is divided by it, or for ntk 10000 is multiplied by s^(D/(D-2)).
 */
void naive_rope(const double *x, int position, int D, RopeScale scale, double *y);

/* -log softmax(x)[target], or 0 where target is -1. */
double naive_cross_entropy(const double *x, int target, int V);

#endif
