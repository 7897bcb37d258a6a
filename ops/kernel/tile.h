/* A tile of c by the kernel: inside c, or at its right or lower edge. */
#ifndef OPS_KERNEL_TILE_H
#define OPS_KERNEL_TILE_H

#include "ops/kernel/bf16.h"
#include "ops/kernel/matrix.h"
#include "ops/kernel/precision.h"
#include "ops/kernel/tiles.h"

/* Rows of c that the kernel computes at a time. */
static inline int tile_rows(Precision precision)
{
    return precision == PRECISION_TILES ? TILES_HIGH : MR;
}

/* A thread calls these before and after its tiles. */
static inline void tile_begin(Precision precision)
{
    if (precision == PRECISION_TILES)
        tiles_begin();
}

static inline void tile_end(Precision precision)
{
    if (precision == PRECISION_TILES)
        tiles_end();
}

/* Rows from i and columns from j on of c, as many as the kernel computes, not all of which exist.
 */
void tile_edge(Matrix c, int i, int j, const Factors *f, Precision precision, bool add);

/* The same, as far as they exist. */
static inline void tile_multiply(Matrix c, int i, int j, const Factors *f, Precision precision,
                                 bool add)
{
    static void (*const kernel_of[])(real *, ptrdiff_t, const Factors *, bool) = {
        [PRECISION_FLOAT] = kernel, [PRECISION_BF16] = kernel_bf16, [PRECISION_TILES] = kernel_tiles
    };

    if (i + tile_rows(precision) <= c.rows && j + NR <= c.cols)
        kernel_of[precision](c.at + i * c.rs + j, c.rs, f, add);
    else
        tile_edge(c, i, j, f, precision, add);
}

#endif
