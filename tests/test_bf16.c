/* Products with operands of 16 bits: rounding, the instruction and its twin, gemm, training. */
#include "ops/base/random.h"
#include "ops/kernel/bf16.h"
#include "ops/kernel/gemm.h"
#include "ops/kernel/lanes.h"
#include "ops/kernel/tiles.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/optimiser.h"

#include <string.h>

/* To bf16 and back: the nearer of the two neighbours, or of two equally near the even one. */
static float nearest(float x)
{
    const uint32_t below = bits_of(x) & 0xffff0000, above = below + 0x10000;
    const double down = fabs((double)x - (double)float_of(below));
    const double up = fabs((double)float_of(above) - (double)x);

    return float_of(down < up || (down == up && !(below >> 16 & 1)) ? below : above);
}

START_TEST(operands_are_rounded_to_the_nearest_even)
{
    static const uint32_t known[][2] = {
        { 0x3f800000, 0x3f80 }, { 0x3f808000, 0x3f80 }, { 0x3f808001, 0x3f81 },
        { 0x3f818000, 0x3f82 }, { 0xbf817fff, 0xbf81 }, { 0x7f7f7fff, 0x7f7f },
        { 0x7f7f8000, 0x7f80 }, { 0x7f800000, 0x7f80 }, { 0xff800000, 0xff80 },
        { 0x7f800001, 0x7fc0 }, { 0xff8fffff, 0xffcf }, { 0x7fffffff, 0x7fff },
        { 0x80000000, 0x8000 }, { 0x007fffff, 0x0000 }, { 0x807fffff, 0x8000 },
    };
    const Random r = random_stream(1, RANDOM_TEST, 0);

    for (int i = 0; i < COUNT(known); i++) {
        const real x = (real)float_of(known[i][0]), one = 1;
        Bf16Pair to;

        bf16_pairs((real *)&to, &x, &one, 1);
        if (isnan(x))
            ck_assert((to & 0x7f80) == 0x7f80 && (to & 0x7f));
        else
            ck_assert_msg(to == (0x3f800000 | known[i][1]), "%x: %x", known[i][0], (unsigned)to);
    }
    for (uint64_t i = 0; i < 100000; i++) {
        const float x = float_of((uint32_t)random_bits(r, i));
        const real first = 2, second = (real)x;
        Bf16Pair to;

        bf16_pairs((real *)&to, &first, &second, 1);
        if (fabsf(x) < 0x1p127F && fabsf(x) >= 0x1p-126F)
            ck_assert((uint32_t)to == (bits_of(nearest(x)) | 0x4000));
    }
}
END_TEST

/* Long rows are rounded by an instruction where there is one. */
START_TEST(long_rows_are_rounded_as_single_numbers_are)
{
    enum { N = 203 * LANES + 3 };
    static real x[2 * N], pairs[N], row[N];
    const Random r = random_stream(3, RANDOM_TEST, 0);

    for (int i = 0; i < 2 * N; i++)
        x[i] = (real)float_of((uint32_t)random_bits(r, (uint64_t)i) >> i % 3 % 2 * 8);
    bf16_pairs(pairs, x, x + N, N);
    bf16_row(row, x, 2 * N);
    for (int i = 0; i < N; i++) {
        Bf16Pair one, two;

        bf16_pairs((real *)&one, &x[i], &x[N + i], 1);
        bf16_pairs((real *)&two, &x[2 * i], &x[2 * i + 1], 1);
        ck_assert_msg(one == ((Bf16Pair *)pairs)[i] && two == ((Bf16Pair *)row)[i], "%a, %a",
                      (double)x[i], (double)x[N + i]);
    }
}
END_TEST

