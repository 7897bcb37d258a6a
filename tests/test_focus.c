/* What is found about an attention matrix, row by row. */
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/focus.h"

#include <stdlib.h>

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

enum { T = 13, BAND = 3 };

static const View views[] = {
    { .T = T, .length = T },
    { .T = T, .length = T, .causal = true },
    { .T = T, .length = 9 },
    { .T = T, .length = T, .window = 4 },
    { .T = T, .length = T, .window = 2, .causal = true },
};

static bool sees(const View *v, int i, int j)
{
    return j < v->length && (!v->causal || j <= i) && (v->window == 0 || abs(i - j) <= v->window);
}

static Focus look_at(const View *v, const real *A)
{
    Focus f = { 0 };

    focus_add(&f, &(Look){ *v, BAND, 0.1 }, A);
    return f;
}

static void check_mean(const Focus *f, int number, double want)
{
    ck_assert_msg(fabs(f->sum[number] / f->rows - want) <= tolerance * (1 + fabs(want)),
                  "number %d: %.15g, not %.15g", number, f->sum[number] / f->rows, want);
}

START_TEST(equal_weights_have_entropy_ln_n_and_n_keys)
{
    const View *v = &views[_i];
    real A[T * T] = { 0 };
    double want[FOCUS_NUMBERS] = { 0 };

    for (int i = 0; i < T; i++) {
        int n = 0, band = 0, distance = 0;

        for (int j = 0; j < T; j++) {
            A[i * T + j] = sees(v, i, j) ? R(0.25) : 9; /* what is not seen does not count */
            n += sees(v, i, j), band += sees(v, i, j) && abs(i - j) <= BAND;
            distance += sees(v, i, j) ? abs(i - j) : 0;
        }
        want[FOCUS_ENTROPY] += log(n) / T, want[FOCUS_KEYS] += (double)n / T;
        want[FOCUS_BAND] += (double)band / n / T, want[FOCUS_DISTANCE] += (double)distance / n / T;
        want[FOCUS_SUM] += 0.25 * n / T, want[FOCUS_SEEN] += 1.0 / T;
    }
    const Focus f = look_at(v, A);
    ck_assert_double_eq(f.rows, T);
    ck_assert_double_eq(f.empty, 0);
    for (int i = 0; i < FOCUS_NUMBERS; i++)
        check_mean(&f, i, want[i]);
}
END_TEST

/* _i: the distance at which each row has its only weight, where there is a key. */
START_TEST(a_single_weight_is_one_key_at_its_distance)
{
    real A[T * T] = { 0 };

    for (int i = _i; i < T; i++)
        A[i * T + i - _i] = R(0.5);
    const Focus f = look_at(&views[0], A);
    ck_assert_double_eq(f.rows, T - _i);
    ck_assert_double_eq(f.empty, _i);
    check_mean(&f, FOCUS_ENTROPY, 0);
    check_mean(&f, FOCUS_KEYS, 1);
    check_mean(&f, FOCUS_SEEN, 1.0 / T);
    check_mean(&f, FOCUS_BAND, _i <= BAND);
    check_mean(&f, FOCUS_DISTANCE, _i);
    check_mean(&f, FOCUS_ZERO, (T - 1.0) / T);
    check_mean(&f, FOCUS_FAINT, (T - 1.0) / T);
    check_mean(&f, FOCUS_SUM, 0.5);
}
END_TEST

/* Weights 1, -2, 4 and 0.25 of keys 0 to 3, in every row. */
START_TEST(shares_use_absolute_values_and_ignore_scale)
{
    static const real weight[4] = { 1, -2, 4, R(0.25) };
    static const View four = { .T = 4, .length = 4 };
    real A[16], B[16];

    for (int i = 0; i < 16; i++)
        A[i] = weight[i % 4], B[i] = -3 * A[i];
    const Focus a = look_at(&four, A), b = look_at(&four, B);
    double entropy = 0;
    for (int j = 0; j < 4; j++) {
        double p = fabs((double)weight[j]) / 7.25;

        entropy -= p * log(p);
    }
    check_mean(&a, FOCUS_ENTROPY, entropy);
    check_mean(&a, FOCUS_KEYS, exp(entropy));
    check_mean(&a, FOCUS_SEEN, exp(entropy) / 4);
    check_mean(&a, FOCUS_NEGATIVE, 2 / 7.25);
    check_mean(&a, FOCUS_FAINT, 0.25);
    check_mean(&a, FOCUS_ZERO, 0);
    check_mean(&a, FOCUS_SUM, 3.25);
    check_mean(&b, FOCUS_NEGATIVE, 5.25 / 7.25);
    check_mean(&b, FOCUS_SUM, -9.75);
    for (int i = 0; i < FOCUS_NEGATIVE; i++)
        check_mean(&b, i, a.sum[i] / a.rows);
}
END_TEST

START_TEST(a_nan_weight_is_not_ignored)
{
    static const View one = { .T = 1, .length = 1 };
    const real A[1] = { R(NAN) };
    const Focus f = look_at(&one, A);

    ck_assert_double_eq(f.rows, 1);
    for (int i = 0; i < FOCUS_NUMBERS; i++)
        ck_assert(isnan(f.sum[i]) || i == FOCUS_FAINT || i == FOCUS_ZERO || i == FOCUS_NEGATIVE);
}
END_TEST

Suite *suite_focus(void)
{
    Suite *s = suite_create("focus");
    TCase *t = group(s, "rows");

    tcase_add_loop_test(t, equal_weights_have_entropy_ln_n_and_n_keys, 0, COUNT(views));
    tcase_add_loop_test(t, a_single_weight_is_one_key_at_its_distance, 0, 6);
    tcase_add_test(t, shares_use_absolute_values_and_ignore_scale);
    tcase_add_test(t, a_nan_weight_is_not_ignored);
    return s;
}
