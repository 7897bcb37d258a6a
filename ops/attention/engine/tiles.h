/*
 * Attention over pairs, for every mechanism whose weights are a function of
 * scores of pairs:
 *
 *     s_ij = tau_i q_i . k_j      A_ij = w(s_ij) / c_i      o_i = sum of A_ij v_j
 *
 * over j in V(i), where c_i is a number of the row or the sum of its w(s_ij).
 * The matrix is made a tile at a time and never stored; softmax.c, gau.c and
 * flash.c say what w, tau and c are. The derivation is at the head of tiles.c.
 */
#ifndef OPS_ATTENTION_ENGINE_TILES_H
#define OPS_ATTENTION_ENGINE_TILES_H

#include "ops/attention/engine/head.h"

/* What is known of a row: m and c while its keys pass by, delta on the way back. */
typedef struct {
    real m, c, delta;
} RowState;

/*
 * w and its derivative, on parts of a row that are whole multiples of SUMS long.
 * A score that is not to be seen is `hidden`, and its weight must come out as 0.
 */
typedef struct {
    real hidden;
    bool averages; /* c_i is the sum of the row's weights, guarded */
    /* s becomes w(s) e^-m; where that moves m, what is summed up so far, o (E) and c, follows. */
    void (*weigh)(real *s, int n, real *o, int E, RowState *row);
    /* s becomes A, and dA becomes dA_ij/ds_ij (dA - delta), where c is that of the whole row. */
    void (*unweigh)(real *s, real *dA, int n, const RowState *row);
} Weighting;

extern const Weighting weighting_plain; /* w(s) = s, and c is left at what it is */

/* Rows of copies that are whole tiles, and what they are multiplied to. */
typedef struct {
    const Weighting *weighting;
    View view;
    int tile;           /* rows and keys of one: whole kernels, and whole sums */
    int depth, wide;    /* D and E of the tensors */
    int D, E;           /* of the copies: whole kernels */
    int i0, j0;         /* the positions of the first rows in what follows: of q, g, dq; of k, v */
    real *q, *g;        /* (.., D), (.., E); g = do */
    real *k, *kt;       /* (.., D); a tile of kt is (depth, tile) */
    real *v, *vt;       /* (.., E); a tile of vt is (wide, tile) */
    real *o;            /* (tile, E): the rows of one tile */
    real *dq, *dk, *dv; /* (.., D); the keys of one tile. NULL: not wanted (dk and dv together) */
    real *s, *ds;       /* (tile, tile) */
    const real *L;      /* (tile, tile): weights are multiplied by it; NULL: by 1 */
    RowState *row;      /* (T); NULL where the weighting is plain */
} Tiles;

/* The rows of the tile at i0: sums of w v in o, and m and c of these rows. Wants q, kt and v. */
void tiles_forward(Tiles *x, int i0);

/*
 * The keys of the tile at j0, and all rows that see them: adds to dq, makes dk and
 * dv. Wants k (for dq), kt, vt, q (for dk) and g.
 */
void tiles_backward(Tiles *x, int j0);

#endif
