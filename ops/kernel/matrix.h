/*
 * A Matrix is a view of a tensor: a transpose is two strides swapped, a head of a
 * (B, T, H, D) tensor is a matrix whose rows are H D apart, and neither needs a copy.
 */
#ifndef OPS_KERNEL_MATRIX_H
#define OPS_KERNEL_MATRIX_H

#include "ops/base/real.h"

#include <stddef.h>

/*
 * Element (i, j) is at[i * rs + j * cs] or, with `map`, an elementwise function of it,
 * which is applied, n numbers at a time, to the copies that gemm makes of its operands
 * anyway. So f(x) need not exist in memory.
 */
typedef struct {
    real *at;
    int rows, cols;
    ptrdiff_t rs, cs;
    void (*map)(real *x, int n);
} Matrix;

static inline Matrix matrix(real *at, int rows, int cols)
{
    return (Matrix){ at, rows, cols, cols, 1, NULL };
}

static inline Matrix transposed(Matrix m)
{
    return (Matrix){ m.at, m.cols, m.rows, m.cs, m.rs, m.map };
}

static inline Matrix mapped(Matrix m, void (*map)(real *x, int n))
{
    m.map = map;
    return m;
}

#endif
