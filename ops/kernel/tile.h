/* A tile of c by the kernel: inside c, or at its right or lower edge. */
#ifndef OPS_KERNEL_TILE_H
#define OPS_KERNEL_TILE_H

#include "ops/kernel/bf16.h"
#include "ops/kernel/matrix.h"

/* Rows i .. i+MR-1 and columns j .. j+NR-1 of c, not all of which exist. */
void tile_edge(Matrix c, int i, int j, const Factors *f, bool bf16, bool add);

/* The same, as far as they exist. */
static inline void tile_multiply(Matrix c, int i, int j, const Factors *f, bool bf16, bool add)
{
    if (i + MR <= c.rows && j + NR <= c.cols)
        (bf16 ? kernel_bf16 : kernel)(c.at + i * c.rs + j, c.rs, f, add);
    else
        tile_edge(c, i, j, f, bf16, add);
}

#endif
