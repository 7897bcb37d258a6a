/*
 * What a mechanism with linear attention consists of: its feature maps, phi of q and
 * psi of k. The engine (linear.h) does the rest.
 */
#ifndef OPS_ATTENTION_ENGINE_FEATURES_H
#define OPS_ATTENTION_ENGINE_FEATURES_H

#include "ops/attention.h"

/* Rows of q, or of k, of one head: positions t0 .. t0+n-1 of T. */
typedef struct {
    const Mix *in;
    const void *prepared; /* by the map, below; NULL in decoding */
    bool key;
    int T, head, t0, n, D, F, ldx, ldf;
    const real *stat; /* of the rows of q, one after the other */
} MapRows;

typedef struct {
    int (*features)(int D, int m);
    /* f = phi(x), or psi(x); and dx from df, which may be overwritten. */
    void (*apply)(const MapRows *m, const real *x, real *f);
    void (*chain)(const MapRows *m, const real *x, const real *f, real *df, real *dx);
    /*
     * What phi of a row takes from z_i beside q_i, this many numbers per row; NULL: nothing.
     * `shifted` (exp): one number p, and phi is e^q 2^-p, where 2^-p cancels in A. Otherwise
     * (efficient) z_i itself: phi is divided by it, and A has no other denominator.
     */
    int (*stats)(int F);
    void (*measure)(const real *q, const real *z, int F, real *stat);
    bool shifted;
    /*
     * What all rows of a mix have in common, kept by its node; NULL: nothing. Such a map works
     * on whole tiles, whose rows beyond the last position hold anything.
     */
    const void *(*prepare)(Node *node, const Mix *in);
} FeatureMap;

/* As many features as q and k have numbers. */
int features_same(int D, int m);

/* The engine; the row's rule is its FeatureMap. */
extern const Engine engine_linear;

/* Its parts, for a mechanism that decodes in a way of its own. */
Tensor *linear_mix(Tape *tape, const Mix *in);
void linear_step(const Step *s); /* `o` NULL: the key is remembered, and nothing is asked */
size_t linear_state(const MixSize *size);
double linear_cost(const MixSize *size);
MixMemory linear_memory(const MixSize *size);
int linear_rotated(const MixSize *size);

#endif
