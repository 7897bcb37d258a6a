/* Activations at large arguments, and of NaN. */
#include "tests/promises.h"
#include "tests/suites.h"

#include <float.h>

/* Whether all of them are the same. The sign of a NaN is the compiler's. */
static bool all_same(const real *x, int n)
{
    for (int i = 1; i < n; i++)
        if (!same_bits(x + i, x, 1) && !(isnan((double)x[i]) && isnan((double)x[0])))
            return false;
    return true;
}

/* f(x) and f'(x). */
static void activate(const Activation *f, double x, double *y, double *dx)
{
    /* Several, so that the vector loop runs and its scalar rest. */
    real at[19], d[19];

    for (int i = 0; i < COUNT(at); i++)
        at[i] = R(x), d[i] = 1;
    f->chain(d, at, COUNT(at));
    f->apply(at, COUNT(at));
    ck_assert(all_same(at, COUNT(at)) && all_same(d, COUNT(d)));
    *y = (double)at[0];
    *dx = (double)d[0];
}

START_TEST(an_activation_of_a_large_number_is_the_number_or_zero)
{
    static const Activation *const f[] = { &activation_gelu, &activation_silu };
    static const double sizes[] = { 50, 89, 100, 710, 1e4, 1e15, 1e30, (double)FLT_MAX };
    double y, dx;

    for (int a = 0; a < COUNT(f); a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            double x = (double)R(sizes[i]);
            /* silu(-x) falls like x e^-x, gelu(-x) faster than any power of it */
            double nothing = a == 0 ? 1e-30 : 2 * x * exp(-x) + 1e-35;

            activate(f[a], x, &y, &dx);
            ck_assert_msg(y == x, "%s(%g) = %g", f[a]->name, x, y);
            ck_assert_msg(fabs(dx - 1) < 1e-6, "%s'(%g) = %g", f[a]->name, x, dx);
            activate(f[a], -x, &y, &dx);
            ck_assert_msg(fabs(y) <= nothing, "%s(%g) = %g", f[a]->name, -x, y);
            ck_assert_msg(fabs(dx) <= nothing, "%s'(%g) = %g", f[a]->name, -x, dx);
        }
}
END_TEST

START_TEST(the_tails_of_an_activation_are_monotone)
{
    static const Activation *const f[] = { &activation_gelu, &activation_silu };
    const double slack = in_double ? 1e-15 : 1e-6;

    for (int a = 0; a < COUNT(f); a++) {
        double right = 0, left = 0, y, dx;

        for (int i = 0; i <= 4000; i++) {
            double x = 1.5 + i * 0.01;

            activate(f[a], x, &y, &dx);
            ck_assert_msg(y > right, "%s(%g) = %g after %g", f[a]->name, x, y, right);
            right = y;
            activate(f[a], -x, &y, &dx);
            ck_assert_msg(y <= 0 && (i == 0 || y >= left - slack), "%s(%g) = %g after %g",
                          f[a]->name, -x, y, left);
            left = y;
        }
    }
}
END_TEST

START_TEST(an_activation_of_nan_is_nan)
{
    static const Activation *const f[] = { &activation_gelu,        &activation_silu,
                                           &activation_relu2,       &activation_sigmoid,
                                           &activation_log_sigmoid, &activation_softplus };
    double y, dx;

    for (int a = 0; a < COUNT(f); a++) {
        activate(f[a], nan(""), &y, &dx);
        ck_assert_msg(isnan(y) && isnan(dx), "%s: %g, and the slope is %g", f[a]->name, y, dx);
    }
}
END_TEST

Suite *suite_activation(void)
{
    Suite *s = suite_create("activation");
    TCase *t = group(s, "activation");

    tcase_add_test(t, an_activation_of_a_large_number_is_the_number_or_zero);
    tcase_add_test(t, the_tails_of_an_activation_are_monotone);
    tcase_add_test(t, an_activation_of_nan_is_nan);
    return s;
}
