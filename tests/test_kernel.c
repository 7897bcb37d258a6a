/* The kernel of the matrix product, transposes, elementary functions, and sums over rows. */
#include "ops/kernel/elementary.h"
#include "ops/kernel/kernel.h"
#include "ops/kernel/transpose.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <string.h>

/* One in a thousand of all floats with a result above 0 and finite. */
START_TEST(the_exponential_is_accurate_to_two_ulps)
{
    double worst = 0;

    for (int sign = 0; sign < 2; sign++)
        for (uint32_t bits = 0; bits < 0x42b17180; bits += 997) { /* 88.72 */
            uint32_t with_sign = bits | (uint32_t)sign << 31;
            float x;

            memcpy(&x, &with_sign, sizeof x);
            double want = exp((double)x), unit = want * 0x1p-23;
            double error = fabs((double)exp_float(x) - want) / (unit > 0x1p-149 ? unit : 0x1p-149);
            worst = error > worst ? error : worst;
        }
    ck_assert_double_le(worst, 2);
    ck_assert_double_eq((double)exp_float(0), 1);
    ck_assert_double_eq((double)exp_float(-HUGE_VALF), 0);
    ck_assert_double_eq((double)exp_float(-104.5F), 0);
    ck_assert_double_eq((double)exp_float(89), HUGE_VAL);
    ck_assert(isnan(exp_float((float)NAN)));
}
END_TEST

/* The cheaper one from -87 to 87, and the functions that use it beyond. */
START_TEST(the_near_exponential_is_accurate_to_two_ulps)
{
    double worst = 0;

    for (uint32_t bits = 0; bits <= 0x42ae0000; bits += 997) /* 87 */
        for (int sign = -1; sign <= 1; sign += 2) {
            float x;

            memcpy(&x, &bits, sizeof x);
            x *= (float)sign;
            double want = exp((double)x);
            worst = fmax(worst, fabs((double)exp_near_float(x) - want) / (want * 0x1p-23));
        }
    ck_assert_double_le(worst, 2);
    ck_assert(exp_below(0) == 1 && exp_below(-FADED) > 0 && exp_below(-FADED - 1) == 0);
    ck_assert(exp_below(-R(HUGE_VAL)) == 0 && isnan(exp_below(R(NAN))));
    ck_assert(sigmoid(0) == R(0.5) && sigmoid(FADED + 1) == 1 && sigmoid(-FADED) > 0);
    ck_assert(sigmoid(-FADED - 1) == 0 && sigmoid(R(HUGE_VAL)) == 1 && isnan(sigmoid(R(NAN))));
}
END_TEST

START_TEST(sines_and_cosines_are_accurate_to_1e_7)
{
    double worst = 0;

    for (uint32_t bits = 0; bits <= 0x45fa0000; bits += 9973) /* 8000 */
        for (int sign = -1; sign <= 1; sign += 2) {
            float x;

            memcpy(&x, &bits, sizeof x);
            x *= (float)sign;
            worst = fmax(worst, fabs((double)sin_float(x, 0) - sin((double)x)));
            worst = fmax(worst, fabs((double)sin_float(x, 1) - cos((double)x)));
        }
    ck_assert_double_le(worst, 1e-7);
    ck_assert(fabsf(sin_float(1e30F, 0)) <= 1.01F && fabsf(sin_float(-1e30F, 1)) <= 1.01F);
    ck_assert(isnan(sin_float((float)NAN, 0)) && isnan(sin_float((float)NAN, 1)));
    ck_assert(sin_real(0) == 0 && cos_real(0) == 1);
}
END_TEST

