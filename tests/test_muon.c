/* Muon against its formula. */
#include "ops/kernel/gemm.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/optimiser.h"

#include <string.h>

/* One matrix of a block, its optimiser, and room for the formula. */
typedef struct {
    Arena *mem;
    Pool *pool;
    Params params;
    Optimiser o;
    Tensor *w;
    int rows, cols;
} Single;

static Single *single_open(int rows, int cols, int threads)
{
    Arena *mem = arena_new();
    Single *s = arena_zeros(mem, sizeof *s);

    s->mem = mem, s->pool = pool_new(threads), s->rows = rows, s->cols = cols;
    s->o = (Optimiser){ .kind = &optimiser_muon, .hyper = optimiser_muon.defaults };
    params_init(&s->params, mem, 3);
    s->w = params_normal(&s->params, "blocks.0.attn.wq", 1, SHAPE(rows, cols));
    optimiser_init(&s->o, &s->params, mem);
    return s;
}

static void single_close(Single *s)
{
    pool_free(s->pool);
    arena_free(s->mem);
}

static void single_step(Single *s, double rate, double scale)
{
    s->w->has_grad = true;
    optimiser_step(&s->o, s->pool, rate, scale);
}

/* c (m x n) = a (m x k) b (k x n) */
static void times(double *c, const double *a, const double *b, const int size[3])
{
    int m = size[0], k = size[1], n = size[2];

    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int p = 0; p < k; p++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
        }
}

static void flip(double *to, const double *from, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            to[j * rows + i] = from[i * cols + j];
}

/* x <- p(x), `steps` times, as Jordan writes it; with more rows than columns too. */
static void newton_schulz(Arena *mem, double *x, int r, int c, int steps)
{
    size_t all = (size_t)r * (size_t)c, square = (size_t)r * (size_t)r;
    double *t = arena_take(mem, all * sizeof *t), *a = arena_take(mem, square * sizeof *a),
           *aa = arena_take(mem, square * sizeof *aa), *bx = arena_take(mem, all * sizeof *bx);
    double sum = 0;

    for (size_t i = 0; i < all; i++)
        sum += x[i] * x[i];
    for (size_t i = 0; i < all; i++)
        x[i] /= sqrt(sum) + 1e-300;
    for (int step = 0; step < steps; step++) {
        flip(t, x, r, c);
        times(a, x, t, (int[]){ r, c, r });
        times(aa, a, a, (int[]){ r, r, r });
        for (size_t i = 0; i < square; i++)
            a[i] = -4.7750 * a[i] + 2.0315 * aa[i];
        times(bx, a, x, (int[]){ r, r, c });
        for (size_t i = 0; i < all; i++)
            x[i] = 3.4445 * x[i] + bx[i];
    }
}

/* Muon as it is written, on the weights and the momentum of a matrix. */
typedef struct {
    Arena *mem;
    double *w, *m;
    int rows, cols;
    double momentum, decay;
    int ns_steps;
} Textbook;

static void textbook_step(Textbook *b, const real *g, double rate, double scale)
{
    int n = b->rows * b->cols;
    double *x = arena_take(b->mem, (size_t)n * sizeof *x);

    for (int i = 0; i < n; i++) {
        b->m[i] = b->momentum * b->m[i] + (double)g[i] * scale;
        x[i] = (double)g[i] * scale + b->momentum * b->m[i];
    }
    newton_schulz(b->mem, x, b->rows, b->cols, b->ns_steps);
    for (int i = 0; i < n; i++)
        b->w[i] -= rate * (0.2 * sqrt(fmax(b->rows, b->cols)) * x[i] + b->decay * b->w[i]);
}

static const int sizes[][2] = { { 7, 5 }, { 5, 7 }, { 9, 9 }, { 12, 48 }, { 48, 12 },
                                { 1, 9 }, { 9, 1 }, { 1, 1 }, { 21, 30 }, { 30, 21 } };

