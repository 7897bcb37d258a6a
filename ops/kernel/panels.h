/*
 * gemm's copies of its operands: a in panels of MR rows, b in panels of NR columns.
 * The panel of a keeps the layout of a (rows or columns together), since the kernel
 * takes either; only b^T has to be transposed. Only this code sees strides.
 *
 * Copying is also the only code that waits for memory, and activations are rarely in a near cache:
 * so what the next copy will read is prefetched a few lines at a time, before each call of the
 * kernel.
 */
#ifndef OPS_KERNEL_PANELS_H
#define OPS_KERNEL_PANELS_H

#include "ops/kernel/kernel.h"
#include "ops/kernel/matrix.h"
#include "ops/kernel/precision.h"
#include "ops/kernel/tiles.h"

#include <stdbool.h>

/* UNITS: panels of a that are copied together. NEAR: the most numbers that fit the caches. SHORT:
 * the longest row that may be read in place. */
#ifdef PROOF
enum { UNITS = 1, NEAR = 240, SHORT = 8 };
#else
enum { UNITS = 4, NEAR = 1 << 19, SHORT = 512 };
#endif

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* Too large to stay in a near cache between two uses. */
static inline bool is_far(Matrix m)
{
    return (size_t)m.rows * (size_t)m.cols > NEAR;
}

/*
 * Packed panels, `stride` apart: of a, rows from `first` on, or of b, columns
 * from `first` on; the numbers of the sum from k0 on. Unless `precision` is float they
 * are half as long: pairs (bf16.h), or rows of pairs and whole steps (tiles.h).
 */
typedef struct {
    real *at;
    int stride, first, k0;
    Precision precision;
} Panels;

/*
 * Panels are a little further apart than they are long: if the distance were a
 * power of two, they would all compete for the same few lines of the cache.
 */
enum { LINE = 64 / sizeof(real), APART = LINE };

/* The panel with row or column i, where panels are `unit` wide. */
static inline real *panel_of(Panels to, int i, int unit)
{
    return to.at + (i - to.first) / unit * (ptrdiff_t)to.stride;
}

/* Numbers, or pairs, that the kernel reads of each row of a: as many as there are of kc numbers. */
int panel_depth(Panels p, int kc);

/* Numbers that panels of n rows or columns and KC numbers each take. */
static inline int own_panels(int n, int unit)
{
    return ceil_div(n, unit) * (unit * KC + APART);
}

/* That many numbers of the sum, with the zeros of a last step of tiles. */
static inline int padded(int rows)
{
    return 2 * tiles_pairs(rows);
}

/* Numbers that panels of that many rows and columns of b take. */
static inline size_t shared_panels(int rows, int cols)
{
    return (size_t)ceil_div(cols, NR) * (size_t)(padded(rows) * NR + APART);
}

/* Fills panels with kc rows of b up to column end-1; zeros beyond the last column of b. */
void pack_b(const Panels *to, Matrix b, int kc, int end);

/*
 * Rows of a before this one are read in place, in whole panels: rows that have the layout of
 * copies, or a narrow matrix that fits the caches.
 */
int first_copied(Matrix a, int i0, int i1);

/* Fills panels with kc columns of a up to row end-1; zeros beyond the last row of a. */
void pack_a(const Panels *to, Matrix a, int kc, int end);

/*
 * A part of a matrix that will be read soon: rows of `length` numbers, prefetched up to `at`, a few
 * lines before each call of the kernel.
 */
typedef struct {
    const real *at, *end; /* in the current row */
    ptrdiff_t stride;
    int rows, length, lines;
} Ahead;

/* Rows i0 .. i1-1, columns j0 .. j1-1 of m; nothing for a matrix that fits the caches. */
Ahead ahead_of(Matrix m, int i0, int i1, int j0, int j1);

/* Spreads the rest over that many calls of the kernel. */
static inline void spread(Ahead *x, int kernels)
{
    x->lines = ceil_div(x->rows * ceil_div(x->length, LINE), kernels);
}

static inline void ask(Ahead *x)
{
    Ahead a = *x;

    for (int line = 0; line < x->lines && a.rows > 0; line++) {
        __builtin_prefetch(a.at, 0, 2);
        a.at += LINE;
        if (a.at >= a.end) {
            a.end += a.stride, a.rows--;
            a.at = a.end - a.length;
        }
    }
    *x = a;
}

#endif
