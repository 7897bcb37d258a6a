/*
 * After Goto and van de Geijn (2008) and BLIS: both operands are copied into
 * panels that the kernel reads from beginning to end.
 *
 *     b   in panels of NR columns, all of it at once, for all threads to share:
 *         panel j holds rows k0 .. k1-1 of columns j NR .., row after row
 *     a   in panels of MR rows and at most KC columns, by the thread that needs
 *         them; one of them stays in the first cache while b's panels pass by
 *
 * The panel of a keeps the layout of a (rows or columns together), since the
 * kernel takes either; only b^T has to be turned, and b is the smaller one.
 * Copying is the only code that sees strides.
 *
 * The work is cut into pieces: MC rows of c by some columns, and, where c is
 * small and the sums run over the batch (dW = dy^T x), also by ranges of the sum. Range 0 goes to
 * c, the others to matrices of their own that are added to c at the end, in order. Sizes alone
 * decide about the cut.
 */
#include "ops/gemm.h"

#include "ops/error.h"
#include "ops/kernel.h"

#include <string.h>

#ifdef PROOF
enum { MC = 2 * MR, KC = 3, KMAX = 5 * KC, NMAX = 3 * NR, WIDE = NR, PIECES = 24, GRAIN = 4 };
#else
enum { MC = 96, KC = 256, KMAX = 16 * KC, NMAX = 1024, WIDE = 256, PIECES = 24, GRAIN = 1 << 13 };
#endif

