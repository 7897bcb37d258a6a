/* Transposition, LANES x LANES numbers at a time in registers. */
#ifndef OPS_KERNEL_TRANSPOSE_H
#define OPS_KERNEL_TRANSPOSE_H

#include "ops/kernel/matrix.h"

#include <stddef.h>

/* Element (i, j) is at[i * rs + j * cs]; rows x cols of them. */
typedef struct {
    const real *at;
    ptrdiff_t rs, cs;
    int rows, cols;
} Strided;

/* to[j * ld + i] = element (i, j) of `from`. */
void transpose(real *to, ptrdiff_t ld, Strided from);

/* Copies what is below the diagonal of c to the other side, into rows begin .. end-1. */
void mirror_rows(Matrix c, int begin, int end);

/* A reference implementation in plain loops, for tests. */
void transpose_plain(real *to, ptrdiff_t ld, Strided from);

#endif
