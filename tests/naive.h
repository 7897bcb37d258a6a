/*
 * The textbook formulas: in double, one number at a time, an n x n matrix where
 * the formula has one, straight from the papers and the spec. They are what the
 * ops are compared with, so they share no line with them.
 */
#ifndef TESTS_NAIVE_H
#define TESTS_NAIVE_H

#include "ops/attention.h"

#include <stdbool.h>

typedef struct {
    const double *q, *k, *v; /* (B, T, H, D), (B, T, H, D), (B, T, H, E) */
    int B, T, H, D, E;
    bool causal;
    const int *length; /* (B), or NULL: every key counts */
    Settings set;
    const double *omega; /* performer: (H, features, D) */
    int features;
    const double *pool_q, *pool_k, *concat; /* fastformer: (H, D), (H, D), (H, D, 2D) */
    const double *ql, *kl;                  /* flash: (B, T, H, D) */
} NaiveMix;

/* Whether position i of sequence b may see key j. */
bool naive_sees(const NaiveMix *m, int b, int i, int j);

/* o (B, T, H, E) of the attention of that name; false if there is no formula for it. */
bool naive_attention(const char *name, const NaiveMix *m, double *o);

/* The gradients of q, k and v for that of o; false if there is no formula for them. */
typedef struct {
    const double *o;
    double *q, *k, *v;
} NaiveGradient;
bool naive_attention_gradient(const char *name, const NaiveMix *m, NaiveGradient d);

/* Whether o_i is an average of the v that i sees: weights >= 0 that sum to 1, for numbers near 1.
 */
bool naive_attention_averages(const char *name, Settings set);

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
 * One head at one position: the pairs (x_2m, x_2m+1) turned by position * 10000^(-2m/D); with a
 * scale s > 0 the position is divided by it, or for ntk 10000 is multiplied by s^(D/(D-2)).
 */
void naive_rope(const double *x, int position, int D, RopeScale scale, double *y);

/* -log softmax(x)[target], or 0 where target is -1. */
double naive_cross_entropy(const double *x, int target, int V);

#endif