START_TEST(muon_matches_the_textbook)
{
    const int rows = sizes[_i][0], cols = sizes[_i][1];
    Single *s = single_open(rows, cols, 2);
    Textbook b = { s->mem,
                   doubles(s->mem, s->w->data, s->w->n),
                   arena_zeros(s->mem, s->w->n * sizeof(double)),
                   rows,
                   cols,
                   0.95,
                   0.1,
                   7 - _i % 7 };
    Moment m[OPTIMISER_MOMENTS];

    s->o.hyper.ns_steps = b.ns_steps;
    for (int t = 1; t <= 12; t++) {
        double rate = 0.3 / t, scale = t % 3 ? 1 : 0.25;

        fill(s->w->grad, s->w->n, (uint64_t)t, t % 5 ? 1 : 1e-2);
        textbook_step(&b, s->w->grad, rate, scale);
        single_step(s, rate, scale);
        ck_assert(!s->w->has_grad);
    }
    ck_assert_int_eq(optimiser_moments(&s->o, s->params.first, m), 1);
    check_close("momentum", m[0].at, b.m, m[0].n, in_double ? 1e-13 : 1e-6);
    check_close("weights", s->w->data, b.w, s->w->n, in_double ? 1e-11 : 1e-4);
    single_close(s);
}
END_TEST

/* With gradients that are G once and then 0, what is accumulated is G times the momenta so far. */
START_TEST(the_momentum_rises_from_its_first_value)
{
    enum { N = 4 };
    Single *s = single_open(3, 3, 1);
    Moment m[OPTIMISER_MOMENTS];
    double want = 1, mu = 0.95;

    s->o.hyper.momentum_warmup = N;
    for (int step = 1; step <= N + 2; step++) {
        memset(s->w->grad, 0, s->w->n * sizeof(real));
        s->w->grad[0] = step == 1;
        single_step(s, 0.1, 1);
        want *= step == 1 ? 1 : step <= N ? 0.85 + (mu - 0.85) * (step - 1) / N : mu;
        optimiser_moments(&s->o, s->params.first, m);
        ck_assert_double_eq_tol((double)m[0].at[0], want, in_double ? 1e-14 : 1e-6);
    }
    single_close(s);
}
END_TEST

