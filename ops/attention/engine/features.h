/*
 * The feature maps of a mechanism with linear attention: phi of q and psi of k. The engine
 * (linear.h) does the rest.
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
    const real *stat; /* of the rows of q, contiguous */
    int live;         /* the first rows, which are positions and, of k, not padding */
    real *dw;         /* `chain` adds to it: see `learn`; NULL: nothing is learned */
} MapRows;

typedef struct {
    int (*features)(int D, int m);
    /*
     * Computes f = phi(x) or psi(x); and dx from df, both assigned, not added to. chain() may
     * overwrite df, and the two rows of memory after dx.
     */
    void (*apply)(const MapRows *m, const real *x, real *f);
    void (*chain)(const MapRows *m, const real *x, const real *f, real *df, real *dx);
    /*
     * The numbers per row that phi needs besides q_i, computed from z_i by `measure`; NULL: none.
     * If `shifted` (exp), it is one number p, and phi = e^q 2^-p, where 2^-p cancels in A.
     * Otherwise (efficient) it is z_i itself: phi is divided by it, and A has no other denominator.
     */
    int (*stats)(int F);
    void (*measure)(const real *q, const real *z, int F, real *stat);
    bool shifted;
    /*
     * Computes data shared by all rows of a mix, kept by its node; NULL: none. A map with such data
     * works on whole tiles, whose rows beyond the last position are undefined.
     */
    const void *(*prepare)(Node *node, const Mix *in);
    int (*ladder)(const MixSize *size); /* see linear.h; NULL: all features */
    /* The operands w (H, R, D) of q's map and of k's, which may be one, and may be learned: dw is
     * the head's part of its gradient, rows of D numbers each padded as in head.h; NULL: none. */
    const char *learn[2];
} FeatureMap;

/* One feature per entry of q and k. */
int features_same(int D, int m);

/* The engine; Attention.rule is the FeatureMap. */
extern const Engine engine_linear;

/* Its parts, for a mechanism with its own decoding. */
Tensor *linear_mix(Tape *tape, const Mix *in);
void linear_step(const Step *s); /* `o` NULL: only adds the key */
size_t linear_state(const MixSize *size);
double linear_cost(const MixSize *size);
double linear_maps_cost(const MixSize *size); /* the products of q and k with `learn`'s operands */
MixMemory linear_memory(const MixSize *size);
int linear_rotated(const MixSize *size);
int linear_rank(const MixSize *size);
bool linear_sums(Tape *tape, const Mix *in, double *c);

/* Rotated before the map, weights depend on positions: for Attention.more_traits. */
unsigned linear_traits(const Values *set);

#endif
