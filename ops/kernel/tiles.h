/*
 * The kernel for tiles: TDPBF16PS, an instruction of AMX, multiplies 16 rows of 16 pairs (bf16.h)
 * by 16 rows of 16 pairs in 16 cycles, in which vectors of floats would do a sixteenth of it.
 *
 * The sum is cut in steps of STEP pairs. Within a step the first products of all pairs have one sum
 * and the second products another, both from zero; c += (first + second) ends the step. Each
 * addition rounds once, to nearest even, and subnormal operands and sums are zeros, c too. A plain
 * C twin does the same. Which NaN comes out is not specified.
 *
 * A panel of a has TILES_HIGH rows of pairs, whatever the layout of a; a last step that is short is
 * filled with zeros in both panels.
 */
#ifndef OPS_KERNEL_TILES_H
#define OPS_KERNEL_TILES_H

#include "ops/kernel/kernel.h"

#ifdef PROOF
enum { STEP = 2, TILES_HIGH = 4 };
#else
enum { STEP = 16, TILES_HIGH = 32 };
#endif

/* Pairs in whole steps of n numbers. */
static inline int tiles_pairs(int n)
{
    return (n + 2 * STEP - 1) / (2 * STEP) * STEP;
}

/*
 * c (TILES_HIGH x NR, rows ldc apart) = a b, or += when `add`: f.k pairs in whole steps, a in rows
 * (f.cs is 1). Between tiles_begin() and tiles_end(), which each thread calls.
 */
void kernel_tiles(real *c, ptrdiff_t ldc, const Factors *f, bool add);
void kernel_tiles_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add);

void tiles_begin(void);
void tiles_end(void);

/* The processor has AMX, and the system lets this process use it. */
bool tiles_are_fast(void);

#endif