typedef struct {
    Product p;
    int k0, k1, j0, j1; /* the rows and columns of b that this is about */
    int wide;           /* columns of a piece: a multiple of NR */
    int ranges, deep;   /* ranges of the sum, and rows of b in each: a multiple of KC */
    real *packed;       /* the panels of b */
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

/* to[p][j] = b(k0 + p, j0 + j) for kc rows and NR columns, zeros beyond the last column. */
static void pack_b(real *restrict to, Matrix b, int k0, int kc, int j0)
{
    const real *from = b.at + k0 * b.rs + j0 * b.cs;
    int have = min(NR, b.cols - j0);

    if (have < NR)
        memset(to, 0, (size_t)kc * NR * sizeof(real));
    if (b.cs == 1 && have == NR)
        for (int p = 0; p < kc; p++)
            memcpy(to + p * NR, from + p * b.rs, NR * sizeof(real));
    else if (b.cs == 1)
        for (int p = 0; p < kc; p++)
            memcpy(to + p * NR, from + p * b.rs, (size_t)have * sizeof(real));
    else
        for (int j = 0; j < have; j++)
            for (int p = 0; p < kc; p++)
                to[p * NR + j] = from[p * b.rs + j * b.cs];
    if (b.map)
        b.map(to, kc * NR);
}

/*
 * Panels of a: rows i0 .. i1-1, columns k0 .. k0+kc-1, one panel after the
 * other, zeros beyond the last row. Where rows of a lie side by side, all panels
 * are filled together, so that memory is read in long runs.
 */
static void pack_a(real *restrict to, Matrix a, int i0, int i1, int k0, int kc)
{
    const real *from = a.at + i0 * a.rs + k0 * a.cs;
    int have = i1 - i0, whole = have / MR * MR, panel = MR * kc;

    if (have > whole)
        memset(to + whole * kc, 0, (size_t)panel * sizeof(real));
    if (a.cs == 1)
        for (int i = 0; i < have; i++)
            memcpy(to + i * kc, from + i * a.rs, (size_t)kc * sizeof(real));
    else
        for (int p = 0; p < kc; p++) {
            if (a.rs == 1)
                for (int i = 0; i < whole; i += MR)
                    memcpy(to + i * kc + p * MR, from + i + p * a.cs, MR * sizeof(real));
            for (int i = a.rs == 1 ? whole : 0; i < have; i++)
                to[i / MR * panel + p * MR + i % MR] = from[i * a.rs + p * a.cs];
        }
    if (a.map)
        a.map(to, ceil_div(have, MR) * panel);
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
    bool add;
    int i0, i1, j0, j1, k0, k1;
} Piece;

static Piece piece_of(const Block *blk, int number)
{
    Product p = blk->p;
    int across = ceil_div(blk->j1 - blk->j0, blk->wide), down = ceil_div(p.c.rows, MC);
    int j = number % across, i = number / across % down, range = number / across / down;
    Piece w = { .c = p.c, .add = p.add || blk->k0 > 0 };

    w.i0 = i * MC, w.i1 = min(w.i0 + MC, p.c.rows);
    w.j0 = blk->j0 + j * blk->wide, w.j1 = min(w.j0 + blk->wide, blk->j1);
    w.k0 = blk->k0 + range * blk->deep, w.k1 = min(w.k0 + blk->deep, blk->k1);
    if (range > 0) {
        size_t size = (size_t)p.c.rows * (size_t)p.c.cols;

        w.c = matrix(blk->partial + (size_t)(range - 1) * size, p.c.rows, p.c.cols);
        w.add = false;
    }
    return w;
}

/* MR rows of c from row i, kc rows of b from row k; `a` is their packed panel. */
static void multiply_panel(const Block *blk, const Piece *w, const real *a, int i, int k, int kc)
{
    bool by_row = blk->p.a.cs == 1, add = w->add || k > w->k0;

    for (int j = w->j0; j < w->j1; j += NR) {
        const real *b =
            blk->packed + (ptrdiff_t)(j - blk->j0) * (blk->k1 - blk->k0) + (k - blk->k0) * NR;
        Factors f = { a, by_row ? kc : 1, by_row ? 1 : MR, b, NR, kc };

        if (i + MR <= w->c.rows && j + NR <= w->c.cols)
            kernel(w->c.at + i * w->c.rs + j, w->c.rs, f, add);
        else
            kernel_edge(w->c, i, j, f, add);
    }
}

static void multiply_pieces(void *ctx, int begin, int end)
{
    const Block *blk = ctx;
    real *panels = pool_scratch();

    for (int number = begin; number < end; number++) {
        Piece w = piece_of(blk, number);

        for (int k = w.k0; k < w.k1; k += KC) {
            int kc = min(KC, w.k1 - k);

            pack_a(panels, blk->p.a, w.i0, w.i1, k, kc);
            for (int i = w.i0; i < w.i1; i += MR)
                multiply_panel(blk, &w, panels + (i - w.i0) * kc, i, k, kc);
        }
        if (blk->p.finish && w.k1 == blk->p.a.cols)
            for (int i = w.i0; i < w.i1; i++)
                blk->p.finish(blk->p.ctx, i, w.j0, w.j1);
    }
}

/* Piece i of the copying: KC rows of one panel. */
static void pack_pieces(void *ctx, int begin, int end)
{
    const Block *blk = ctx;
    int depth = blk->k1 - blk->k0, down = ceil_div(depth, KC);

    for (int i = begin; i < end; i++) {
        int j = i / down * NR, k = i % down * KC;

        pack_b(blk->packed + (ptrdiff_t)j * depth + k * NR, blk->p.b, blk->k0 + k,
               min(KC, depth - k), blk->j0 + j);
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

/* Cut along the sum first, where WIDE columns leave too few pieces; then across. */
static void cut(Block *blk)
{
    int rows = ceil_div(blk->p.c.rows, MC), cols = blk->j1 - blk->j0, depth = blk->k1 - blk->k0;
    int ranges = !blk->p.over_batch
                     ? 1
                     : min(ceil_div(PIECES, rows * ceil_div(cols, WIDE)), depth / (2 * KC));

    blk->deep = ceil_div(ceil_div(depth, KC), ranges > 1 ? ranges : 1) * KC;
    blk->ranges = ceil_div(depth, blk->deep);
    blk->wide = ceil_div(cols, NR) * NR;
    while (blk->wide > NR && rows * blk->ranges * ceil_div(cols, blk->wide) < PIECES)
        blk->wide = ceil_div(blk->wide / 2, NR) * NR;
}

static void multiply_block(Pool *pool, Block *blk)
{
    int cols = blk->j1 - blk->j0, depth = blk->k1 - blk->k0, panels = ceil_div(cols, NR);
    size_t size = (size_t)blk->p.c.rows * (size_t)blk->p.c.cols;
    size_t packed = (size_t)panels * NR * (size_t)depth;

    cut(blk);
    blk->packed =
        pool_shared(pool, (packed + (size_t)(blk->ranges - 1) * size + LANES) * sizeof(real));
    blk->partial = blk->packed + (packed + LANES - 1) / LANES * LANES;
    pool_for(pool, panels * ceil_div(depth, KC), 2, pack_pieces, blk);
    pool_for(pool, blk->ranges * ceil_div(blk->p.c.rows, MC) * ceil_div(cols, blk->wide), 1,
             multiply_pieces, blk);
    if (blk->ranges > 1)
        pool_for(pool, blk->p.c.rows, ceil_div(GRAIN, cols), add_partial, blk);
}

void gemm(Pool *pool, Product p)
{
    if (p.a.cols != p.b.rows || p.c.rows != p.a.rows || p.c.cols != p.b.cols || p.c.cs != 1)
        BUG("gemm: (%d, %d) = (%d, %d) (%d, %d)", p.c.rows, p.c.cols, p.a.rows, p.a.cols, p.b.rows,
            p.b.cols);
    pool_reserve(pool, (MC + MR) * KC * sizeof(real));
    for (int j0 = 0; j0 < p.c.cols; j0 += NMAX)
        for (int k0 = 0; k0 < p.a.cols; k0 += KMAX) {
            Block blk = { .p = p, .k0 = k0, .j0 = j0 };

            blk.k1 = min(k0 + KMAX, p.a.cols);
            blk.j1 = min(j0 + NMAX, p.c.cols);
            multiply_block(pool, &blk);
        }
}
