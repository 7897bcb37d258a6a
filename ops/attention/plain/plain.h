/*
 * Every mechanism a second time, as in a textbook: forward and backward in plain loops, in double,
 * from the paper's formulas alone and without regard for speed. The tests and ./gradcheck --plain
 * compare the fast code with these twins.
 *
 * A twin computes one head of one sequence. Its operands are contiguous rows: q and k (T, D), v (T,
 * E), and the mechanism's own without their dimensions B and H.
 *
 * Letters in all twins: i is the position of a query, j and l of keys, g the gradient of
 * o, and dx the gradient of x; [j = l] is 1 if j is l, else 0. Where g is the logarithm of a decay,
 * the gradient of o is do.
 */
#ifndef OPS_ATTENTION_PLAIN_PLAIN_H
#define OPS_ATTENTION_PLAIN_PLAIN_H

#include "ops/attention.h"

/* Operands, or their gradients: q, k, v, then the others in the row's order. */
typedef union {
    struct {
        double *q, *k, *v;
    };
    double *x[OPERANDS_MAX];
} PlainTensors;

/* A whole mix: operands (B, T, H, ...) as in ops/attention.h; NULL: not used. */
typedef struct {
    const Attention *attention;
    int B, T, H, D, E, m, context;
    bool causal, rope;
    RopeScale rope_scale;
    int layer, layers;
    const int *length; /* (B), or NULL */
    Values set;
    PlainTensors in;
    double *c; /* (B, H, T), for attention_sums(); NULL: not wanted */
} PlainMix;

/*
 * Computes o (B, T, H, E). Given g (B, T, H, E), the gradient of o, also adds the gradients of the
 * operands to `d`, except where `d` is NULL.
 */
void plain_mix(const PlainMix *mix, double *o, const double *g, const PlainTensors *d);

/* One head of it. */
typedef struct PlainHead {
    const PlainMix *mix;
    int head; /* from 0 */
    int T, D, E, m;
    int window, length; /* 0: no window; keys from `length` on are padding */
    PlainTensors in;
    double *o;       /* (T, E), initially 0 */
    const double *g; /* (T, E), the gradient of o; NULL: forward only */
    PlainTensors d;  /* the gradients of the operands, initially 0; never NULL */
    double *c;       /* (T), or NULL */
    Arena *memory;   /* for plain_zeros() */
} PlainHead;

/* Whether row i sees key j: j in V(i). */
bool plain_sees(const PlainHead *x, int i, int j);

/* That of the mechanism, apart from causality, padding and windows. */
PlainSees plain_sees_longformer, plain_sees_bigbird, plain_sees_sparse, plain_sees_local;

/* n_i, the number of keys that row i sees. */
int plain_seen(const PlainHead *x, int i);

/*
 * max(z, 1e-6), or min(z, -1e-6) if z is negative. Where this is not z, it has no gradient.
 */
double plain_guard(double z);

/*
 * A copy of rows (T, width) rotated by RoPE; and rows of a gradient rotated back, in place. Without
 * RoPE, nothing is rotated. The frequencies start again every `ladder` numbers of a row.
 */
double *plain_rotated(const PlainHead *x, const double *rows, int width, int ladder);
void plain_rotate_back(const PlainHead *x, double *rows, int width, int ladder);

/* The same in place, with or without RoPE, forward (sign 1) or back (-1). */
void plain_turn(const PlainHead *x, double *rows, int width, double sign);

/* Whether RoPE rotates q and k before the feature map: --rope-at before. */
bool plain_rotates_before(const PlainHead *x);

/* One of the mechanism's own operands by name, and its gradient. */
double *plain_operand(const PlainHead *x, const char *name);
double *plain_gradient(const PlainHead *x, const char *name);

/* Sets c_i, the sum of row i's weights before any division, if it is wanted. */
void plain_put_sum(const PlainHead *x, int i, double c);

/* n zeros, freed with the head. */
double *plain_zeros(const PlainHead *x, int n);

/* The product a.b of two vectors; and a += s b. */
double plain_dot(const double *a, const double *b, int n);
void plain_add(double *a, double s, const double *b, int n);

/*
 * For rows (T, width): the (T, T) products a_i.b_j where row i sees key j, else 0; o += A v and dv
 * += A^T g for A (T, T).
 */
double *plain_products(const PlainHead *x, const double *a, const double *b, int width);
void plain_times(const PlainHead *x, const double *A, const double *v, int width, double *o);
void plain_transposed_times(const PlainHead *x, const double *A, const double *g, int width,
                            double *dv);

#endif
