/*
 * After Goto and van de Geijn (2008) and BLIS: both operands are copied into
 * panels that the kernel reads from beginning to end (panels.h).
 *
 *     a   by the thread that needs it; one of its panels stays in L1 while b's panels stream
 *         past
 *     b   for y = x W^T and dx = dy W, where b is small and every piece of c needs all of it,
 *         once for all threads; for dW = dy^T x, where b is as long as a and each number is
 *         needed by few pieces, KC rows at a time by the thread that needs them
 *
 * A group of b's panels, COLUMNS wide, stays in L2 while all of the piece's panels of a stream
 * past; if each thread copies its own b, it copies a group at a time. The panels of a are copied MC
 * rows at a time when the first group needs them, and overwritten if it is the only group: so
 * copies are used immediately.
 *
 * A piece of work is some rows by some columns of c and, for sums over the batch, a range of the
 * sum. Range 0 goes to c, the others to separate matrices that are added to c at the end, in order.
 * The division depends only on the sizes.
 */
#include "ops/kernel/gemm.h"

#include "ops/base/error.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/panels.h"
#include "ops/kernel/tile.h"
#include "ops/kernel/transpose.h"

#ifdef PROOF
enum { MC = 2 * MR, KMAX = 5 * KC, NMAX = 3 * NR, COLUMNS = NR, ROWS = 6 };
enum { TALL = 3 * MR, WIDE = 2 * NR, PIECES = 24, GRAIN = 4, WORK = 20 };
#else
enum { MC = 96, KMAX = 16 * KC, NMAX = 1024, COLUMNS = 256, ROWS = 64 };
enum { TALL = 1024, WIDE = 1024, PIECES = 24, GRAIN = 1 << 13, WORK = 1 << 21 };
#endif
enum { BAND = UNITS * MR };

typedef struct {
    Product p;
    int k0, k1, j0, j1; /* the rows and columns of b in this block */
    int tall, wide;     /* rows and columns of a piece: multiples of tile_rows() and NR */
    int ranges, deep;   /* ranges of the sum, and rows of b in each: a multiple of KC */
    Panels shared;      /* of b, if shared by all threads; else NULL */
    real *partial;      /* the matrices of ranges 1 .. */
} Block;

/* What a thread works on: rows i0 .. i1-1, columns j0 .. j1-1 of c, rows k0 .. k1-1 of b. */
typedef struct {
    Matrix c;
    bool add, symmetric;
    int i0, i1, j0, j1, k0, k1;
} Piece;

static Panels panels_at(const Block *blk, real *at, int stride, int first, int k0)
{
    return (Panels){ at, stride, first, k0, blk->p.precision };
}