START_TEST(rows_and_columns_become_pairs_in_place)
{
    enum { WIDE = 5 };
    real x[WIDE * 9], y[WIDE * 9];

    for (int k = 1; k <= 9; k++) {
        for (int i = 0; i < WIDE * 9; i++)
            x[i] = y[i] = R(i + 1);
        for (int i = 0; i < WIDE; i++)
            bf16_row(x + i * ((k + 1) / 2), x + i * k, k);
        bf16_columns(y, WIDE, k);
        for (int i = 0; i < WIDE; i++)
            for (int p = 0; p < k; p++) {
                const Bf16Pair *row = (const Bf16Pair *)x + i * ((k + 1) / 2) + p / 2;
                const Bf16Pair *column = (const Bf16Pair *)y + p / 2 * WIDE + i;
                const int up = p % 2 ? 0 : 16;

                ck_assert(float_of((uint32_t)*row << up & 0xffff0000) == (float)(i * k + p + 1));
                ck_assert(float_of((uint32_t)*column << up & 0xffff0000) ==
                          (float)(p * WIDE + i + 1));
                if (p == k - 1 && k % 2)
                    ck_assert(*row >> 16 == 0 && *column >> 16 == 0);
            }
    }
}
END_TEST

/* One sum of one pair, on the twin. */
static float pair_sum(float t, uint32_t a, uint32_t b)
{
    real c[MR * NR] = { 0 };
    Bf16Pair pa[2 * MR] = { 0 }, pb[2 * NR] = { 0 };

    /* The sum so far has to be made of pairs itself: t = t's upper half + its lower half. */
    pa[0] = bits_of(t) & 0xffff0000;
    pb[0] = 0x3f800000;
    pa[MR] = a, pb[NR] = b;
    kernel_bf16_plain(c, NR, &(Factors){ (real *)pa, 1, MR, (real *)pb, NR, 2 }, false);
    return (float)c[0];
}

/* What the manuals say of VDPBF16PS, at the edges. */
START_TEST(the_second_product_comes_first_and_subnormal_numbers_are_zeros)
{
    const uint32_t one = 0x3f80, huge = 0x7f7f, two = 0x4000;
    const float least = 0x1p-126F;

    ck_assert(pair_sum(0, one, one << 16) == 0 && pair_sum(3, one, one) == 4);
    ck_assert(pair_sum(1, 0x3300 | 0x3300U << 16, one | one << 16) == 1); /* 2^-25, twice */
    ck_assert(pair_sum(-1, one | 0x3280U << 16, one | one << 16) == 0);   /* 2^-26 - 1, and 1 */
    ck_assert(pair_sum(-1, 0x3280 | one << 16, one | one << 16) == 0x1p-26F);
    ck_assert(isfinite(pair_sum(float_of(0xff7f0000), huge, two)));
    ck_assert(isinf(pair_sum(0, huge, two)) && isnan(pair_sum(0, 0x7f80, 0)));
    ck_assert(pair_sum(0, 0x007f, huge) == 0 && pair_sum(0, huge, 0x807f) == 0); /* not 2 */
    ck_assert(pair_sum(least, 0x8d80, 0x2580) == least);                         /* 2^-100 2^-52 */
    ck_assert(pair_sum(least, 0x8d80, 0x2600) == least); /* 2^-151: half of a 24-bit unit */
    ck_assert(pair_sum(least, 0x8d80, 0x2680) == 0);     /* 2^-150 */
    ck_assert(signbit(pair_sum(0, 0x8d80, 0x2580)));
}
END_TEST

/* Numbers whose sums cancel, over- and underflow, or all bits. */
static uint32_t extreme(Random r, uint64_t i, int kind)
{
    uint32_t u = (uint32_t)random_bits(r, i);
    static const uint32_t low[] = { 0, 120, 60, 188 }, span[] = { 256, 8, 8, 8 };

    for (int half = 0; half < 2; half++) {
        const uint32_t e =
            low[kind] + (uint32_t)random_below(r, 7 * i + (uint64_t)half, span[kind]);
        const int at = 7 + 16 * half;

        u = (u & ~(0xffU << at)) | e << at;
    }
    return u;
}

