/* All ops except attention. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "ops/base/random.h"
#include "ops/tape.h"

/* A function f of one number: `apply` computes f of n numbers in place, `chain` dx *= f'(x). */
typedef struct Activation {
    const char *name;
    void (*apply)(real *x, int n);
    void (*chain)(real *dx, const real *x, int n);
} Activation;

extern const Activation activation_gelu; /* the tanh form */
extern const Activation activation_silu, activation_relu2;
extern const Activation activation_sigmoid, activation_log_sigmoid, activation_softplus;
Tensor *op_activation(Tape *tape, Tensor *x, const Activation *f);

/* y = c tanh(x / c), element by element: between -c and c. */
Tensor *op_cap(Tape *tape, Tensor *x, double c);

/* y = silu(a) * b, element by element. */
Tensor *op_swiglu(Tape *tape, Tensor *a, Tensor *b);

/*
 * y = s f(x), column by column, where f may be NULL (x itself) and s is `by`, or -by e^A for a
 * learned A (C).
 */
typedef struct {
    Tensor *x, *A; /* A may be NULL */
    const Activation *f;
    double by;
} Gate;
Tensor *op_gate(Tape *tape, Gate operands);

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

/*
 * y_t = sum over j < K of w_j * x_(t-j), column by column of x (B, T, C), with w the K rows w_j;
 * not causal: x_(t-j+(K-1)/2). x is 0 before its first row and from length[b] on, and y there;
 * `length` may be NULL, and must stay valid until the backward pass.
 */
typedef struct {
    Tensor *x, *w; /* w: K C numbers */
    int K;
    const int *length;
    bool causal;
} Conv;
Tensor *op_conv(Tape *tape, Conv operands);

/* Both norms are over the last dimension; RMSNorm's gain may be NULL: all ones. */
#define NORM_EPS 1e-5 /* by default */
Tensor *op_rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps);
Tensor *op_layernorm(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias, double eps);

/* y = x / |x|, with |x|^2 + eps for |x|^2, over the last dimension. */
Tensor *op_l2norm(Tape *tape, Tensor *x, double eps);

Tensor *op_add(Tape *tape, Tensor *a, Tensor *b);
Tensor *op_multiply(Tape *tape, Tensor *a, Tensor *b); /* element by element */

/* y = gain x + bias, column by column. */
Tensor *op_scale_offset(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias);

/* Row i of x (R, C) times s_(i mod n), one of the n numbers s; R is a multiple of n. */
Tensor *op_scale_rows(Tape *tape, Tensor *x, Tensor *s);

/* Each block of `rows` rows of x (R, C), `n` times: (n R, C). */
Tensor *op_repeat(Tape *tape, Tensor *x, int rows, int n);

/*
 * The n rows at[0] < at[1] < .. of x; and x (n, C) as these rows of (rows, C), where the others
 * are 0. `at` must stay valid until the backward pass.
 */
Tensor *op_pick(Tape *tape, Tensor *x, const int *at, int n);
Tensor *op_place(Tape *tape, Tensor *x, const int *at, int rows);

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