/* For every length around multiples of SUMS lanes; the maximum ignores NaN. */
START_TEST(row_sums_and_maxima_include_the_last_elements)
{
    real x[6 * SUMS], ones[6 * SUMS];

    for (int n = 0; n < COUNT(x); n++) {
        real sum = 0, largest = -5;

        for (int i = 0; i < n; i++) {
            x[i] = (real)((i * 7 + n) % 11 - 4), ones[i] = 1;
            sum += x[i];
            largest = x[i] > largest ? x[i] : largest;
        }
        ck_assert(row_sum(x, n) == sum && row_dot(x, ones, n) == sum);
        ck_assert(row_max(x, n, -5) == largest && row_max(x, n, 99) == 99);
        if (n > 0)
            x[n - 1] = R(NAN);
        ck_assert(!isnan(row_max(x, n, -5)));
    }
}
END_TEST

START_TEST(the_exponentials_of_a_row_are_summed_as_row_sum_does)
{
    real x[3 * SUMS], e[3 * SUMS];

    for (int n = 0; n < COUNT(x); n++) {
        for (int i = 0; i < n; i++)
            x[i] = R(0.3) * (real)(i * 7 % 11) - 3, e[i] = exp_below(x[i]);
        real sum = row_exp(x, n, 0);
        ck_assert(sum == row_sum(x, n));
        for (int i = 0; i < n; i++)
            ck_assert(fabs((double)(x[i] - e[i])) <= 1e-6 * (double)e[i]);
    }
}
END_TEST

START_TEST(lanes_within_a_span_are_kept_and_the_others_replaced)
{
    real x[SUMS];

    for (int i = 0; i < SUMS; i++)
        x[i] = i == 1 ? R(NAN) : (real)i;
    for (int from = -2; from <= SUMS + 2; from++)
        for (int to = -2; to <= SUMS + 2; to++) {
            real y[SUMS];

            lanes_put(y, lanes_within(lanes_at(x), from, to, lanes_all(-R(HUGE_VAL))));
            for (int i = 0; i < SUMS; i++)
                if (i < from || i >= to)
                    ck_assert(y[i] == -R(HUGE_VAL));
                else
                    ck_assert(i == 1 ? isnan(y[i]) : y[i] == x[i]);
        }
}
END_TEST

/* For every layout of a, assigned and added to c; the numbers around c stay as they are. */
START_TEST(the_kernel_matches_its_plain_twin)
{
    enum { K = 37, WIDE = NR + 3 };
    static real a[2 * KC * MR + K * (MR + 1)];
    real b[K * WIDE], c[MR * WIDE], twin[MR * WIDE];
    const ptrdiff_t strides[][2] = { { K + 1, 1 }, { KC, 1 }, { KC, 2 }, { 1, MR }, { 1, MR + 1 } };

    fill(a, COUNT(a), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int i = 0; i < COUNT(strides); i++)
        for (int k = 0; k <= K; k++)
            for (int more = 0; more < 2; more++) {
                Factors f = { a, strides[i][0], strides[i][1], b, WIDE, k };

                fill(c, COUNT(c), 3, 1);
                memcpy(twin, c, sizeof c);
                kernel(c, WIDE, &f, more);
                kernel_plain(twin, WIDE, &f, more);
                ck_assert_msg(distance(c, twin, COUNT(c)) <= (in_double ? 1e-15 : 1e-6),
                              "strides %d, k %d, add %d", i, k, more);
            }
}
END_TEST

/* For every layout of a; the columns after the first LANES stay as they are. */
START_TEST(the_narrow_kernel_gives_the_first_columns_of_the_other)
{
    enum { K = KC < 37 ? KC : 37 };
    static real a[MR * (K + 1) + K * (MR + 1)];
    real b[K * NR], c[MR * NR], narrow[MR * NR], before[MR * NR];
    const ptrdiff_t strides[][2] = { { K + 1, 1 }, { 1, MR }, { 1, MR + 1 } };

    fill(a, COUNT(a), 1, 1);
    fill(b, COUNT(b), 2, 1);
    fill(before, COUNT(before), 3, 1);
    for (int i = 0; i < COUNT(strides); i++)
        for (int cols = 1; cols <= NR; cols++)
            for (int more = 0; more < 2; more++) {
                const Factors f = { a, strides[i][0], strides[i][1], b, NR, K };

                memcpy(c, before, sizeof c);
                memcpy(narrow, before, sizeof c);
                kernel(c, NR, &f, more);
                kernel_columns(narrow, NR, &f, more, cols);
                for (int k = 0; k < COUNT(c); k++)
                    ck_assert(narrow[k] == (cols <= LANES && k % NR >= LANES ? before : c)[k]);
            }
}
END_TEST

