/*
 * Softmax attention of n rows over a different number of keys: o = softmax(q k^T) v, forward and
 * backward, a tile of keys at a time. Nothing is stored but two numbers per row (the derivation is
 * at the head of tiles.c, which is for rows and keys of one sequence).
 *
 * All rows are copies in a thread's scratch memory: q already scaled, each with room for up_to(n,
 * MR) rows, of which those past n may hold anything.
 */
#ifndef OPS_ATTENTION_ENGINE_CROSS_H
#define OPS_ATTENTION_ENGINE_CROSS_H

#include "ops/attention/engine/tiles.h"

typedef struct {
    int D, E;               /* of the tensors */
    Rows q, o;              /* o: the sums so far, then the result */
    Rows k, v;              /* any number of keys, or a tile of them */
    Rows g, dq, dk, dv;     /* backward: g = do; the others are added to */
    RowState *row;          /* of the rows of q */
    real *kt, *vt, *s, *ds; /* (D, TILE), (E, TILE), (TILE, TILE): cross_scratch() */
    real *clean;            /* (TILE, E) */
    /*
     * Sets scores of the tile at key j0 that row i does not see to -infinity; false if it sees
     * none. NULL: all rows see all keys.
     */
    bool (*hide)(const void *ctx, int i, int j0, real *s);
    /*
     * The scores of a tile, rows i0 .. and keys j0 .., n of these, instead of q k^T; and what takes
     * their gradient instead of dq and dk. NULL: q and k.
     */
    void (*score)(const void *ctx, int i0, int j0, int n, real *s);
    void (*take)(const void *ctx, int i0, int j0, int n, const real *ds);
    const void *ctx;
} Cross;

/* The numbers of kt, vt, s and ds, and carves them. */
size_t cross_scratch(int D, int E);
void cross_carve(Cross *x, real **free);

/* Multiplies rows by a number. */
void cross_scale(Rows x, int width, real by);

void cross_start(const Cross *x);    /* before the first key */
void cross_add(const Cross *x);      /* the keys of k and v, after those before */
void cross_finish(const Cross *x);   /* o is the result; zeros if no key was seen */
void cross_delta(const Cross *x);    /* delta of the rows, from g and o, for the backward pass */
void cross_backward(const Cross *x); /* the same keys: adds to dq, dk and dv */

#endif
