/*
 * Every mechanism again, as a textbook has it: forward and backward in plain loops, in
 * double, from the paper's formulas alone and without regard for speed. The tests hold
 * the fast code to it, and so does ./gradcheck --plain.
 *
 * A twin computes one head of one sequence. Its operands are rows without gaps: q and k
 * (T, D), v (T, E), and the mechanism's own without their dimensions B and H.
 *
 * Letters in all twins: i is the position of a query, j and l of keys, g the gradient of
 * o, and dx the gradient of x; [j = l] is 1 if j is l, else 0.
 */
#ifndef OPS_ATTENTION_PLAIN_PLAIN_H
#define OPS_ATTENTION_PLAIN_PLAIN_H

#include "ops/attention.h"

/* Operands, or their gradients: q, k, v, and the others in the order of the row. */
typedef union {
    struct {
        double *q, *k, *v;
    };
    double *x[OPERANDS_MAX];
} PlainTensors;

/* A whole mix: operands (B, T, H, ...) as ops/attention.h has them; NULL: not there. */
typedef struct {
    const Attention *attention;
    int B, T, H, D, E, m;
    bool causal, rope;
    RopeScale rope_scale;
    const int *length; /* (B), or NULL */
    Values set;
    PlainTensors in;
} PlainMix;

/*
 * o (B, T, H, E); and with g (B, T, H, E), the gradient of o, adds those of the operands
 * to `d`, where a NULL is left out.
 */
void plain_mix(const PlainMix *mix, double *o, const double *g, const PlainTensors *d);

/* One head of it. */
typedef struct PlainHead {
    const PlainMix *mix;
    int head; /* from 0 */
    int T, D, E, m;
    int window, length; /* 0: no window; keys from `length` on are padding */
    PlainTensors in;
    double *o;       /* (T, E), zeros before */
    const double *g; /* (T, E), the gradient of o; NULL: forward alone */
    PlainTensors d;  /* the gradients of the operands, zeros before; always there */
    Arena *memory;   /* for plain_zeros() */
} PlainHead;

/* Whether row i sees key j: j in V(i). */
bool plain_sees(const PlainHead *x, int i, int j);

/* n_i, the number of keys that row i sees. */
int plain_seen(const PlainHead *x, int i);

/*
 * max(z, 1e-6), or min(z, -1e-6) where z is negative. Where that is not z it is a constant for
 * the gradient.
 */
double plain_guard(double z);

/*
 * Rows (T, width) rotated by RoPE, as a copy; and rows of a gradient rotated back, in
 * place. Where the mix has no RoPE nothing rotates.
 */
double *plain_rotated(const PlainHead *x, const double *rows, int width);
void plain_rotate_back(const PlainHead *x, double *rows, int width);

/* An operand of the mechanism's own by its name, and its gradient. */
double *plain_operand(const PlainHead *x, const char *name);
double *plain_gradient(const PlainHead *x, const char *name);

/* n zeros, freed with the head. */
double *plain_zeros(const PlainHead *x, int n);

/* The product a.b of two vectors; and a += s b. */
double plain_dot(const double *a, const double *b, int n);
void plain_add(double *a, double s, const double *b, int n);

/*
 * Of rows (T, width): the (T, T) products a_i.b_j where row i sees key j, else 0; and with
 * A (T, T), o += A v and dv += A^T g.
 */
double *plain_products(const PlainHead *x, const double *a, const double *b, int width);
void plain_times(const PlainHead *x, const double *A, const double *v, int width, double *o);
void plain_transposed_times(const PlainHead *x, const double *A, const double *g, int width,
                            double *dv);

#endif