START_TEST(the_instruction_is_its_plain_twin)
{
    enum { K = 21, WIDE = NR + 3 };
    Bf16Pair a[K * (MR + 1) + KC * MR], b[K * WIDE];
    real c[MR * WIDE], twin[MR * WIDE];
    const ptrdiff_t strides[][2] = { { KC / 2, 1 }, { K, 1 }, { 1, MR }, { 1, MR + 1 } };

    for (int n = 0; n < 400; n++) {
        const Random r = random_stream((uint64_t)n, RANDOM_TEST, 0);
        const ptrdiff_t *s = strides[n / 4 % COUNT(strides)];
        const int k = n % (K + 1), fit = s[0] == KC / 2 && k > KC / 2 ? KC / 2 : k;
        const Factors f = { (real *)a, s[0], s[1], (real *)b, WIDE, fit };

        for (int i = 0; i < COUNT(a); i++)
            a[i] = extreme(r, (uint64_t)i, n % 4);
        for (int i = 0; i < COUNT(b); i++)
            b[i] = extreme(r, (uint64_t)(i + COUNT(a)), n % 4);
        fill(c, COUNT(c), 3, 1);
        memcpy(twin, c, sizeof c);
        kernel_bf16(c, WIDE, &f, n % 3 == 0);
        kernel_bf16_plain(twin, WIDE, &f, n % 3 == 0);
        for (int i = 0; i < COUNT(c); i++)
            ck_assert_msg(memcmp(&c[i], &twin[i], sizeof *c) == 0 ||
                              (isnan(c[i]) && isnan(twin[i])),
                          "%d: %a, twin %a", n, (double)c[i], (double)twin[i]);
    }
}
END_TEST

START_TEST(tiles_are_their_plain_twin)
{
    enum { K = 3 * STEP, WIDE = NR + 3 };
    static Bf16Pair a[TILES_HIGH * (K + 1)], b[K * WIDE];
    static real c[TILES_HIGH * WIDE], twin[TILES_HIGH * WIDE];

    for (int n = 0; n < 200; n++) {
        const Random r = random_stream((uint64_t)n, RANDOM_TEST, 1);
        const Factors f = { (real *)a, K + n / 2 % 2, 1, (real *)b, WIDE, (1 + n % 3) * STEP };

        for (int i = 0; i < COUNT(a); i++)
            a[i] = extreme(r, (uint64_t)i, n / 4 % 4);
        for (int i = 0; i < COUNT(b); i++)
            b[i] = extreme(r, (uint64_t)(i + COUNT(a)), n / 4 % 4);
        for (int i = 0; i < COUNT(c); i++)
            c[i] = twin[i] = (real)float_of(extreme(r, (uint64_t)(i + 2 * COUNT(b)), n / 4 % 4));
        tiles_begin();
        kernel_tiles(c, WIDE, &f, n % 2 == 0);
        tiles_end();
        kernel_tiles_plain(twin, WIDE, &f, n % 2 == 0);
        for (int i = 0; i < COUNT(c); i++)
            ck_assert_msg(memcmp(&c[i], &twin[i], sizeof *c) == 0 ||
                              (isnan(c[i]) && isnan(twin[i])),
                          "%d, %d: %a, twin %a", n, i, (double)c[i], (double)twin[i]);
    }
}
END_TEST

/* c + one step in which a pair, and the pair after it, has these products. */
static float step_sum(float c0, uint32_t a, uint32_t b, uint32_t next_a, uint32_t next_b)
{
    static real c[TILES_HIGH * NR];
    Bf16Pair pa[TILES_HIGH * STEP] = { a, next_a }, pb[STEP * NR] = { b };

    pb[NR] = next_b;
    c[0] = (real)c0;
    kernel_tiles_plain(c, NR, &(Factors){ (real *)pa, STEP, 1, (real *)pb, NR, STEP }, true);
    return (float)c[0];
}

START_TEST(all_steps_of_a_sum_are_added)
{
    enum { K = 3 * STEP };
    static Bf16Pair ones[(TILES_HIGH + NR) * K];
    static real c[TILES_HIGH * NR];

    for (int i = 0; i < COUNT(ones); i++)
        ones[i] = 0x3f803f80;
    kernel_tiles_plain(c, NR, &(Factors){ (real *)ones, K, 1, (real *)ones, NR, K }, false);
    for (int i = 0; i < COUNT(c); i++)
        ck_assert(c[i] == 2 * K);
}
END_TEST

