/* Singular values: of matrices for which they are known, and the measures of rank. */
#include "ops/base/random.h"
#include "ops/kernel/svd.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <float.h>
#include <stdlib.h>

enum { MOST = 70 };

static double normal(uint64_t seed, int i)
{
    return random_normal(random_stream(seed, RANDOM_TEST, 0), (uint64_t)i);
}

/* a <- (I - 2 w w^T / w.w) a for a random w, or the same from the right. */
static void reflect(double *a, int rows, int cols, bool right, uint64_t seed)
{
    const int n = right ? cols : rows, others = right ? rows : cols, step = right ? 1 : cols,
              other = right ? cols : 1;
    double w[MOST], ww = 0;

    for (int i = 0; i < n; i++)
        w[i] = normal(seed, i), ww += w[i] * w[i];
    for (int j = 0; j < others; j++) {
        double wa = 0;

        for (int i = 0; i < n; i++)
            wa += w[i] * a[i * step + j * other];
        for (int i = 0; i < n; i++)
            a[i * step + j * other] -= 2 * w[i] * wa / ww;
    }
}

static void check_values(double *a, int rows, int cols, const double *want)
{
    double s[MOST];
    const int n = rows < cols ? rows : cols;

    svd_values(a, rows, cols, s);
    for (int k = 0; k < n; k++)
        ck_assert_msg(fabs(s[k] - want[k]) <= (20 + n) * DBL_EPSILON * want[0],
                      "%d x %d: value %d is %.17g, not %.17g", rows, cols, k, s[k], want[k]);
}

static const struct {
    int rows, cols;
} shapes[] = { { 1, 1 },  { 1, 9 },  { 9, 1 },  { 2, 2 },  { 7, 7 },   { 8, 8 },
               { 5, 12 }, { 12, 5 }, { 3, 70 }, { 70, 3 }, { 17, 16 }, { 65, 65 } };

/* Values that fall by a factor a step: from all alike to beyond the rounding. */
static const double falls[] = { 1, 0.9, 0.5, 1e-2, 1e-5 };

START_TEST(orthogonal_factors_keep_the_singular_values)
{
    const int rows = shapes[_i].rows, cols = shapes[_i].cols, n = rows < cols ? rows : cols;

    for (int f = 0; f < COUNT(falls); f++) {
        double a[MOST * MOST] = { 0 }, want[MOST];

        for (int k = 0; k < n; k++)
            a[k * cols + k] = want[k] = 3 * pow(falls[f], k);
        for (uint64_t i = 0; i < 3; i++) {
            reflect(a, rows, cols, false, 2 * i);
            reflect(a, rows, cols, true, 2 * i + 1);
        }
        check_values(a, rows, cols, want);
    }
}
END_TEST

START_TEST(a_diagonal_has_its_absolute_values_in_descending_order)
{
    double a[25] = { [0] = 1e-20, [6] = -7, [12] = 0, [18] = 2, [24] = 1e-9 }, s[5];
    static const double want[5] = { 7, 2, 1e-9, 1e-20, 0 };

    svd_values(a, 5, 5, s);
    for (int k = 0; k < 5; k++)
        ck_assert_double_eq(s[k], want[k]);
}
END_TEST

static double *hilbert(int n)
{
    static double a[100];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = 1.0 / (i + j + 1);
    return a;
}

/* Their eigenvalues, worked out to fifty digits. */
START_TEST(hilbert_matrices_have_their_known_singular_values)
{
    static const double six[] = { 1.6188998589243391,      0.242360870575209552,
                                  0.0163215213198758221,   0.000615748354182657698,
                                  1.25707571226251949e-05, 1.08279948456554977e-07 };
    static const double ten[] = { 1.75191967026517752,     0.342929548483509096,
                                  0.0357418162716392359,   0.00253089076867003814,
                                  0.00012874961427637708,  4.72968929318234751e-6,
                                  1.22896773875117505e-7,  2.14743881735047861e-9,
                                  2.26674674776292553e-11, 1.09315381937966576e-13 };
    double s[10];

    check_values(hilbert(6), 6, 6, six);
    check_values(hilbert(10), 10, 10, ten);
    svd_values(hilbert(10), 10, 10, s);
    ck_assert_double_eq_tol(s[9] / ten[9], 1, 0.01);
}
END_TEST

/* _i: a shape. */
START_TEST(a_product_of_two_vectors_has_rank_1)
{
    const int rows = shapes[_i].rows, cols = shapes[_i].cols, n = rows < cols ? rows : cols;
    double a[MOST * MOST], s[MOST], x = 0, y = 0;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            a[i * cols + j] = normal(1, i) * normal(2, j);
    for (int i = 0; i < rows; i++)
        x += normal(1, i) * normal(1, i);
    for (int j = 0; j < cols; j++)
        y += normal(2, j) * normal(2, j);
    svd_values(a, rows, cols, s);
    ck_assert_double_eq_tol(s[0] / sqrt(x * y), 1, 1e-14);
    for (int k = 1; k < n; k++)
        ck_assert_double_le(s[k], 1e-15 * s[0]);
    ck_assert_double_eq(svd_rank(s, n, 1e-12).rank, 1);
}
END_TEST

