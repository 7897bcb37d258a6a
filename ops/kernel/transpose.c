/*
 * With 2^n lanes: n times, each row of the first half is interleaved with its
 * counterpart in the second, whose halves are the next two rows,
 *
 *     r_i = a0 a1 ..    r_(i + half) = b0 b1 ..    ->    a0 b0 a1 b1 ..
 *
 * Number the elements by row and lane, in binary: one such round turns the bits
 * of (row, lane) by one place, so n rounds swap row and lane.
 */
#include "ops/kernel/transpose.h"

#include "ops/kernel/lanes.h"

#if defined __clang__ || __GNUC__ >= 12
#define shuffle(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define shuffle(a, b, ...) __builtin_shuffle(a, b, (Mask){ __VA_ARGS__ })
#endif

static inline Vector low_halves(Vector a, Vector b)
{
#if defined PROOF
    return shuffle(a, b, 0, 2);
#elif defined __AVX512F__
    return shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined __AVX__
    return shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
    return shuffle(a, b, 0, 4, 1, 5);
#endif
}

static inline Vector high_halves(Vector a, Vector b)
{
#if defined PROOF
    return shuffle(a, b, 1, 3);
#elif defined __AVX512F__
    return shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined __AVX__
    return shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    return shuffle(a, b, 2, 6, 3, 7);
#endif
}

/* LANES rows of LANES numbers. */
static void transpose_square(real *to, ptrdiff_t ld, const real *from, ptrdiff_t rs)
{
    Vector r[LANES], next[LANES];

#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        r[i] = *(const Unaligned *)(from + i * rs);
#pragma GCC unroll 4
    for (int done = 1; done < LANES; done *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = low_halves(r[i], r[i + LANES / 2]);
            next[2 * i + 1] = high_halves(r[i], r[i + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        *(Unaligned *)(to + i * ld) = r[i];
}

void transpose_plain(real *to, ptrdiff_t ld, Strided from)
{
    for (int j = 0; j < from.cols; j++)
        for (int i = 0; i < from.rows; i++)
            to[j * ld + i] = from.at[i * from.rs + j * from.cs];
}

static Strided part_of(Strided m, int i, int j, int rows, int cols)
{
    return (Strided){ m.at + i * m.rs + j * m.cs, m.rs, m.cs, rows, cols };
}

void transpose(real *to, ptrdiff_t ld, Strided from)
{
    int rows = from.cs == 1 ? from.rows / LANES * LANES : 0, cols = from.cols / LANES * LANES;

    for (int j = 0; j < cols; j += LANES)
        for (int i = 0; i < rows; i += LANES)
            transpose_square(to + j * ld + i, ld, from.at + i * from.rs + j, from.rs);
    transpose_plain(to + cols * ld, ld, part_of(from, 0, cols, rows, from.cols - cols));
    transpose_plain(to + rows, ld, part_of(from, rows, 0, from.rows - rows, from.cols));
}

void mirror_rows(Matrix c, int begin, int end)
{
    transpose(c.at + begin * c.rs + end, c.rs,
              (Strided){ c.at + end * c.rs + begin, c.rs, 1, c.rows - end, end - begin });
    for (int j = begin + 1; j < end; j++)
        for (int i = begin; i < j; i++)
            c.at[i * c.rs + j] = c.at[j * c.rs + i];
}