/* What one step at the rate 1 without a decay subtracts from weights of zero. */
static double *update_of(Single *s, const real *g, double size)
{
    s->o.hyper.decay = 0;
    memset(s->w->data, 0, s->w->n * sizeof(real));
    for (size_t i = 0; i < s->w->n; i++)
        s->w->grad[i] = R(size * (double)g[i]);
    single_step(s, 1, 1);
    double *u = doubles(s->mem, s->w->data, s->w->n);
    for (size_t i = 0; i < s->w->n; i++)
        u[i] = -u[i];
    return u;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Turns two rows so that they are orthogonal, and returns how far they were from it. */
static double turn_rows(double *a, double *b, int n)
{
    double aa = dot(a, a, n), bb = dot(b, b, n), ab = dot(a, b, n);
    double angle = atan2(2 * ab, aa - bb) / 2, c = cos(angle), s = sin(angle);

    for (int i = 0; i < n; i++) {
        double x = a[i], y = b[i];

        a[i] = c * x + s * y, b[i] = c * y - s * x;
    }
    return fabs(ab) / sqrt(aa * bb);
}

/* The least and the largest singular value of x (rows <= cols), after Jacobi. */
static void singular_values(double *x, int rows, int cols, double range[2])
{
    double off = 1;

    for (int sweep = 0; sweep < 30 && off > 1e-9; sweep++) {
        off = 0;
        for (int i = 0; i < rows; i++)
            for (int j = i + 1; j < rows; j++)
                off = fmax(off, turn_rows(x + i * cols, x + j * cols, cols));
    }
    ck_assert_double_le(off, 1e-9);
    range[0] = HUGE_VAL, range[1] = 0;
    for (int i = 0; i < rows; i++) {
        double size = sqrt(dot(x + i * cols, x + i * cols, cols));

        range[0] = fmin(range[0], size), range[1] = fmax(range[1], size);
    }
}

/* Row i of a random gradient is 4^-i of it, so its directions are of very different sizes. */
START_TEST(an_update_has_singular_values_of_about_one_whatever_the_gradients)
{
    enum { ROWS = 5, COLS = 24 };
    Single *s = single_open(ROWS, COLS, 2);
    real *g = arena_take(s->mem, s->w->n * sizeof *g);
    double range[2], squares = 0;

    fill(g, s->w->n, 4, 1);
    for (int i = 0; i < ROWS * COLS; i++)
        g[i] *= R(pow(4, -(i / COLS)));
    double *x = doubles(s->mem, g, s->w->n);
    singular_values(x, ROWS, COLS, range);
    ck_assert_double_gt(range[1], 100 * range[0]);
    double *u = update_of(s, g, 1);
    for (int i = 0; i < ROWS * COLS; i++) {
        squares += u[i] * u[i] / (ROWS * COLS);
        u[i] /= 0.2 * sqrt(COLS);
    }
    ck_assert_double_ge(sqrt(squares), 0.2 * 0.68);
    ck_assert_double_le(sqrt(squares), 0.2 * 1.21);
    singular_values(u, ROWS, COLS, range);
    ck_assert_double_ge(range[0], 0.68);
    ck_assert_double_le(range[1], 1.21);
    single_close(s);
}
END_TEST

/* Of a gradient of rank 3, whose other singular values are rounding errors. */
START_TEST(no_number_of_steps_makes_singular_values_too_large)
{
    enum { ROWS = 10, COLS = 24, RANK = 3 };
    Single *s = single_open(ROWS, COLS, 2);
    real *g = arena_zeros(s->mem, s->w->n * sizeof *g), left[ROWS * RANK], right[RANK * COLS];
    double range[2];

    s->o.hyper.ns_steps = _i;
    fill(left, ROWS * RANK, 4, 1);
    fill(right, RANK * COLS, 5, 1);
    for (int i = 0; i < ROWS * COLS; i++)
        for (int k = 0; k < RANK; k++)
            g[i] += left[i / COLS * RANK + k] * right[k * COLS + i % COLS];
    double *u = update_of(s, g, 1);
    for (int i = 0; i < ROWS * COLS; i++)
        u[i] /= 0.2 * sqrt(COLS);
    singular_values(u, ROWS, COLS, range);
    ck_assert_double_ge(range[1], 0.68);
    ck_assert_double_le(range[1], 1.21);
    single_close(s);
}
END_TEST

START_TEST(a_transposed_gradient_has_the_transposed_update)
{
    for (int k = 0; k < COUNT(sizes); k++) {
        int rows = sizes[k][0], cols = sizes[k][1];
        Single *s = single_open(rows, cols, 2), *t = single_open(cols, rows, 2);
        real *g = arena_take(s->mem, s->w->n * sizeof *g),
             *h = arena_take(s->mem, s->w->n * sizeof *h);

        fill(g, s->w->n, 4, 1);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                h[j * rows + i] = g[i * cols + j];
        double *u = update_of(s, g, 1), *v = arena_take(s->mem, s->w->n * sizeof *v);
        update_of(t, h, 1);
        flip(v, u, rows, cols);
        for (size_t i = 0; i < s->w->n; i++)
            v[i] = -v[i];
        check_close("transposed", t->w->data, v, s->w->n, in_double ? 1e-11 : 1e-4);
        single_close(s), single_close(t);
    }
}
END_TEST

START_TEST(the_size_of_a_gradient_does_not_matter_to_muon)
{
    static const double size[] = { 1e-36, 1e-30, 1e-3, 1e3, 1e30, 1e36 };
    Single *s = single_open(6, 9, 2);
    real *g = arena_take(s->mem, s->w->n * sizeof *g);

    fill(g, s->w->n, 4, 1);
    const double *want = update_of(s, g, -1);
    for (int k = 0; k < COUNT(size); k++) {
        Single *other = single_open(6, 9, 2);

        update_of(other, g, size[k]);
        ck_assert(all_finite(other->w->data, other->w->n));
        check_close("update", other->w->data, want, s->w->n, in_double ? 1e-11 : 1e-3);
        single_close(other);
    }
    single_close(s);
}
END_TEST

START_TEST(without_a_gradient_a_matrix_only_decays)
{
    Single *s = single_open(6, 9, 2);
    const double *before = doubles(s->mem, s->w->data, s->w->n);

    memset(s->w->grad, 0, s->w->n * sizeof(real));
    for (int step = 0; step < 3; step++)
        single_step(s, 0.5, 1);
    for (size_t i = 0; i < s->w->n; i++)
        ck_assert_double_eq_tol((double)s->w->data[i], before[i] * 0.95 * 0.95 * 0.95, 1e-6);
    single_close(s);
}
END_TEST

START_TEST(a_symmetric_product_is_the_lower_half_of_the_whole_one_twice)
{
    static const int size[] = { 1, 2, 5, 31, 96, 150 };

    for (int k = 0; k < COUNT(size); k++) {
        int n = size[k];
        size_t bytes = (size_t)(n * n) * sizeof(real);
        Arena *mem = arena_new();
        Pool *pool = pool_new(2);
        Matrix x = matrix(arena_take(mem, bytes), n, n),
               whole = matrix(arena_take(mem, bytes), n, n),
               half = matrix(arena_take(mem, bytes), n, n);

        fill(x.at, (size_t)(n * n), 4, 1);
        gemm(pool, (Product){ .c = whole, .a = x, .b = x });
        gemm(pool, (Product){ .c = half, .a = x, .b = x, .symmetric = true });
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                ck_assert(half.at[i * n + j] == whole.at[i * n + j]);
                ck_assert(half.at[j * n + i] == whole.at[i * n + j]);
            }
        pool_free(pool);
        arena_free(mem);
    }
}
END_TEST

