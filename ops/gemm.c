/*
 * After Goto and van de Geijn (2008) and BLIS: both operands are copied into
 * panels that the kernel reads from beginning to end.
 *
 *     a   in panels of MR rows and at most KC columns, by the thread that needs
 *         them; one of them stays in the first cache while b's panels pass by
 *     b   in panels of NR columns: for y = x W^T and dx = dy W, where b is small
 *         and every piece of c needs all of it, at once for all threads; for
 *         dW = dy^T x, where b is as long as a and each number of it is needed
 *         by few pieces, KC rows at a time by the thread that needs them
 *
 * The panel of a keeps the layout of a (rows or columns together), since the
 * kernel takes either; only b^T has to be turned. Copying is the only code that
 * sees strides.
 *
 * A piece of the work is some rows by some columns of c and, for sums over the
 * batch, a range of the sum. Range 0 goes to c, the others to matrices of their
 * own that are added to c at the end, in order. Sizes alone decide about the cut.
 */
#include "ops/gemm.h"

#include "ops/error.h"
#include "ops/kernel.h"

#include <string.h>

#ifdef PROOF
enum { MC = 2 * MR, KC = 3, KMAX = 5 * KC, NMAX = 3 * NR, SIDE = 2 * NR, PIECES = 24, GRAIN = 4 };
#else
enum { MC = 96, KC = 256, KMAX = 16 * KC, NMAX = 1024, SIDE = 1024, PIECES = 24, GRAIN = 1 << 13 };
#endif

/*
 * Packed panels, `stride` apart: of a, rows from `first` on, or of b, columns
 * from `first` on; the numbers of the sum from k0 on.
 */
typedef struct {
    real *at;
    int stride, first, k0;
} Panels;

/*
 * Panels are a little further apart than they are long: if the distance were a
 * power of two, they would all compete for the same few lines of the cache.
 */
enum { APART = 64 / sizeof(real) };

typedef struct {
    Product p;
    int k0, k1, j0, j1; /* the rows and columns of b that this is about */
    int tall, wide;     /* rows and columns of a piece: multiples of MR and NR */
    int ranges, deep;   /* ranges of the sum, and rows of b in each: a multiple of KC */
    Panels shared;      /* of b, where all threads use the same */
    real *partial;      /* the matrices of ranges 1 .. */
} Block;

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* The panel with row or column i, where panels are `unit` wide. */
static real *panel_of(Panels to, int i, int unit)
{
    return to.at + (i - to.first) / unit * (ptrdiff_t)to.stride;
}

/* Fills panels with kc rows of b up to column end-1; zeros beyond the last column of b. */
static void pack_b(Panels to, Matrix b, int kc, int end)
{
    const int last = min(end, b.cols);

    for (int j = to.first; j < end; j += NR)
        if (j + NR > last)
            memset(panel_of(to, j, NR), 0, (size_t)(kc * NR) * sizeof(real));
    for (int p = 0; b.cs == 1 && p < kc; p++) { /* rows: all panels together, in long runs */
        const real *from = b.at + (to.k0 + p) * b.rs + to.first;
        real *restrict row = to.at + p * NR;

        for (int j = to.first; j < last; j += NR, from += NR, row += to.stride)
            if (j + NR <= last)
                memcpy(row, from, NR * sizeof(real));
            else
                memcpy(row, from, (size_t)(last - j) * sizeof(real));
    }
    for (int j = to.first; b.cs != 1 && j < last; j++) { /* columns: one after the other */
        const real *from = b.at + to.k0 * b.rs + j * b.cs;
        real *restrict column = panel_of(to, j, NR) + (j - to.first) % NR;

        for (int p = 0; p < kc; p++)
            column[p * NR] = from[p * b.rs];
    }
    for (int j = to.first; b.map && j < last; j += NR)
        b.map(panel_of(to, j, NR), kc * NR);
}

/* Fills panels with kc columns of a up to row end-1; zeros beyond the last row of a. */
static void pack_a(Panels to, Matrix a, int kc, int end)
{
    const real *from = a.at + to.first * a.rs + to.k0 * a.cs;
    const int rows = end - to.first, whole = rows / MR * MR;

    if (rows > whole)
        memset(panel_of(to, end - 1, MR), 0, (size_t)(MR * kc) * sizeof(real));
    for (int i = 0; a.cs == 1 && i < rows; i++)
        memcpy(panel_of(to, to.first + i, MR) + i % MR * kc, from + i * a.rs,
               (size_t)kc * sizeof(real));
    for (int p = 0; a.cs != 1 && p < kc; p++, from += a.cs) {
        real *restrict column = to.at + p * MR;

        if (a.rs == 1)
            for (int i = 0; i < whole; i += MR, column += to.stride)
                memcpy(column, from + i, MR * sizeof(real));
        for (int i = a.rs == 1 ? whole : 0; i < rows; i++)
            panel_of(to, to.first + i, MR)[p * MR + i % MR] = from[i * a.rs];
    }
    for (int i = to.first; a.map && i < end; i += MR)
        a.map(panel_of(to, i, MR), kc * MR);
}

