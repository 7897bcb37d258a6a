/* Matrix product, for any layout of its operands. */
#ifndef OPS_KERNEL_GEMM_H
#define OPS_KERNEL_GEMM_H

#include "ops/base/pool.h"
#include "ops/kernel/matrix.h"
#include "ops/kernel/precision.h"

#include <stdbool.h>

/*
 * c = a b, or c += a b when `add`. The columns of c are next to each other in
 * memory. `finish`, if there is one, is called once for each row i and columns
 * j0 .. j1-1 of c when their sums are complete and still in cache.
 *
 * An element is the sum over k of blocks of the same size in order, whatever
 * the number of rows, columns and threads: a row's result does not depend on
 * what else is in the batch. Not so with `over_batch`, for sums that run over
 * the batch themselves (dW = dy^T x): these may be cut in ranges by the sizes of
 * all three matrices. They have no `finish`.
 *
 * With another `precision` than float, a and b are rounded to bf16 while they are copied, and sums
 * of up to KC products are floats, in any build (bf16.h, tiles.h).
 *
 * `symmetric` promises that c is symmetric: then only the diagonal and the part below it are
 * computed and passed to `finish`, and the part above is copied from it.
 */
typedef struct {
    Matrix c, a, b;
    bool add, over_batch, symmetric;
    Precision precision;
    void (*finish)(void *ctx, int i, int j0, int j1);
    void *ctx;
} Product;

void gemm(Pool *pool, Product p);

/* The most memory of a pool that c = a b takes if b has at most this many rows and columns. */
PoolRoom gemm_room(int rows, int cols);

#endif