/* Fastformer's concat: (H, D, 2D). */
START_TEST(each_head_has_its_own_matrix)
{
    enum { H = 3, D = 4, N = 2 * D * D };
    Arena *mem = arena_new();
    Pool *pool = pool_new(2);
    Params params;
    Optimiser o = { .kind = &optimiser_muon, .hyper = optimiser_muon.defaults };

    params_init(&params, mem, 3);
    Tensor *heads = params_normal(&params, "blocks.0.attn.concat", 1, SHAPE(H, D, 2 * D));
    Textbook b[H];

    optimiser_init(&o, &params, mem);
    for (int h = 0; h < H; h++)
        b[h] = (Textbook){ mem,
                           doubles(mem, heads->data + h * N, N),
                           arena_zeros(mem, N * sizeof(double)),
                           D,
                           2 * D,
                           0.95,
                           0.1,
                           5 };
    for (uint64_t step = 0; step < 3; step++) {
        fill(heads->grad, heads->n, step, 1);
        for (int h = 0; h < H; h++)
            textbook_step(&b[h], heads->grad + h * N, 0.1, 1);
        heads->has_grad = true;
        optimiser_step(&o, pool, 0.1, 1);
    }
    for (int h = 0; h < H; h++)
        check_close("head", heads->data + h * N, b[h].w, N, in_double ? 1e-11 : 1e-4);
    pool_free(pool);
    arena_free(mem);
}
END_TEST

Suite *suite_muon(void)
{
    Suite *s = suite_create("muon");
    TCase *t = group(s, "muon");

    tcase_add_test(t, the_momentum_rises_from_its_first_value);
    tcase_add_loop_test(t, muon_matches_the_textbook, 0, COUNT(sizes));
    tcase_add_test(t, an_update_has_singular_values_of_about_one_whatever_the_gradients);
    tcase_add_loop_test(t, no_number_of_steps_makes_singular_values_too_large, 3, 21);
    tcase_add_test(t, a_transposed_gradient_has_the_transposed_update);
    tcase_add_test(t, the_size_of_a_gradient_does_not_matter_to_muon);
    tcase_add_test(t, without_a_gradient_a_matrix_only_decays);
    tcase_add_test(t, a_symmetric_product_is_the_lower_half_of_the_whole_one_twice);
    tcase_add_test(t, each_head_has_its_own_matrix);
    return s;
}