/* The kernel on an edge of c: computes a whole tile aside and copies what is inside. */
static void kernel_edge(Matrix c, int i0, int j0, Factors f, bool add)
{
    real t[MR * NR];
    int rows = min(MR, c.rows - i0), cols = min(NR, c.cols - j0);

    kernel(t, NR, f, false);
    for (int i = 0; i < rows; i++) {
        real *to = c.at + (i0 + i) * c.rs + j0;

        for (int j = 0; j < cols; j++)
            to[j] = (add ? to[j] : 0) + t[i * NR + j];
    }
}

/* What a thread works on: rows i0 .. i1-1, columns j0 .. j1-1 of c, rows k0 .. k1-1 of b. */
typedef struct {
    Matrix c;
    bool add, symmetric;
    int i0, i1, j0, j1, k0, k1;
} Piece;

/* Numbers that panels of KC of those rows or columns take. */
static int own_panels(int n, int unit)
{
    return ceil_div(n, unit) * (unit * KC + APART);
}

static Piece piece_of(const Block *blk, int number)
{
    Product p = blk->p;
    int across = ceil_div(blk->j1 - blk->j0, blk->wide), down = ceil_div(p.c.rows, blk->tall);
    int j = number % across, i = number / across % down, range = number / across / down;
    Piece w = { .c = p.c, .add = p.add || blk->k0 > 0, .symmetric = p.symmetric };

    w.i0 = i * blk->tall, w.i1 = min(w.i0 + blk->tall, p.c.rows);
    w.j0 = blk->j0 + j * blk->wide, w.j1 = min(w.j0 + blk->wide, blk->j1);
    w.k0 = blk->k0 + range * blk->deep, w.k1 = min(w.k0 + blk->deep, blk->k1);
    if (range > 0) {
        size_t size = (size_t)p.c.rows * (size_t)p.c.cols;

        w.c = matrix(blk->partial + (size_t)(range - 1) * size, p.c.rows, p.c.cols);
        w.add = false;
    }
    return w;
}

/* The columns of rows up to i-1 that have to be computed end here. */
static int columns_end(const Piece *w, int i)
{
    return w->symmetric ? min(w->j1, i) : w->j1;
}

/* MR rows of c from row i, kc rows of b from row k; `a` is their packed panel. */
static void multiply_panel(const Piece *w, Factors f, Panels b, int i, int k)
{
    bool add = w->add || k > w->k0;

    for (int j = w->j0; j < columns_end(w, i + MR); j += NR) {
        f.b = panel_of(b, j, NR) + (k - b.k0) * NR;
        if (i + MR <= w->c.rows && j + NR <= w->c.cols)
            kernel(w->c.at + i * w->c.rs + j, w->c.rs, f, add);
        else
            kernel_edge(w->c, i, j, f, add);
    }
}

/* KC rows of b, in the thread's scratch. */
static Panels pack_own(const Block *blk, const Piece *w, real *at, int k, int kc)
{
    Panels b = { at, kc * NR + APART, w->j0, k };

    pack_b(b, blk->p.b, kc, w->j1);
    return b;
}

static void multiply_piece(const Block *blk, Piece w)
{
    Matrix a = blk->p.a;
    real *own_a = pool_scratch(), *own_b = own_a + own_panels(blk->tall, MR);

    if (w.j0 >= columns_end(&w, w.i1))
        return;
    for (int k = w.k0; k < w.k1; k += KC) {
        int kc = min(KC, w.k1 - k);
        Panels own = { own_a, kc * MR + APART, w.i0, k };
        Panels b = blk->p.over_batch ? pack_own(blk, &w, own_b, k, kc) : blk->shared;

        pack_a(own, a, kc, w.i1);
        for (int i = w.i0; i < w.i1; i += MR) {
            Factors f = {
                panel_of(own, i, MR), a.cs == 1 ? kc : 1, a.cs == 1 ? 1 : MR, NULL, NR, kc
            };

            multiply_panel(&w, f, b, i, k);
        }
    }
    if (blk->p.finish && w.k1 == a.cols)
        for (int i = w.i0; i < w.i1; i++)
            if (w.j0 < columns_end(&w, i + 1))
                blk->p.finish(blk->p.ctx, i, w.j0, columns_end(&w, i + 1));
}

static void multiply_pieces(void *ctx, int begin, int end)
{
    for (int number = begin; number < end; number++)
        multiply_piece(ctx, piece_of(ctx, number));
}

/* Piece i of the copying for all: KC rows of all columns. */
static void pack_shared(void *ctx, int begin, int end)
{
    const Block *blk = ctx;
    Panels b = blk->shared;

    for (int i = begin; i < end; i++) {
        Panels part = { b.at + i * KC * NR, b.stride, b.first, b.k0 + i * KC };

        pack_b(part, blk->p.b, min(KC, blk->k1 - part.k0), blk->j1);
    }
}

