/*
 * Products with lower triangular matrices (TILE, TILE), the pairs of a chunk: twice as fast as with
 * whole ones. All have the first n rows of a chunk, n a multiple of MR.
 */
#ifndef OPS_ATTENTION_ENGINE_LOWER_H
#define OPS_ATTENTION_ENGINE_LOWER_H

#include "ops/attention/engine/head.h"

/* Row t of A = a_t times the columns s <= t of bt (depth, TILE), and a few after them. */
void lower_scores(real *A, Rows a, int depth, const real *bt);

/* Zeros in A where s > t; with `strict` where s = t, too. */
void lower_clear(real *A, int n, bool strict);

/* c += A x, row by row: what comes after row t does not enter row t, not even times 0. */
void lower_multiply(Rows c, const real *A, Rows x);

/* c += A x and c += A^T x, where A has zeros above its diagonal, at least in groups of MR rows. */
void lower_multiply_clear(Rows c, const real *A, Rows x);
void lower_multiply_over(Rows c, const real *A, Rows x);

/* u = (1 - A)^-1 u and u = (1 - A)^-T u, where A is strict: below the diagonal. */
void lower_solve(Rows u, const real *A);
void lower_solve_over(Rows u, const real *A);

#endif
