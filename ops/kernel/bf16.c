#include "ops/kernel/bf16.h"

/*
 * To nearest, ties to even: an odd last bit adds 1 to half of it. A NaN keeps its upper half, and
 * subnormal numbers become zeros.
 */
static inline uint32_t rounded(real x)
{
    uint32_t u = bits_of((float)x), up = u + 0x7fff + (u >> 16 & 1);

    up = (u & 0x7fffffff) > 0x7f800000 ? u | 0x400000 : up;
    return u & 0x7f800000 ? up : u & 0x80000000;
}

static inline Bf16Pair pair_of(real first, real second)
{
    return rounded(first) >> 16 | (rounded(second) & 0xffff0000);
}

#if defined __AVX512F__ && !defined PROOF
#include <immintrin.h>

#define BF16 __attribute__((target("avx512bf16,avx512bw")))
#define INLINE static inline __attribute__((always_inline, target("avx512bf16,avx512bw")))

static bool has_instruction(void)
{
    return __builtin_cpu_supports("avx512bf16");
}

/* As bf16_pairs(), and as bf16_row() for whole vectors; both return the number of pairs. */
BF16 static int pairs_fast(Bf16Pair *to, const real *first, const real *second, int n)
{
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);

    for (int j = 0; j < n; j += LANES) {
        const __mmask16 some = (__mmask16)(n - j < LANES ? (1 << (n - j)) - 1 : 0xffff);
        __m512i x = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(some, second + j),
                                                 _mm512_maskz_loadu_ps(some, first + j));

        _mm512_mask_storeu_epi32(to + j, some, _mm512_permutexvar_epi16(order, x));
    }
    return n;
}

BF16 static int row_fast(Bf16Pair *to, const real *x, int n)
{
    int p = 0;

    for (; p + LANES <= n; p += LANES)
        _mm512_storeu_si512(to + p, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 2 * p + LANES),
                                                                 _mm512_loadu_ps(x + 2 * p)));
    return p;
}
#else
static bool has_instruction(void)
{
    return false;
}

#define pairs_fast(to, first, second, n) 0
#define row_fast(to, x, n) 0
#define kernel_fast kernel_bf16_plain
#endif

void bf16_pairs(real *to, const real *first, const real *second, int n)
{
    Bf16Pair *pair = (Bf16Pair *)to;
    int j = second && has_instruction() ? pairs_fast(pair, first, second, n) : 0;

    for (; j < n; j++)
        pair[j] = pair_of(first[j], second ? second[j] : 0);
}

void bf16_row(real *to, const real *x, int k)
{
    Bf16Pair *pair = (Bf16Pair *)to;
    int p = has_instruction() ? row_fast(pair, x, k / 2) : 0;

    for (; p < k / 2; p++)
        pair[p] = pair_of(x[2 * p], x[2 * p + 1]);
    if (k % 2)
        pair[p] = pair_of(x[k - 1], 0);
}

void bf16_columns(real *x, int width, int k)
{
    for (int p = 0; p < k; p += 2)
        bf16_pairs(x + p / 2 * width, x + p * width, p + 1 < k ? x + (p + 1) * width : NULL, width);
}

#if defined __AVX512F__ && !defined PROOF
INLINE void put(real *c, ptrdiff_t ldc, __m512 t[MR][NV], bool add)
{
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++, c += ldc)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) {
            real *to = c + v * LANES;
            if (add)
                t[i][v] = _mm512_add_ps(t[i][v], _mm512_loadu_ps(to));
            _mm512_storeu_ps(to, t[i][v]);
        }
}

/* See kernel.c. */
INLINE void multiply(real *c, ptrdiff_t ldc, Factors f, bool add)
{
    __m512 t[MR][NV];
    __m512bh b[NV];
    const Bf16Pair *fa = (const Bf16Pair *)f.a, *fb = (const Bf16Pair *)f.b;
    real *row = c;

#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            t[i][v] = _mm512_setzero_ps();
    for (int i = 0; i < MR; i++, row += ldc)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            __builtin_prefetch(row + v * LANES, 1);
#pragma GCC unroll 2
    for (int p = 0; p < f.k; p++, fa += f.cs, fb += f.ldb) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
            b[v] = (__m512bh)_mm512_loadu_si512(fb + v * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) {
            __m512bh a = (__m512bh)_mm512_set1_epi32((int)fa[i * f.rs]);
#pragma GCC unroll 4
            for (int v = 0; v < NV; v++)
                t[i][v] = _mm512_dpbf16_ps(t[i][v], a, b[v]);
        }
    }
    put(c, ldc, t, add);
}

BF16 static void kernel_fast(real *c, ptrdiff_t ldc, const Factors *of, bool add)
{
    const Factors f = *of;

    if (f.rs == KC / 2 && f.cs == 1)
        multiply(c, ldc, (Factors){ f.a, KC / 2, 1, f.b, f.ldb, f.k }, add);
    else if (f.rs == 1)
        multiply(c, ldc, (Factors){ f.a, 1, f.cs, f.b, f.ldb, f.k }, add);
    else
        multiply(c, ldc, f, add);
}
#endif

void kernel_bf16(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    if (has_instruction())
        kernel_fast(c, ldc, f, add);
    else
        kernel_bf16_plain(c, ldc, f, add);
}

bool kernel_bf16_is_fast(void)
{
    return has_instruction();
}