static int pieces_of(const Block *blk)
{
    return blk->ranges * ceil_div(blk->p.c.rows, blk->tall) *
           ceil_div(blk->j1 - blk->j0, blk->wide);
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

/* The end of the columns to compute in rows up to i-1. */
static int columns_end(const Piece *w, int i)
{
    return w->symmetric ? min(w->j1, i) : w->j1;
}

/* A piece while it uses rows k .. k+kc-1 of b and rows i0 .. i1-1 of a. */
typedef struct {
    const Block *blk;
    Piece w;
    int number, high, k, kc, i0, i1; /* high: rows of a panel of a */
    Panels a, b;
    Ahead next_a, next_b;
} Work;

static Factors factors_of(const Work *x, int i)
{
    Matrix a = x->blk->p.a;
    const int k = panel_depth(x->a, x->kc);

    if (i < x->a.first)
        return (Factors){ a.at + i * a.rs + x->k * a.cs, a.rs, a.cs, NULL, NR, k };
    if (x->a.precision == PRECISION_TILES || a.cs == 1)
        return (Factors){ panel_of(x->a, i, x->high), k, 1, NULL, NR, k };
    return (Factors){ panel_of(x->a, i, MR), 1, MR, NULL, NR, k };
}

/* A panel's rows of c from row i on, columns j0 .. j1-1. */
static void multiply_panel(Work *x, int i, int j0, int j1)
{
    const bool add = x->w.add || x->k > x->w.k0;
    const int ahead = (x->k - x->b.k0) / (x->a.precision ? 2 : 1); /* KC and k0 are even */
    Factors f = factors_of(x, i);

    for (int j = j0; j < min(j1, columns_end(&x->w, i + x->high)); j += NR) {
        ask(&x->next_a);
        ask(&x->next_b);
        f.b = panel_of(x->b, j, NR) + ahead * NR;
        tile_multiply(x->w.c, i, j, &f, x->blk->p.precision, add);
    }
}

/* What comes after these rows of b: the next, from *k on, or the start of the likely next piece. */
static Piece following(const Work *x, int *k)
{
    const Block *blk = x->blk;
    Piece w = x->w;

    *k = x->k + KC;
    if (*k >= w.k1) {
        w = piece_of(blk, min(x->number + 1, pieces_of(blk) - 1));
        *k = w.k0;
    }
    return w;
}

static int kernels_of(const Work *x, int rows, int cols)
{
    return rows > 0 && cols > 0 ? ceil_div(rows, x->high) * ceil_div(cols, NR) : 0;
}

/* The rows of a that will be copied next, if they are not in a near cache. */
static void look_ahead_a(Work *x)
{
    const Piece w = x->w;

    if (!is_far(x->blk->p.a))
        return;
    int kernels = kernels_of(x, x->i1 - x->i0, min(COLUMNS, w.j1 - w.j0)), k;
    if (x->i1 < w.i1)
        x->next_a = ahead_of(x->blk->p.a, x->i1, min(x->i1 + MC, w.i1), x->k, x->k + x->kc);
    else {
        Piece next = following(x, &k);

        x->next_a =
            ahead_of(x->blk->p.a, next.i0, min(next.i0 + MC, next.i1), k, min(k + KC, next.k1));
        kernels += kernels_of(x, w.i1 - w.i0, w.j1 - w.j0 - COLUMNS);
    }
    spread(&x->next_a, kernels);
}

/* The columns of b that will be copied after the group at j. */
static void look_ahead_b(Work *x, int j)
{
    const Matrix b = x->blk->p.b;

    if (!is_far(b))
        return;
    Piece next = x->w;
    int k = x->k, from = j + COLUMNS;
    if (from >= next.j1) {
        next = following(x, &k);
        from = next.j0;
    }
    x->next_b =
        ahead_of(b, k, min(k + KC, next.k1), from, min(min(from + COLUMNS, next.j1), b.cols));
    spread(&x->next_b, kernels_of(x, x->w.i1 - x->w.i0, COLUMNS));
}

/* Packs rows i0 .. i1-1 of a, and keeps them for the next groups of columns, if any. */
static void take_rows(Work *x, bool copied)
{
    const Matrix a = x->blk->p.a;
    const int stride = padded(x->kc) * x->high + APART, later = x->w.j1 - x->w.j0 > COLUMNS;
    real *own = pool_scratch();

    x->a = panels_at(x->blk, own + later * (x->i0 - x->w.i0) / x->high * (ptrdiff_t)stride, stride,
                     x->blk->p.precision ? x->i0 : first_copied(a, x->i0, x->i1), x->k);
    if (copied)
        return;
    pack_a(&x->a, a, x->kc, x->i1);
    look_ahead_a(x);
}

/* The group of columns at j: b's shared panels, or this thread's own copies. */
static void take_columns(Work *x, int j)
{
    const Block *blk = x->blk;
    real *own = pool_scratch();

    x->b = blk->shared;
    if (blk->shared.at)
        return;
    x->b =
        panels_at(blk, own + own_panels(blk->tall, x->high), padded(x->kc) * NR + APART, j, x->k);
    pack_b(&x->b, blk->p.b, x->kc, min(j + COLUMNS, x->w.j1));
    look_ahead_b(x, j);
}

static void multiply_group(Work *x, int j)
{
    const Piece *w = &x->w;

    take_columns(x, j);
    for (x->i0 = w->i0; x->i0 < w->i1; x->i0 += MC) {
        x->i1 = min(x->i0 + MC, w->i1);
        take_rows(x, j > w->j0);
        for (int i = x->i0; i < x->i1; i += x->high)
            multiply_panel(x, i, j, min(j + COLUMNS, w->j1));
    }
}

static void multiply_piece(const Block *blk, int number)
{
    Work x = { .blk = blk,
               .w = piece_of(blk, number),
               .number = number,
               .high = tile_rows(blk->p.precision) };
    const Piece *w = &x.w;

    if (w->j0 >= columns_end(w, w->i1))
        return;
    for (x.k = w->k0; x.k < w->k1; x.k += KC) {
        x.kc = min(KC, w->k1 - x.k);
        for (int j = w->j0; j < w->j1; j += COLUMNS)
            multiply_group(&x, j);
    }
    if (blk->p.finish && w->k1 == blk->p.a.cols)
        for (int i = w->i0; i < w->i1; i++)
            if (w->j0 < columns_end(w, i + 1))
                blk->p.finish(blk->p.ctx, i, w->j0, columns_end(w, i + 1));
}

static void multiply_pieces(void *ctx, int begin, int end)
{
    const Block *blk = ctx;

    tile_begin(blk->p.precision);
    for (int number = begin; number < end; number++)
        multiply_piece(blk, number);
    tile_end(blk->p.precision);
}

/* Piece i of the shared copy of b: some rows of all columns, or a panel if it is transposed. */
static void pack_shared(void *ctx, int begin, int end)
{
    const Block *blk = ctx;
    Matrix b = blk->p.b;

    for (int i = begin; i < end; i++) {
        Panels part = blk->shared;
        int k = b.cs == 1 ? i * ROWS : 0, j = b.cs == 1 ? 0 : i * NR;

        part.first += j, part.k0 += k;
        part.at += j / NR * part.stride + (part.precision ? k / 2 : k) * NR;
        if (b.cs == 1)
            pack_b(&part, b, min(ROWS, blk->k1 - part.k0), blk->j1);
        else
            pack_b(&part, b, blk->k1 - part.k0, min(part.first + NR, blk->j1));
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

static void multiply_block(Pool *pool, Block *blk)
{
    int own = own_panels(blk->tall, tile_rows(blk->p.precision)) +
              (blk->shared.at ? 0 : own_panels(COLUMNS, NR));

    pool_reserve(pool, (size_t)own * sizeof(real));
    pool_for(pool, pieces_of(blk), 1, multiply_pieces, blk);
}

/*
 * Prefers fewer rows to fewer columns, since narrow pieces would copy a, and apply f, repeatedly;
 * and rather a few pieces too few. Columns of a are cut at whole cache lines.
 */
static void cut(Block *blk)
{
    const Product *p = &blk->p;
    double work = (double)p->c.rows * p->c.cols * p->a.cols;
    int want = work < (double)PIECES * WORK ? 1 + (int)(work / WORK) : PIECES;
    int unit =
        p->precision == PRECISION_TILES || p->a.cs == 1 ? tile_rows(blk->p.precision) : MR * UNITS;
    int tall = ceil_div(ceil_div(p->c.rows, want), unit);

    blk->tall = min(MC, tall * unit);
    blk->wide = ceil_div(blk->j1 - blk->j0, NR) * NR;
    while (blk->wide > NR && 4 * pieces_of(blk) < 3 * want)
        blk->wide = ceil_div(blk->wide / 2, NR) * NR;
}

PoolRoom gemm_room(int rows, int cols)
{
    return (PoolRoom){ (size_t)own_panels(MC, MR) * sizeof(real),
                       shared_panels(min(KMAX, rows), min(NMAX, cols)) * sizeof(real) };
}

/* All columns and rows of b, up to NMAX and KMAX at a time, packed for all threads. */
static void gemm_shared(Pool *pool, Product p)
{
    for (int j0 = 0; j0 < p.c.cols; j0 += NMAX)
        for (int k0 = 0; k0 < p.a.cols; k0 += KMAX) {
            Block blk = { .p = p, .j0 = j0, .k0 = k0, .ranges = 1 };
            int cols = min(NMAX, p.c.cols - j0), depth = min(KMAX, p.a.cols - k0);
            int panels = ceil_div(cols, NR), stride = padded(depth) * NR + APART;

            blk.j1 = j0 + cols, blk.k1 = k0 + depth;
            blk.deep = ceil_div(depth, KC) * KC;
            cut(&blk);
            blk.shared = panels_at(
                &blk, pool_shared(pool, shared_panels(depth, cols) * sizeof(real)), stride, j0, k0);
            pool_for(pool, p.b.cs == 1 ? ceil_div(depth, ROWS) : panels, 1, pack_shared, &blk);
            multiply_block(pool, &blk);
        }
}

/* n in equal parts of at most `most`, in units. */
static int even(int n, int most, int unit)
{
    return ceil_div(ceil_div(n, ceil_div(n, most)), unit) * unit;
}

/* Pieces of about TALL by WIDE, with enough ranges to occupy the threads. */
static void gemm_over_batch(Pool *pool, Product p)
{
    Block blk = { .p = p, .j1 = p.c.cols, .k1 = p.a.cols, .ranges = 1 };
    size_t size = (size_t)p.c.rows * (size_t)p.c.cols;
    int depth = ceil_div(p.a.cols, KC);

    blk.tall = even(p.c.rows, TALL, tile_rows(p.precision)), blk.wide = even(p.c.cols, WIDE, NR);
    int ranges = min(ceil_div(PIECES, pieces_of(&blk)), depth / 4);
    blk.deep = ceil_div(depth, ranges > 1 ? ranges : 1) * KC;
    blk.ranges = ceil_div(p.a.cols, blk.deep);
    blk.partial = pool_shared(pool, (size_t)(blk.ranges - 1) * size * sizeof(real));
    multiply_block(pool, &blk);
    if (blk.ranges > 1)
        pool_for(pool, p.c.rows, ceil_div(GRAIN, p.c.cols), add_partial, &blk);
}

static void mirror(void *ctx, int begin, int end)
{
    const Matrix *c = ctx;

    for (int i = begin; i < end; i += BAND)
        mirror_rows(*c, i, min(i + BAND, end));
}

void gemm(Pool *pool, Product p)
{
    if (p.a.cols != p.b.rows || p.c.rows != p.a.rows || p.c.cols != p.b.cols || p.c.cs != 1 ||
        (p.over_batch && (p.finish || p.symmetric)) || (p.symmetric && p.c.rows != p.c.cols))
        BUG("gemm: (%d, %d) = (%d, %d) (%d, %d)", p.c.rows, p.c.cols, p.a.rows, p.a.cols, p.b.rows,
            p.b.cols);
    if (p.over_batch && is_far(p.b))
        gemm_over_batch(pool, p);
    else
        gemm_shared(pool, p);
    if (p.symmetric)
        pool_for(pool, p.c.rows, BAND, mirror, &p.c);
}
