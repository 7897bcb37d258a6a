/*
 * One head of one sequence, and what every mechanism needs: copying rows out of a (B, T, H, width)
 * tensor and back.
 *
 * Copies are rows of `ld` numbers, a multiple of the kernel's width, with zeros beyond the width
 * and beyond T: code that works on them has no edges.
 */
#ifndef OPS_ATTENTION_ENGINE_HEAD_H
#define OPS_ATTENTION_ENGINE_HEAD_H

#include "ops/attention/engine/view.h"
#include "ops/kernel/kernel.h"

#ifdef PROOF
enum { TILE = 4 };
#else
enum { TILE = 96 }; /* rows or keys at a time, so that they stay in cache */
#endif
_Static_assert(TILE % MR == 0 && TILE % NR == 0, "a tile has no edges");

/* A head of a sequence, and how far ahead (or behind) to prefetch its rows. */
typedef struct {
    int b, h, T, H, ahead;
} Head;
static inline Head head_of(const Mix *in, int number)
{
    int T = in->q->dim[1], H = in->q->dim[2];

    return (Head){ .b = number / H, .h = number % H, .T = T, .H = H };
}

/* The index of its position t in a (B, T, H, width) tensor. */
static inline size_t head_place(const Head *x, int t, int width)
{
    return (((size_t)x->b * (size_t)x->T + (size_t)t) * (size_t)x->H + (size_t)x->h) *
           (size_t)width;
}

/* Copies of positions t0 .. t0+n-1. */
typedef struct {
    real *at;
    int ld, t0, n;
} Rows;

static inline real *row_of(real *rows, int i, int ld)
{
    return rows + (size_t)i * (size_t)ld;
}

/*
 * Prefetches the row `ahead` of row t: the rows of a head are H rows apart, a pattern that hardware
 * prefetchers miss.
 */
void head_ask(const Head *x, int t, const real *from, int width);

void head_gather(const Head *x, Rows to, const real *from, int width);
void head_scatter(const Head *x, Grad to, Rows from, int width);

/* Transposes the first `width` columns of at most TILE rows. */
void rows_transpose(Rows from, real *to, int ld, int width);

/* c = a b, or += : c.n rows, a multiple of MR; b is (depth, c.ld). */
void rows_multiply(Rows c, Rows a, int depth, const real *b, bool add);

/*
 * c (height, b.ld) += a^T b, over the first n rows of both. The height is rounded up to
 * a multiple of MR: that many rows of c are written, and columns of a read.
 */
void rows_multiply_over(real *c, int height, Rows a, Rows b, int n);

/* Rotates each row by its position, or back. `angles` is rope_angles(), or NULL to do nothing. */
void rows_rotate(Rows x, const real *angles, int width, bool back);

/* Divisors stay this far from 0; where the guard acts, the divisor has no gradient. */
#define GUARD R(1e-6)
static inline real guard(real x)
{
    if (x >= 0)
        return x < GUARD ? GUARD : x;
    return x > -GUARD ? -GUARD : x;
}

static inline int up_to(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* How wide copies of rows of n numbers have to be for kernel_columns(). */
static inline int copy_width(int n)
{
    const int rest = n % NR;

    return n - rest + (rest > LANES ? NR : rest > 0 ? LANES : 0);
}

/* Takes the next rows * width numbers of a thread's scratch memory. */
static inline real *carve(real **from, int rows, int width)
{
    real *piece = *from;

    *from += (size_t)rows * (size_t)width;
    return piece;
}

#endif
