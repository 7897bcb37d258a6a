/*
 * Feature maps that multiply rows by a matrix, an operand W (H, R, D) of the mechanism, times a
 * number s:
 *
 *     y = s W x          dx = s W^T dy          dW = s (sum over rows of dy x^T)
 *
 * Whole tiles are multiplied by the kernel, with two layouts of s W that all heads' rows share; a
 * single row, in decoding, in plain loops.
 */
#ifndef OPS_ATTENTION_ENGINE_HEAD_MATRIX_H
#define OPS_ATTENTION_ENGINE_HEAD_MATRIX_H

#include "ops/attention/engine/features.h"

typedef struct {
    const Tensor *w;
    real s;
    real *to_y, *to_x; /* of all heads: (H, D, R') and (H, R, D'), padded as in head.h */
    int wide_y, wide_x;
} HeadMatrix;

/* In memory of the node. */
const HeadMatrix *head_matrix(Node *node, const Tensor *w, real s);

/* Rows of R numbers, ldf apart like those of the features. */
void head_matrix_multiply(const HeadMatrix *a, const MapRows *m, const real *x, real *y);
/* One row, in decoding. */
void head_matrix_row(const Tensor *w, real s, const MapRows *m, const real *x, real *y);
void head_matrix_back(const HeadMatrix *a, const MapRows *m, const real *dy, real *dx);
/* Adds to m->dw, if there is one; dy is overwritten. */
void head_matrix_learn(const HeadMatrix *a, const MapRows *m, const real *x, real *dy);

#endif