START_TEST(zeros_have_no_rank)
{
    double a[12] = { 0 }, s[3] = { 7, 7, 7 };

    svd_values(a, 3, 4, s);
    for (int k = 0; k < 3; k++)
        ck_assert(s[k] == 0);
    const Rank r = svd_rank(s, 3, 0);
    ck_assert(r.rank == 0 && r.effective == 0 && r.holding == 0);
}
END_TEST

/* Whose squares no double holds. */
START_TEST(the_scale_of_a_matrix_is_that_of_its_values)
{
    static const double by[] = { 0x1p1000, 0x1p-1000, 0x1p-1030 };
    double plain[16], a[16], s[4], want[4];

    for (int i = 0; i < 16; i++)
        plain[i] = a[i] = (int)(normal(3, i) * 1024);
    svd_values(plain, 4, 4, want);
    for (int b = 0; b < COUNT(by); b++) {
        for (int i = 0; i < 16; i++)
            a[i] = (int)(normal(3, i) * 1024) * by[b];
        svd_values(a, 4, 4, s);
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq_tol(s[k] / by[b], want[k], by[b] < 0x1p-1020 ? 1e-10 : 1e-300);
    }
}
END_TEST

START_TEST(matrices_that_are_not_finite_have_no_rank)
{
    static const double odd[] = { (double)NAN, HUGE_VAL, -HUGE_VAL };

    for (int i = 0; i < COUNT(odd); i++) {
        double a[6] = { 1, 2, 3, 4, odd[i], 6 }, s[2] = { 1, 1 };

        svd_values(a, 2, 3, s);
        ck_assert(isnan(s[0]) && isnan(s[1]));
        const Rank r = svd_rank(s, 2, 1e-3);
        ck_assert(isnan(r.rank) && isnan(r.effective) && isnan(r.holding));
    }
}
END_TEST

START_TEST(n_equal_values_have_rank_n_by_every_measure)
{
    double s[MOST];

    for (int n = 1; n <= MOST; n++) {
        for (int k = 0; k < n; k++)
            s[k] = 0.1;
        const Rank r = svd_rank(s, n, 0.999);
        ck_assert_double_eq(r.rank, n);
        ck_assert_double_eq_tol(r.effective, n, 1e-12 * n);
        ck_assert_double_eq(r.holding, (9 * n + 9) / 10);
    }
}
END_TEST

START_TEST(the_measures_of_falling_values_are_those_of_the_formulas)
{
    static const double s[] = { 8, 4, 2, 1, 1, 0 };
    const Rank r = svd_rank(s, 6, 0.125);

    ck_assert_double_eq(r.rank, 3); /* 1 is an eighth of the largest, and not above it */
    ck_assert_double_eq_tol(r.effective, exp2(0.5 + 0.5 + 3 / 8.0 + 2 * 4 / 16.0), 1e-13);
    ck_assert_double_eq(r.holding, 4); /* 14 are 87.5% of 16, 15 are 93.75% */
    ck_assert_double_eq(svd_rank(s, 6, 0.12).rank, 5);
    ck_assert_double_eq(svd_rank(s, 6, 0).rank, 5);
}
END_TEST

/* As large as those of a model are; Frobenius' norm is the values', and they are in order. */
START_TEST(singular_values_of_a_large_matrix_preserve_its_norm)
{
    enum { N = 256 };
    double *a = malloc(sizeof(double) * N * N), s[N], norm = 0, sum = 0;

    for (int i = 0; i < N * N; i++)
        a[i] = normal(4, i), norm += a[i] * a[i];
    svd_values(a, N, N, s);
    for (int k = 0; k < N; k++) {
        sum += s[k] * s[k];
        ck_assert(k == 0 || s[k] <= s[k - 1]);
    }
    ck_assert_double_eq_tol(sum / norm, 1, 1e-13);
    ck_assert_double_eq_tol(s[0], 2 * sqrt(N), 2); /* Marchenko and Pastur, 1967 */
    free(a);
}
END_TEST

Suite *suite_svd(void)
{
    Suite *s = suite_create("svd");
    TCase *t = group(s, "svd");

    tcase_add_loop_test(t, orthogonal_factors_keep_the_singular_values, 0, COUNT(shapes));
    tcase_add_test(t, a_diagonal_has_its_absolute_values_in_descending_order);
    tcase_add_test(t, hilbert_matrices_have_their_known_singular_values);
    tcase_add_loop_test(t, a_product_of_two_vectors_has_rank_1, 0, COUNT(shapes));
    tcase_add_test(t, zeros_have_no_rank);
    tcase_add_test(t, the_scale_of_a_matrix_is_that_of_its_values);
    tcase_add_test(t, matrices_that_are_not_finite_have_no_rank);
    tcase_add_test(t, n_equal_values_have_rank_n_by_every_measure);
    tcase_add_test(t, the_measures_of_falling_values_are_those_of_the_formulas);
    tcase_add_test(t, singular_values_of_a_large_matrix_preserve_its_norm);
    return s;
}
