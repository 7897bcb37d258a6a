/*
 * Attentive pooling of a growing prefix: the average of the keys so far under a
 * softmax of one logit each, and its backward. pooling.c has the derivation.
 */
#ifndef OPS_ATTENTION_POOLING_H
#define OPS_ATTENTION_POOLING_H

#include "ops/real.h"

#include <stddef.h>

/* How a key came into the pool: y' = keep y + share x. */
typedef struct {
    real share, keep;
} Blend;

typedef struct {
    int D;
    const real *w;    /* (D) */
    real *y, *l, *m;  /* the state: the pool of the keys so far (D), and their l and m */
    real *rows;       /* (keys, D): y as each key left it; NULL: there will be no way back */
    Blend *blend;     /* (keys) */
    real *U, *dw, *t; /* (D) each; t is for the moment */
    real u;
} Pooling;

/* The numbers of a state, which come first, and all with a way back for so many keys. */
size_t pooling_state(int D);
size_t pooling_size(int D, int keys);

/* A pool in that memory. Its state is what is there: all zeros are a pool of no key. */
Pooling pooling_at(real *memory, const real *w, int D, int keys);

/* Takes key j in, the one after j-1. */
void pooling_add(Pooling *pool, int j, const real *restrict x);

/* y as key j left it; without a way back, as the last key did. */
const real *pooling_row(const Pooling *pool, int j);

/*
 * The way back, with `dw` for what is added to the gradient of w: each time that
 * row j was used, its gradient G; after these, key j: dx is assigned.
 */
void pooling_row_back(Pooling *pool, int j, const real *restrict G);
void pooling_add_back(Pooling *pool, int j, const real *restrict x, real *restrict dx);

#endif
