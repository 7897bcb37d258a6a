/*
 * Attentive pooling of a growing prefix: the average of the keys so far under a softmax of one
 * logit per key, and its backward pass. pooling.c has the derivation.
 */
#ifndef OPS_ATTENTION_ENGINE_POOLING_H
#define OPS_ATTENTION_ENGINE_POOLING_H

#include "ops/attention/engine/head.h"

/* The weights with which each key of a chunk was added: y' = keep y + share x. */
typedef struct {
    real share[TILE], keep[TILE];
} Blend;

/* Keys are added in chunks of TILE; only the last may have fewer. */
typedef struct {
    int D, ld;       /* `ld`: stride of rows */
    const real *w;   /* (D) */
    real *states;    /* the state before each chunk, and the last; NULL: only one state */
    real *y, *l, *m; /* the state: the pool of the keys so far (D), and their l and m */
    real *rows;      /* (TILE, ld): y after each key of the chunk; NULL: not wanted */
    Blend *blend;    /* of the chunk */
    real *U, *dw, u; /* for the backward pass, initially 0: (D), (D) and one number */
} Pooling;

/* The size of a state in numbers. All zeros are an empty pool. */
size_t pooling_state(int D);

/* Continues from that state, in place. */
void pooling_at(Pooling *pool, real *state);

/*
 * Adds x.n keys: those of the chunk at x.t0 or, without `states`, the next ones. Later rows of the
 * chunk are set to the pool after the last of them.
 */
void pooling_add(Pooling *pool, Rows x);

/* Sets all rows to the pool of all chunks, given their number. */
void pooling_settle(Pooling *pool, int chunks);

/*
 * The backward pass of the chunk added last: g has the gradients of its rows, at least as many as
 * there are keys x, and is overwritten with the gradients of the keys. Chunks run from the last to
 * the first. If all rows have the pool of all chunks, the rows of all chunks come first, without
 * keys, and then the keys, with g = 0.
 */
void pooling_back(Pooling *pool, Rows g, Rows x);

#endif