/* What the manuals say of TDPBF16PS. */
START_TEST(first_and_second_products_have_sums_of_their_own)
{
    const uint32_t one = 0x3f80, ones = one | one << 16, tiny = 0x3280, huge = 0x7f7f;
    const uint32_t minus = 0xbf80, two = 0x4000;
    const float least = 0x1p-126F;

    ck_assert(step_sum(1, ones, ones, ones, one) == 4 && step_sum(3, one, one << 16, 0, 0) == 3);
    /* 2^-26 is lost beside 1 in a sum, beside the other sum and beside c. */
    ck_assert(step_sum(0, tiny, one, one, one) == 1 && step_sum(0, one, one, minus, one) == 0);
    ck_assert(step_sum(0, one | tiny << 16, ones, minus, one) == 0x1p-26F);
    ck_assert(step_sum(0, one | minus << 16, ones, tiny, one) == 0);
    ck_assert(step_sum(-1, one | tiny << 16, ones, 0, 0) == 0);
    ck_assert(step_sum(1, tiny, one, 0, 0) == 1);
    /* Each of the two may overflow before they meet. */
    ck_assert(isnan(step_sum(0, huge | (huge | 0x8000) << 16, two | two << 16, 0, 0)));
    /* Subnormal: c, an operand, a sum, both together, and all. */
    ck_assert(step_sum(0x1p-127F, 0x0080, one, 0, 0) == least);
    ck_assert(step_sum(0, 0x007f, huge, 0, 0) == 0);
    ck_assert(step_sum(0, 0x0d80, 0x2580, 0, 0) == 0);
    ck_assert(step_sum(least, 0x0080 | 0x80c0U << 16, ones, 0, 0) == least);
    ck_assert(step_sum(0x1.8p-126F, 0x8080, one, 0, 0) == 0);
}
END_TEST

/* A product, and c as it should be: element by element, in the order that bf16.h promises. */
typedef struct {
    Matrix c, a, b;
    bool add, over_batch;
    Precision precision;
} Shape;

static float at(Matrix m, int i, int j)
{
    real x = m.at[i * m.rs + j * m.cs];

    if (m.map)
        m.map(&x, 1);
    return nearest((float)x);
}

/* Product p of element (i, j) of c, added to t; beyond the sum, 0. */
static float with_product(float t, Shape s, int i, int j, int p)
{
    return p < s.a.cols ? fmaf(at(s.a, i, p), at(s.b, p, j), t) : t;
}

static real in_pairs(Shape s, int i, int j)
{
    real sum = s.add ? s.c.at[i * s.c.rs + j] : 0;

    for (int k = 0; k < s.a.cols; k += KC) {
        float t = 0;

        for (int p = k; p < s.a.cols && p < k + KC; p += 2)
            t = with_product(with_product(t, s, i, j, p + 1), s, i, j, p);
        sum = k || s.add ? sum + (real)t : (real)t;
    }
    return sum;
}

static real in_steps(Shape s, int i, int j)
{
    float sum = s.add ? (float)s.c.at[i * s.c.rs + j] : 0;

    for (int k = 0; k < s.a.cols; k += 2 * STEP) {
        float first = 0, second = 0;

        for (int p = k; p < k + 2 * STEP; p += 2) {
            first = with_product(first, s, i, j, p);
            second = with_product(second, s, i, j, p + 1);
        }
        sum += first + second;
    }
    return (real)sum;
}

static real expected(Shape s, int i, int j)
{
    return (s.precision == PRECISION_TILES ? in_steps : in_pairs)(s, i, j);
}

/* Rounding changes a factor by at most 2^-8 of it, so a product by little more than 2^-7. */
static void check_bound(Shape s)
{
    for (int i = 0; i < s.c.rows; i++)
        for (int j = 0; j < s.c.cols; j++) {
            double sum = 0, size = 0;

            for (int k = 0; k < s.a.cols; k++) {
                const double ab = (double)s.a.at[i * s.a.rs + k * s.a.cs] *
                                  (double)s.b.at[k * s.b.rs + j * s.b.cs];

                sum += ab, size += fabs(ab);
            }
            ck_assert(fabs((double)s.c.at[i * s.c.rs + j] - sum) <= 0x1.02p-7 * size);
        }
}

