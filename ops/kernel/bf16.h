/*
 * The kernel for operands of 16 bits: bf16 is the upper half of a float, a sign, 8 bits of exponent
 * and 7 of fraction. Sums stay floats.
 *
 * Two adjacent numbers of a sum form a pair, so the kernel's operands have the layout of those of
 * kernel(), with pairs in place of numbers and half as many of them. A sum takes the second product
 * of a pair first. Each is added with one rounding, to nearest even, and subnormal operands and
 * sums are zeros: so does VDPBF16PS, which is used where the processor has it, and so does the
 * plain C twin. Which NaN comes out is not specified.
 */
#ifndef OPS_KERNEL_BF16_H
#define OPS_KERNEL_BF16_H

#include "ops/kernel/kernel.h"

#include <stdint.h>
#include <string.h>

/* The first number in the lower half of 32 bits; takes the place of a real. */
#ifdef PROOF
typedef uint64_t Bf16Pair __attribute__((may_alias));
#else
typedef uint32_t Bf16Pair __attribute__((may_alias));
#endif

/* The float with these bits, and the bits of a float; the numbers of a pair. */
static inline float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline real pair_first(Bf16Pair pair)
{
    return (real)float_of((uint32_t)pair << 16);
}

static inline real pair_second(Bf16Pair pair)
{
    return (real)float_of((uint32_t)pair & 0xffff0000);
}

/* k numbers become (k + 1) / 2 pairs, also in place or nearer to the front. */
void bf16_row(real *to, const real *x, int k);

/* In place: k rows of `width` numbers become (k + 1) / 2 rows of pairs of a row and the next. */
void bf16_columns(real *x, int width, int k);

/* The pairs of `first` and `second`; NULL: zeros. */
void bf16_pairs(real *to, const real *first, const real *second, int n);

/* As kernel(), with k pairs, which a and b point at. */
void kernel_bf16(real *c, ptrdiff_t ldc, const Factors *f, bool add);
void kernel_bf16_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add);

bool kernel_bf16_is_fast(void);

#endif
