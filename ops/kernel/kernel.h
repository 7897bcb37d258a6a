/*
 * The loop where most time is spent: a small matrix product whose result stays in
 * registers. gemm (any size, any layout) and the attentions (tiles in the cache) call
 * it.
 *
 * Vectors are the compilers' own (gcc, clang: vector_size), so the code is the same for every
 * processor; only the sizes below differ. MR x NR accumulators should fill the vector registers
 * except two or three, which hold a row of b and one number of a.
 */
#ifndef OPS_KERNEL_KERNEL_H
#define OPS_KERNEL_KERNEL_H

#include "ops/base/real.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef PROOF
enum { KC = 4 };
#else
enum {
    KC = 256
}; /* the longest sum of a call by gemm, and the distance of the rows it copies; even */
#endif

#if defined PROOF /* so small that every test has edges */
enum { VECTOR = 16, MR = 2, NV = 2 };
#elif defined __AVX512F__ /* 32 registers of 64 bytes */
enum { VECTOR = 64, MR = 12, NV = 2 };
#elif defined __AVX__     /* 16 of 32 */
enum { VECTOR = 32, MR = 6, NV = 2 };
#elif defined __aarch64__ /* 32 of 16 */
enum { VECTOR = 16, MR = 6, NV = 4 };
#else                     /* 16 of 16 */
enum { VECTOR = 16, MR = 6, NV = 2 };
#endif
enum { LANES = VECTOR / (int)sizeof(real), NR = NV * LANES };

typedef real Vector __attribute__((vector_size(VECTOR)));
typedef real Unaligned __attribute__((vector_size(VECTOR), aligned(sizeof(real)), may_alias));

/*
 * Before a loop over registers: it is unrolled entirely. To clang a number of turns is a wish, and
 * one that it grants too late: the registers would be an array in memory.
 */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* a (MR x k): element (i, p) is a[i * rs + p * cs]. b (k x NR): b[p * ldb + j]. */
typedef struct {
    const real *a;
    ptrdiff_t rs, cs;
    const real *b;
    ptrdiff_t ldb;
    int k;
} Factors;

/*
 * c (MR x NR, rows ldc apart) = a b, or += when `add`. A pointer, since a copy that follows writes
 * of single fields would wait for all of them.
 */
void kernel(real *c, ptrdiff_t ldc, const Factors *f, bool add);

/* The first LANES columns of that, with the same bits. */
void kernel_narrow(real *c, ptrdiff_t ldc, const Factors *f, bool add);

/* The first `cols` columns of that, and perhaps more. */
static inline void kernel_columns(real *c, ptrdiff_t ldc, const Factors *f, bool add, int cols)
{
    (cols <= LANES ? kernel_narrow : kernel)(c, ldc, f, add);
}

/* A reference implementation in plain loops, for tests. */
void kernel_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add);

#endif