/* gemm packs some rows of a and reads others in place: the bits of c must be the same. */
START_TEST(the_layout_of_a_changes_no_bit_of_the_kernel)
{
    enum { K = KC < 37 ? KC : 37, MOST = KC > MR + 1 ? KC : MR + 1 };
    static real m[MR * K], a[MR * MOST + K * MOST], b[K * NR];
    real c[MR * NR], first[MR * NR];
    const ptrdiff_t strides[][2] = { { K + 1, 1 }, { KC, 1 }, { 1, MR }, { 1, MR + 1 } };

    fill(m, COUNT(m), 1, 1);
    fill(b, COUNT(b), 2, 1);
    for (int i = 0; i < COUNT(strides); i++) {
        const ptrdiff_t rs = strides[i][0], cs = strides[i][1];

        for (int r = 0; r < MR; r++)
            for (int k = 0; k < K; k++)
                a[r * rs + k * cs] = m[r * K + k];
        kernel(c, NR, &(Factors){ a, rs, cs, b, NR, K }, false);
        if (i == 0)
            memcpy(first, c, sizeof c);
        ck_assert_msg(memcmp(c, first, sizeof c) == 0, "strides %d", i);
    }
}
END_TEST

/* For every number of rows and columns up to more than two vectors, and both layouts. */
START_TEST(a_transpose_matches_its_plain_twin)
{
    enum { MOST = 2 * LANES + 3, WIDE = MOST + 2 };
    static real from[WIDE * WIDE], to[WIDE * WIDE], twin[WIDE * WIDE];

    fill(from, COUNT(from), 1, 1);
    for (int rows = 0; rows <= MOST; rows++)
        for (int cols = 0; cols <= MOST; cols++)
            for (int transposed = 0; transposed < 2; transposed++) {
                Strided m = { from, transposed ? 1 : WIDE, transposed ? WIDE : 1, rows, cols };

                fill(to, COUNT(to), 2, 1);
                memcpy(twin, to, sizeof to);
                transpose(to, WIDE, m);
                transpose_plain(twin, WIDE, m);
                ck_assert_msg(memcmp(to, twin, sizeof to) == 0, "%d x %d", rows, cols);
                if (rows > 1 && cols > 2)
                    ck_assert(memcmp(to + 2 * WIDE + 1,
                                     from + (transposed ? 2 * WIDE + 1 : WIDE + 2),
                                     sizeof(real)) == 0);
            }
}
END_TEST

Suite *suite_kernel(void)
{
    Suite *s = suite_create("kernel");
    TCase *t = group(s, "kernel");

    tcase_add_test(t, the_kernel_matches_its_plain_twin);
    tcase_add_test(t, the_narrow_kernel_gives_the_first_columns_of_the_other);
    tcase_add_test(t, the_layout_of_a_changes_no_bit_of_the_kernel);
    tcase_add_test(t, a_transpose_matches_its_plain_twin);
    tcase_add_test(t, the_exponential_is_accurate_to_two_ulps);
    tcase_add_test(t, the_near_exponential_is_accurate_to_two_ulps);
    tcase_add_test(t, sines_and_cosines_are_accurate_to_1e_7);
    tcase_add_test(t, row_sums_and_maxima_include_the_last_elements);
    tcase_add_test(t, the_exponentials_of_a_row_are_summed_as_row_sum_does);
    tcase_add_test(t, lanes_within_a_span_are_kept_and_the_others_replaced);
    return s;
}