static void check_product(Shape s, int threads)
{
    Arena *mem = arena_new();
    Pool *pool = pool_new(threads);
    const size_t n = (size_t)s.c.rows * (size_t)s.c.cols;
    real *want = arena_take(mem, n * sizeof *want);

    fill(s.c.at, n, 9, 1);
    for (int i = 0; i < s.c.rows; i++)
        for (int j = 0; j < s.c.cols; j++)
            want[i * s.c.cols + j] = expected(s, i, j);
    gemm(pool, (Product){ .c = s.c,
                          .a = s.a,
                          .b = s.b,
                          .add = s.add,
                          .over_batch = s.over_batch,
                          .precision = s.precision });
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(s.over_batch ? fabs((double)(s.c.at[i] - want[i])) < 1e-4
                                   : memcmp(&s.c.at[i], &want[i], sizeof *want) == 0,
                      "%d x %d x %d, %zu: %g, not %g", s.c.rows, s.a.cols, s.c.cols, i,
                      (double)s.c.at[i], (double)want[i]);
    if (!s.add && !s.a.map && !s.b.map)
        check_bound(s);
    pool_free(pool);
    arena_free(mem);
}

static void plus_one(real *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += 1;
}

/* Every layout and edge; a function of an operand is applied before the rounding. */
START_TEST(a_product_is_that_of_rounded_operands_in_the_promised_order)
{
    static const int size[] = { 1, 2, 5, MR + 1, 2 * NR + 3, KC + 1, 3 * KC - 2 };
    enum { MOST = 100 * 800 };
    static real a[MOST], b[MOST], c[MOST];
    const int n = COUNT(size);

    fill(a, COUNT(a), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int way = 0; way < 6 * n * n; way++) {
        const int rows = size[way % n] % 100, k = size[way / n % n],
                  cols = size[(way / 3) % n] % 90;
        Shape s = { .c = matrix(c, rows, cols),
                    .add = way % 2,
                    .over_batch = way % 5 == 4,
                    .precision = way < 3 * n * n ? PRECISION_BF16 : PRECISION_TILES };

        s.a = way / 2 % 2 ? matrix(a, rows, k) : transposed(matrix(a, k, rows));
        s.b = way / 4 % 2 ? matrix(b, k, cols) : transposed(matrix(b, cols, k));
        if (way % 3 == 1)
            s.a = mapped(s.a, plus_one);
        if (way % 7 == 1)
            s.b = mapped(s.b, plus_one);
        if (rows && cols)
            check_product(s, 1 + way % 3);
    }
}
END_TEST

/* An odd number of factors is padded with zeros on both sides: 0 times infinity, or NaN, is NaN. */
START_TEST(an_infinite_factor_makes_an_infinite_sum)
{
    enum { ROWS = MR + 1, COLS = NR + 3, MOST = 7 };
    static real a[ROWS * MOST], b[MOST * COLS], c[ROWS * COLS];
    Pool *pool = pool_new(1);

    for (int way = 0; way < 16 * MOST; way++) {
        const int k = 1 + way / 16;
        Product p = { .c = matrix(c, ROWS, COLS),
                      .precision = way / 8 % 2 ? PRECISION_TILES : PRECISION_BF16 };

        p.a = way % 2 ? matrix(a, ROWS, k) : transposed(matrix(a, k, ROWS));
        p.b = way / 2 % 2 ? matrix(b, k, COLS) : transposed(matrix(b, COLS, k));
        fill(a, COUNT(a), 1, 1);
        fill(b, COUNT(b), 2, 1);
        for (int i = k * ROWS; i < COUNT(a); i++)
            a[i] = (real)NAN; /* after the last column */
        if (way / 4 % 2)
            p.a.at[(k - 1) * p.a.cs] = (real)INFINITY;
        else
            p.b.at[(k - 1) * p.b.rs] = (real)INFINITY;
        if (way / 2 % 2)
            p.b = mapped(p.b, plus_one);
        gemm(pool, p);
        ck_assert_msg(isinf(c[0]), "way %d: %g", way, (double)c[0]);
    }
    pool_free(pool);
}
END_TEST

