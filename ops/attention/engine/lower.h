/*
 * Products with lower triangular matrices (TILE, TILE), the pairs of a chunk, in half the time of
 * full products. All use the first n rows of a chunk, with n a multiple of MR.
 */
#ifndef OPS_ATTENTION_ENGINE_LOWER_H
#define OPS_ATTENTION_ENGINE_LOWER_H

#include "ops/attention/engine/head.h"

/* Row t of A = a_t times the columns s <= t of bt (depth, TILE), and a few after them. */
void lower_scores(real *A, Rows a, int depth, const real *bt);

/* Clears A where s > t; if `strict`, also where s = t. */
void lower_clear(real *A, int n, bool strict);

/* c += A x, row by row: later rows of x do not enter row t, not even multiplied by 0. */
void lower_multiply(Rows c, const real *A, Rows x);

/* c += A x and c += A^T x, where A has zeros above its diagonal, at least in groups of MR rows. */
void lower_multiply_clear(Rows c, const real *A, Rows x);
void lower_multiply_over(Rows c, const real *A, Rows x);

/* u = (1 - A)^-1 u and u = (1 - A)^-T u, for a strictly lower triangular A. */
void lower_solve(Rows u, const real *A);
void lower_solve_over(Rows u, const real *A);

#endif
