/* A tile of c by the kernel: inside c, or at its right or lower edge. */
#ifndef OPS_KERNEL_TILE_H
#define OPS_KERNEL_TILE_H

#include "ops/kernel/kernel.h"
#include "ops/kernel/matrix.h"

/* Rows i .. i+MR-1 and columns j .. j+NR-1 of c, as far as they exist. */
void tile_multiply(Matrix c, int i, int j, const Factors *f, bool bf16, bool add);

#endif
