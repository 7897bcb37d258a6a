/*
 * A chunk of a head (see chunk.h) in which each feature of the keys has its own decay: g_t is a
 * vector of D numbers, and so is b_t, the sum of g_s over the s <= t in the chunk. The product of
 * row t and key s <= t is
 *
 *     A_ts = sum over d of q_td k_sd e^(b_td - b_sd)
 *
 * which is a matrix product if the exponent is divided between q and k, but then either part may
 * overflow. So rows are divided into segments. With a the first row of t's segment,
 *
 *     A_ts = (q_t * e^(b_t - b_a)) . (k_s * e^(b_a - b_s))
 *
 * where the first exponent is never positive, nor is the second for keys before a; for keys in the
 * segment itself it is at most FAR, since a segment ends where any feature has decayed by more.
 * With weak decays, the usual case, a segment is a whole chunk. Where a segment ends depends only
 * on rows before its end, so no row depends on later ones.
 *
 * Keys are first scaled for their own segment, then, from one segment to the next, by
 *
 *     step_m = e^(b_a(m) - b_a(m-1))
 */
#ifndef OPS_ATTENTION_ENGINE_SEGMENTS_H
#define OPS_ATTENTION_ENGINE_SEGMENTS_H

#include "ops/attention/engine/chunk.h"

#ifdef PROOF
#define FAR R(0.5)
#else
#define FAR R(16)
#endif

/* All rows are D wide, the width of the copies, and rows to write to have room for TILE + MR. */
typedef struct {
    int D, n, count;     /* n: the chunk's keys that are not padding; count: segments */
    int start[TILE + 1]; /* their first rows, and TILE */
    real *before;        /* (TILE, D): e^(b_t) */
    real *after;         /* (TILE, D): e^(b_C - b_t) */
    real *row, *key;     /* (TILE, D): e^(b_t - b_a), and its inverse */
    real *step;          /* (TILE, D): of segment m, from 1 */
    real *all;           /* (D): e^(b_C) */
} Segments;

/* In scratch memory. */
size_t segments_room(int D);
Segments segments_open(real **scratch, int D);

/* From a tensor (B, T, H, width), for the chunk at t0 with n keys. */
void segments_load(Segments *x, const Head *head, const Tensor *g, int t0, int n);

/* x *= y, element by element, in the first n rows. */
void rows_times(Rows x, const real *y, int n);

/* A (TILE + MR, TILE), zeros for s > t, from q times `row` and the transpose of k times `key`,
 * which changes. */
void segments_scores(const Segments *x, real *A, Rows q, real *kt);

/* dq = P k, then times `row`, where P is zeros for s > t; k is k times `key`, and changes. */
void segments_rows(const Segments *x, Rows dq, const real *P, Rows k);

/* dk = P^T q, then times `key`, from q times `row`. */
void segments_keys(const Segments *x, Rows dk, const real *P, Rows q);

/* S = diag(by) S + A^T B, where S is (height, B.ld). */
void state_pass_each(real *S, int height, const real *by, Rows A, Rows B);

#endif
