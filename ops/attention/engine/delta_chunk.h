/*
 * A chunk of TILE positions of a head, for delta_scan.c: its rows, and how they decay.
 *
 * Rows on the left, a_t and q_t, meet rows on the right, x_s: b_s, and also k_s where k v^T is
 * added to the state. Beside each x_s is the y_s that it puts into the state: u_s, or v_s.
 */
#ifndef OPS_ATTENTION_ENGINE_DELTA_CHUNK_H
#define OPS_ATTENTION_ENGINE_DELTA_CHUNK_H

#include "ops/attention/engine/chunk.h"
#include "ops/attention/engine/delta.h"

typedef struct {
    Node node;
    Mix in;
    MixSize s;
    const DeltaRule *rule;
    const struct Fading *fading;
    Tensor *beta, *g, *a, *b; /* NULL: no operand of the row */
    real *u;                  /* kept: (B, T, H, E); NULL: there will be no backward pass */
    States S;
    Grad dq, dk, dv, dbeta, dg, da, db;
} Delta;

typedef struct {
    Rows x, y, dx, dy;
    real *A, *P;   /* (TILE, TILE): a_t . x_s for s < t and q_t . x_s for s <= t, decayed, else 0 */
    real *dA, *dP; /* the diagonal of dP is 0: */
    real *dself;   /* (TILE), the gradients of q_t . x_t, which does not decay */
} Side;

typedef struct {
    const Delta *op;
    Head head;
    int T, length, D, E; /* D and E of the copies */
    int t0, n;           /* n: the keys of the chunk that are no padding */
    Rows q, a, v, beta, o, go;
    Rows g; /* of features */
    Rows dq, da, dv, dbeta, dg;
    Rows read, left; /* see Fading */
    Side side[2];    /* with b and u; with k and v */
    int sides;
    real *S, *R, *St; /* (D, E), and one of them transposed: (E, D) */
    real *xt, *yt;    /* x or y transposed: (D, TILE), (E, TILE) */
    Decays decays;    /* if they are of heads; or room for those of features */
    real *room;
} Chunk;

/* The decay between positions: a number e^g for the whole head, or one for each feature. */
typedef struct Fading {
    size_t (*room)(int D);
    void (*load)(Chunk *x);                          /* from x->g */
    void (*pairs)(Chunk *x);                         /* A and P of each side */
    void (*read)(const Chunk *x, Rows of, bool own); /* read = rows decayed since the chunk began */
    void (*leave)(const Chunk *x, Rows of);          /* left = rows decayed until it ends */
    void (*fade)(const Chunk *x, real *S);           /* S decays from its beginning to its end */
    /*
     * dq, da and dx: adds the part from dA and dP. Before it they hold the gradients of rows
     * decayed by read() and leave(), of which it makes those of the rows.
     */
    void (*back)(Chunk *x);
    void (*gradient)(Chunk *x, const real *S); /* dg; S is what the chunk leaves, NULL: not read */
} Fading;

extern const Fading fading_of_head, fading_of_features;

/* Whether a_t is decayed by w_t itself, as q_t always is. */
static inline bool chunk_own(const Chunk *x)
{
    return !x->op->rule->own;
}

size_t chunk_scratch(const Delta *op);
Chunk chunk_open(const Delta *op, int number);

/* Reads positions t0 .. t0+TILE-1; for a backward pass also u and the gradient of o. */
void chunk_load(Chunk *x, int t0, bool back);

/* Writes the gradients of the operands. */
void chunk_put(Chunk *x);

#endif