/* c += the matrices of the other ranges, rows begin .. end-1. */
static void add_partial(void *ctx, int begin, int end)
{
    const Block *blk = ctx;
    Matrix c = blk->p.c;

    for (int range = 1; range < blk->ranges; range++)
        for (int i = begin; i < end; i++) {
            const real *from =
                blk->partial + ((size_t)(range - 1) * (size_t)c.rows + (size_t)i) * (size_t)c.cols;
            real *to = c.at + i * c.rs;

            for (int j = blk->j0; j < blk->j1; j++)
                to[j] += from[j];
        }
}

static int pieces_of(const Block *blk)
{
    return blk->ranges * ceil_div(blk->p.c.rows, blk->tall) *
           ceil_div(blk->j1 - blk->j0, blk->wide);
}

static void multiply_block(Pool *pool, Block *blk)
{
    int own = own_panels(blk->tall, MR) + (blk->p.over_batch ? own_panels(blk->wide, NR) : 0);

    pool_reserve(pool, (size_t)own * sizeof(real));
    pool_for(pool, pieces_of(blk), 1, multiply_pieces, blk);
}

/* All columns and rows of b, up to NMAX and KMAX at a time, packed for all threads. */
static void gemm_shared(Pool *pool, Product p)
{
    for (int j0 = 0; j0 < p.c.cols; j0 += NMAX)
        for (int k0 = 0; k0 < p.a.cols; k0 += KMAX) {
            Block blk = { .p = p, .j0 = j0, .k0 = k0, .tall = MC, .ranges = 1 };
            int cols = min(NMAX, p.c.cols - j0), depth = min(KMAX, p.a.cols - k0);
            int panels = ceil_div(cols, NR), stride = depth * NR + APART;

            blk.j1 = j0 + cols, blk.k1 = k0 + depth;
            blk.deep = ceil_div(depth, KC) * KC;
            blk.wide = panels * NR;
            while (blk.wide > NR && pieces_of(&blk) < PIECES)
                blk.wide = ceil_div(blk.wide / 2, NR) * NR;
            blk.shared = (Panels){ NULL, stride, j0, k0 };
            blk.shared.at = pool_shared(pool, (size_t)panels * (size_t)stride * sizeof(real));
            pool_for(pool, ceil_div(depth, KC), 1, pack_shared, &blk);
            multiply_block(pool, &blk);
        }
}

/* n in equal parts of at most `most`, in units. */
static int even(int n, int most, int unit)
{
    return ceil_div(ceil_div(n, ceil_div(n, most)), unit) * unit;
}

/* Pieces of about SIDE by SIDE, and as many ranges as make them enough. */
static void gemm_over_batch(Pool *pool, Product p)
{
    Block blk = { .p = p, .j1 = p.c.cols, .k1 = p.a.cols, .ranges = 1 };
    size_t size = (size_t)p.c.rows * (size_t)p.c.cols;
    int depth = ceil_div(p.a.cols, KC);

    blk.tall = even(p.c.rows, SIDE, MR), blk.wide = even(p.c.cols, SIDE, NR);
    int ranges = min(ceil_div(PIECES, pieces_of(&blk)), depth / 2);
    blk.deep = ceil_div(depth, ranges > 1 ? ranges : 1) * KC;
    blk.ranges = ceil_div(p.a.cols, blk.deep);
    blk.partial = pool_shared(pool, (size_t)(blk.ranges - 1) * size * sizeof(real));
    multiply_block(pool, &blk);
    if (blk.ranges > 1)
        pool_for(pool, p.c.rows, ceil_div(GRAIN, p.c.cols), add_partial, &blk);
}

/* What is above the diagonal in rows begin .. end-1. */
static void mirror(void *ctx, int begin, int end)
{
    const Matrix c = *(const Matrix *)ctx;

    for (int j = begin + 1; j < c.cols; j++)
        for (int i = begin; i < min(j, end); i++)
            c.at[i * c.rs + j] = c.at[j * c.rs + i];
}

void gemm(Pool *pool, Product p)
{
    if (p.a.cols != p.b.rows || p.c.rows != p.a.rows || p.c.cols != p.b.cols || p.c.cs != 1 ||
        (p.over_batch && (p.finish || p.symmetric)) || (p.symmetric && p.c.rows != p.c.cols))
        BUG("gemm: (%d, %d) = (%d, %d) (%d, %d)", p.c.rows, p.c.cols, p.a.rows, p.a.cols, p.b.rows,
            p.b.cols);
    if (p.over_batch)
        gemm_over_batch(pool, p);
    else
        gemm_shared(pool, p);
    if (p.symmetric)
        pool_for(pool, p.c.rows, MR, mirror, &p.c);
}