/* dW of a batch that fits no cache: each thread packs its own b, and the sum is cut in ranges. */
START_TEST(a_sum_over_a_batch_that_is_far_is_as_exact)
{
    enum { ROWS = sizeof(real) == sizeof(double) ? 70 : 33001, FROM = 17, TO = MR + 3 };
    Arena *mem = arena_new();
    real *x = arena_take(mem, (size_t)ROWS * FROM * sizeof *x), c[TO * FROM];
    real *g = arena_take(mem, (size_t)ROWS * TO * sizeof *g);

    fill(x, (size_t)ROWS * FROM, 1, 0.1);
    fill(g, (size_t)ROWS * TO, 2, 0.1);
    for (int way = 0; way < 8; way++)
        check_product((Shape){ .c = matrix(c, TO, FROM),
                               .precision = way < 4 ? PRECISION_BF16 : PRECISION_TILES,
                               .a = transposed(matrix(g, ROWS, TO)),
                               .b = mapped(matrix(x, ROWS, FROM), way / 2 % 2 ? plus_one : NULL),
                               .add = way % 2,
                               .over_batch = true },
                      2);
    arena_free(mem);
}
END_TEST

START_TEST(a_row_has_the_same_bits_in_any_batch_and_with_any_threads)
{
    enum { ROWS = 3 * MR + 2, K = 2 * KC + 3, COLS = NR + 5, WAYS = 6 };
    static real a[ROWS * K], b[K * COLS], all[ROWS * COLS], some[ROWS * COLS];

    fill(a, COUNT(a), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int rows = 1; rows <= ROWS; rows++)
        for (int way = 0; way < WAYS; way++) {
            Pool *pool = pool_new(1 + way / 2);
            Product p = { .b = matrix(b, K, COLS),
                          .precision = way % 2 ? PRECISION_TILES : PRECISION_BF16 };

            p.a = matrix(a, ROWS, K), p.c = matrix(all, ROWS, COLS);
            gemm(pool, p);
            p.a = matrix(a + (ROWS - rows) * K, rows, K), p.c = matrix(some, rows, COLS);
            gemm(pool, p);
            ck_assert(same_bits(some, all + (ROWS - rows) * COLS, (size_t)(rows * COLS)));
            pool_free(pool);
        }
}
END_TEST

/* silu(x) W^T, where W is stored in bf16 and x in float: rows as a decoder multiplies them. */
static const real *rows_by_pairs(const Tape *by, const Tensor *w, real *x, int rows)
{
    Tape tape = { .mem = by->mem, .pool = by->pool, .forward_only = true, .row_by_row = true };
    Tensor *all = tensor_new(tape.mem, SHAPE(rows, w->dim[1]));

    memcpy(all->data, x, all->n * sizeof *x);
    return op_dense(&tape, (Dense){ .x = all, .w = (Tensor *)w, .f = &activation_silu })->data;
}

START_TEST(single_rows_are_multiplied_by_stored_pairs)
{
    enum { ROWS = 9, OUT = 7, WIDEST = 6 * SUMS + 5 };
    static const int wide[] = { 1, 2, 7, 2 * SUMS, 2 * SUMS + 1, 4 * SUMS, WIDEST };

    for (int i = 0; i < COUNT(wide); i++) {
        const int k = wide[i];
        Tape tape = tape_open(2);
        Params params;
        real x[ROWS * WIDEST];
        double want[ROWS * OUT] = { 0 };

        params_init(&params, tape.mem, 1);
        const Tensor *w = params_normal(&params, "w", 1, SHAPE(OUT, k));
        const Tensor *gain = params_constant(&params, "gain", 1, k);
        params_narrow(&params, PRECISION_BF16);
        ck_assert(params.precision == PRECISION_BF16 && w->pairs && !gain->pairs);
        fill(x, COUNT(x), 5, 1);
        for (int n = 0; n < ROWS * OUT; n++)
            for (int j = 0; j < k; j++) {
                const double at = (double)x[n / OUT * k + j];
                const double by = (double)nearest((float)w->data[n % OUT * k + j]);

                want[n] += at / (1 + exp(-at)) * by;
            }
        memset(w->data, 0, w->n * sizeof *w->data); /* no longer needed */
        const real *all = rows_by_pairs(&tape, w, x, ROWS);
        check_close("rows by pairs", all, want, ROWS * OUT, forward_tolerance);
        for (int row = 0; row < ROWS; row++)
            ck_assert(same_bits(rows_by_pairs(&tape, w, x + row * k, 1), all + row * OUT, OUT));
        tape_close(&tape);
    }
}
END_TEST

