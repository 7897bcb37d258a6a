/*
 * Attentive pooling of a growing prefix: the average of the keys so far under a
 * softmax of one logit each, and its backward. pooling.c has the derivation.
 */
#ifndef OPS_ATTENTION_ENGINE_POOLING_H
#define OPS_ATTENTION_ENGINE_POOLING_H

#include "ops/attention/engine/head.h"

/* How each key of a chunk came into the pool: y' = keep y + share x. */
typedef struct {
    real share[TILE], keep[TILE];
} Blend;

/* Keys come in chunks of TILE, of which only the last has less. */
typedef struct {
    int D, ld;       /* `ld` of rows */
    const real *w;   /* (D) */
    real *states;    /* the state that each chunk found, and the last; NULL where there is one */
    real *y, *l, *m; /* the state: the pool of the keys so far (D), and their l and m */
    real *rows;      /* (TILE, ld): y as each key of the chunk left it; NULL: not wanted */
    Blend *blend;    /* of the chunk */
    real *U, *dw, u; /* the way back, from zeros: (D), (D) and one */
} Pooling;

/* The numbers of a state. All zeros are a pool of no key. */
size_t pooling_state(int D);

/* Goes on from that state, where it lies. */
void pooling_at(Pooling *pool, real *state);

/*
 * Takes x.n keys in: those of the chunk at x.t0 or, without `states`, the next.
 * Rows of the chunk after these have the pool that the last of them left.
 */
void pooling_add(Pooling *pool, Rows x);

/* All rows have the pool of all chunks, of which there are so many. */
void pooling_settle(Pooling *pool, int chunks);

/*
 * The way back from the chunk that was taken in last: G has the gradients of its
 * rows, at least as many as there are keys x, and those of the keys take their
 * place. The chunks come from the last to the first. Where all rows have the pool
 * of all chunks, the rows of all chunks come first, without keys, and then the
 * keys, with G = 0.
 */
void pooling_back(Pooling *pool, Rows G, Rows x);

#endif
