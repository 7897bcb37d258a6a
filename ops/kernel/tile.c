#include "ops/kernel/tile.h"

#include "ops/kernel/bf16.h"
#include "ops/kernel/panels.h"

typedef void Kernel(real *c, ptrdiff_t ldc, const Factors *f, bool add);

/* Computes a whole tile in a buffer, and copies the part inside c. */
static void at_edge(Kernel *multiply, Matrix c, int i0, int j0, const Factors *f, bool add)
{
    real t[MR * NR];
    int rows = min(MR, c.rows - i0), cols = min(NR, c.cols - j0);

    multiply(t, NR, f, false);
    for (int i = 0; i < rows; i++) {
        real *to = c.at + (i0 + i) * c.rs + j0;

        for (int j = 0; j < cols; j++)
            to[j] = add ? to[j] + t[i * NR + j] : t[i * NR + j];
    }
}

void tile_multiply(Matrix c, int i, int j, const Factors *f, bool bf16, bool add)
{
    const bool narrow = !bf16 && c.cols - j <= LANES;
    Kernel *const multiply = bf16 ? kernel_bf16 : narrow ? kernel_narrow : kernel;

    if (i + MR <= c.rows && j + (narrow ? LANES : NR) <= c.cols)
        multiply(c.at + i * c.rs + j, c.rs, f, add);
    else
        at_edge(multiply, c, i, j, f, add);
}
