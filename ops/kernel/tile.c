#include "ops/kernel/tile.h"

#include "ops/kernel/panels.h"

#include <string.h>

/* As in_buffer(); the kernel begins its sums with what is in c. */
static void tiles_in_buffer(Matrix c, int i0, int j0, const Factors *f, bool add)
{
    real t[TILES_HIGH * NR] = { 0 };
    const int rows = min(TILES_HIGH, c.rows - i0);
    const size_t bytes = (size_t)min(NR, c.cols - j0) * sizeof *t;

    for (int i = 0; add && i < rows; i++)
        memcpy(t + i * NR, c.at + (i0 + i) * c.rs + j0, bytes);
    kernel_tiles(t, NR, f, add);
    for (int i = 0; i < rows; i++)
        memcpy(c.at + (i0 + i) * c.rs + j0, t + i * NR, bytes);
}

/* In a buffer, of which the part inside c is copied. */
static void in_buffer(Matrix c, int i0, int j0, const Factors *f, bool bf16, bool add)
{
    real t[MR * NR];
    int rows = min(MR, c.rows - i0), cols = min(NR, c.cols - j0);

    if (bf16)
        kernel_bf16(t, NR, f, false);
    else
        kernel_columns(t, NR, f, false, cols);
    for (int i = 0; i < rows; i++) {
        real *to = c.at + (i0 + i) * c.rs + j0;

        for (int j = 0; j < cols; j++)
            to[j] = add ? to[j] + t[i * NR + j] : t[i * NR + j];
    }
}

void tile_edge(Matrix c, int i, int j, const Factors *f, Precision precision, bool add)
{
    const bool bf16 = precision == PRECISION_BF16;

    if (precision == PRECISION_TILES)
        tiles_in_buffer(c, i, j, f, add);
    else if (!bf16 && i + MR <= c.rows && j + LANES == c.cols)
        kernel_narrow(c.at + i * c.rs + j, c.rs, f, add);
    else
        in_buffer(c, i, j, f, bf16, add);
}
