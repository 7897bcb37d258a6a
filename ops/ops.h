/* All ops except attention. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "ops/base/random.h"
#include "ops/tape.h"

/* A function f of one number: `apply` computes f of n numbers in place, `chain` dx *= f'(x). */
typedef struct {
    const char *name;
    void (*apply)(real *x, int n);
    void (*chain)(real *dx, const real *x, int n);
} Activation;

extern const Activation activation_gelu; /* the tanh form */
extern const Activation activation_silu;
Tensor *op_activation(Tape *tape, Tensor *x, const Activation *f);

/* y = silu(a) * b, element by element. */
Tensor *op_swiglu(Tape *tape, Tensor *a, Tensor *b);

/*
 * y = f(x) W^T + b + r, on the last dimension of x. w is (out, in), b is (out), and r, a
 * residual, has the shape of y; f, b and r may be NULL. With f, nothing else may read x, since
 * its gradient is written over it.
 */
typedef struct {
    Tensor *x, *w, *b, *r;
    const Activation *f;
} Dense;
Tensor *op_dense(Tape *tape, Dense operands);

/* With f, the gradient is computed this many rows at a time: only these need a second copy. */
#ifdef PROOF
enum { DENSE_ROWS = 4 };
#else
enum { DENSE_ROWS = 4096 };
#endif

/*
 * y[b][t] = table[id[b][t]] + position[from + t]. `table` is (V, C). `position` is learned, with at
 * least from + T rows of C, or `fixed` is an array of the same shape, or both are NULL. `id` must
 * stay valid until the backward pass.
 */
typedef struct {
    Tensor *table, *position;
    const real *fixed;
    const int *id;
    int B, T, from;
} Embedding;
Tensor *op_embedding(Tape *tape, Embedding operands);

/* Both norms are over the last dimension; RMSNorm's gain may be NULL: all ones. */
#define NORM_EPS 1e-5 /* by default */
Tensor *op_rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps);
Tensor *op_layernorm(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias, double eps);

Tensor *op_add(Tape *tape, Tensor *a, Tensor *b);

/* y = gain x + bias, column by column. */
Tensor *op_scale_offset(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias);

/* All rows of x (R, C), `n` times: (n R, C). */
Tensor *op_repeat(Tape *tape, Tensor *x, int n);

/*
 * The mean of the first length[b] positions of each sequence of x (B, T, C), or of all T if
 * `length` is NULL: (B, C). `length` must stay valid until the backward pass.
 */
Tensor *op_mean(Tape *tape, Tensor *x, const int *length);

/* The same, with weights: a softmax over the positions of x.w / sqrt(C), where w is (C). */
Tensor *op_average(Tape *tape, Tensor *x, Tensor *w, const int *length);

/* Two rows u, v of x (2 B, C) become one: [u; v; u * v; u - v], (B, 4 C). */
Tensor *op_pair(Tape *tape, Tensor *x);

/* Each element is dropped with probability p, or kept and divided by 1 - p. */
Tensor *op_dropout(Tape *tape, Tensor *x, double p, Random random);

/*
 * The loss of each row of x (.., V), in nats: -log softmax(x)[target]. A row whose target is -1 has
 * loss 0 and no gradient. `target` must stay valid until the backward pass. The result has one
 * number per row of x.
 */
Tensor *op_cross_entropy(Tape *tape, Tensor *x, const int *target);

#endif