/* The loss after 200 steps, and the gradient of the first one. */
static double loss_after(Small *s, Precision precision, int threads, real *first)
{
    Tape tape = tape_open(threads);
    Optimiser o = { .kind = &optimiser_adamw, .hyper = { .beta1 = 0.9, .beta2 = 0.99 } };
    double loss = 0;

    tape.precision = precision;
    optimiser_init(&o, &s->model.params, s->mem);
    for (int step = 0; step < 200; step++) {
        loss = small_learn(s, &tape, 1);
        if (step == 0)
            memcpy(first, s->model.blocks[0].up.w->grad,
                   s->model.blocks[0].up.w->n * sizeof *first);
        optimiser_step(&o, tape.pool, 0.003, 1);
    }
    tape_close(&tape);
    return loss;
}

/* Losses and first gradients in float, and in 16 bits with two numbers of threads. */
static void check_training(int variant, Precision precision)
{
    static real first[3][4096];
    double loss[3], size = 0, apart = 0;
    size_t n = 0;

    for (int way = 0; way < 3; way++) {
        Small *s = small_open(small_variant(variant), 5, 8);

        n = s->model.blocks[0].up.w ? s->model.blocks[0].up.w->n : 0;
        ck_assert(n < COUNT(first[0]));
        if (n)
            loss[way] = loss_after(s, way ? precision : PRECISION_FLOAT, 1 + way, first[way]);
        small_close(s);
    }
    if (n == 0)
        return;
    ck_assert_msg(fabs(loss[1] - loss[0]) < 0.05 && loss[1] != loss[0], "variant %d: %g, %g",
                  variant, loss[0], loss[1]);
    ck_assert(loss[1] == loss[2] && same_bits(first[1], first[2], n));
    for (size_t k = 0; k < n; k++) {
        const double g = (double)first[0][k], d = (double)first[1][k] - g;

        size += g * g, apart += d * d;
    }
    ck_assert_msg(apart > 0 && apart < 0.1 * size, "variant %d: %g of %g", variant, apart, size);
}

START_TEST(training_comes_close_to_that_in_float)
{
    for (int i = 0; i < VARIANTS; i += in_double || sanitized ? VARIANTS : 7)
        check_training(i, PRECISION_BF16);
    for (int i = 0; i < VARIANTS; i += in_double || sanitized ? VARIANTS : 11)
        check_training(i, PRECISION_TILES);
}
END_TEST

Suite *suite_bf16(void)
{
    Suite *s = suite_create("bf16");
    TCase *t = group(s, "bf16");

    tcase_add_test(t, operands_are_rounded_to_the_nearest_even);
    tcase_add_test(t, long_rows_are_rounded_as_single_numbers_are);
    tcase_add_test(t, rows_and_columns_become_pairs_in_place);
    tcase_add_test(t, the_second_product_comes_first_and_subnormal_numbers_are_zeros);
    tcase_add_test(t, the_instruction_is_its_plain_twin);
    tcase_add_test(t, tiles_are_their_plain_twin);
    tcase_add_test(t, all_steps_of_a_sum_are_added);
    tcase_add_test(t, first_and_second_products_have_sums_of_their_own);
    tcase_add_test(t, a_product_is_that_of_rounded_operands_in_the_promised_order);
    tcase_add_test(t, an_infinite_factor_makes_an_infinite_sum);
    tcase_add_test(t, a_sum_over_a_batch_that_is_far_is_as_exact);
    tcase_add_test(t, a_row_has_the_same_bits_in_any_batch_and_with_any_threads);
    tcase_add_test(t, single_rows_are_multiplied_by_stored_pairs);
    tcase_add_test(t, training_comes_close_to_that_in_float);
    return s;
}
