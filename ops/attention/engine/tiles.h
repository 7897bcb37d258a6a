/*
 * Attention over pairs, for every mechanism whose weights are a function of the scores:
 *
 *     s_ij = tau_i q_i . k_j      A_ij = w(s_ij) / c_i      o_i = sum over j of A_ij v_j
 *
 * over j in V(i), where c_i is either a function of the number of keys or the sum of w(s_ij).
 * The matrix is computed a tile at a time and never stored; softmax.c, weights.c, gau.c
 * and flash_gau.c define w, tau and c. The derivation is at the head of tiles.c.
 */
#ifndef OPS_ATTENTION_ENGINE_TILES_H
#define OPS_ATTENTION_ENGINE_TILES_H

#include "ops/attention/engine/forget.h"

/* The state of a row: m and c of the keys so far; delta in the backward pass. */
typedef struct {
    real m, c, delta;
} RowState;

/*
 * w and its derivative, for parts of a row whose length is a multiple of SUMS. The score of a
 * hidden key is `hidden`, and its weight must be 0.
 */
typedef struct {
    real hidden;
    bool averages; /* c_i is the sum of the row's weights, guarded */
    bool null;     /* and of that of the null key, whose value is 0 and which is always seen */
    /* Replaces s by w(s) e^-m and, if the weight averages, adds them to c. If m changes, the sums
     * so far, o (E) and c, are rescaled. */
    void (*weigh)(real *s, int n, real *o, int E, RowState *row);
    /* Replaces s by A, and dA by ds = w'(s) / c (dA - delta), with c of the whole row. */
    void (*unweigh)(real *s, real *dA, int n, const RowState *row);
    double (*weight)(double s); /* w(s), for attention_sums(); NULL: it has none */
} Weighting;

extern const Weighting weighting_plain; /* w(s) = s, and c stays as it is */

/* Copies of rows, padded to whole tiles, and their products. */
typedef struct {
    const Weighting *weighting;
    View view;
    int tile;        /* rows and keys of a tile: a multiple of NR and SUMS; if not alone, of MR */
    int depth, wide; /* D and E of the tensors */
    int D, E;        /* widths of the copies */
    int i0, j0;      /* the positions of the first rows: of q, g, dq; of k, v */
    real *q, *g;     /* (.., D), (.., E); g = do */
    real *k, *kt;    /* (.., D); a tile of kt is (depth, tile) */
    real *v, *vt;    /* (.., E); a tile of vt is (wide, tile) */
    real *o;         /* (tile, E): the rows of one tile */
    real *dq, *dk, *dv; /* (.., D); the keys of one tile. NULL: not wanted (dk and dv together) */
    real *s, *ds;       /* (tile, tile) */
    const real *L;      /* (tile, tile): factors of the weights; NULL: 1 */
    real *W;            /* (tile, tile): receives A dA of visible pairs; NULL: not wanted */
    bool adds;          /* dk and dv hold something, to which is added */
    const real *w, *f;  /* w[j - i] f[n_i] is added to s_ij, for n_i keys; NULL: nothing */
    real *dw;           /* the gradient of w, to add to */
    RowState *row;      /* (T); NULL for weighting_plain */
    Forget *forget;     /* fades the scores, and takes ds; NULL: nothing */
    const bool *met;    /* whether rows of a tile see keys of another; NULL: if their spans do */
} Tiles;

/* For the rows of the tile at i0: sums w v into o, and computes m and c. Needs q, kt and v. */
void tiles_forward(Tiles *x, int i0);

/*
 * For the keys of the tile at j0 and all rows that see them: adds to dq, computes dk and dv (or
 * adds to them). Needs k (for dq), kt, vt, q (for dk) and g. W is for a single tile of rows.
 */
void tiles_backward(Tiles *x, int j0);

/* The rest is for the files tiles*.c alone. */

/*
 * For a group of MR rows: the keys of each row, their union, and, unless it is ragged, their
 * intersection. For the intersection rows beyond T count as if they existed, so that the first rows
 * of a longer sequence are computed in the same way.
 */
typedef struct {
    Span row[MR], any, all;
    bool ragged; /* some row sees only some of its span: those that are `seen` */
    bool seen[MR][2 * TILE];
} Group;

/* The group of rows from i on, and keys of the tile at j0. */
void group_of(Group *g, const Tiles *x, int i, int j0);

/* Whether rows of the tile at i0 may see keys of the one at j0. */
bool tiles_meet(const Tiles *x, int i0, int j0);

/* s = MR rows of a times a transposed tile, for `keys` and a few around them. */
void tiles_scores(real *s, Factors f, Span keys);

/*
 * c (MR rows, as far apart as those of b) += s times rows of b, of `wide` numbers each, where s(i,
 * p) = s[i * rs + p * cs] for p < n.
 */
void tiles_accumulate(real *c, Factors f, int wide);

/* Hides the scores of keys that row r does not see, out to multiples of SUMS; returns these bounds.
 */
Span tiles_hide(real *s, const Group *g, int r, real hidden);

/* Weights, or their gradients, of row i times L. */
void tiles_times_L(const Tiles *x, int i, Span seen, real *s);

/* f_i of the bias of row i; adds the bias to its scores, and what they fade by. */
real tiles_gain(const Tiles *x, int i);
void tiles_add_bias(const Tiles *x, int i, int j0, Span seen, real *s);

#endif
