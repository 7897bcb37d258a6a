/* Updates that are not taken, and runs that have failed by them. */
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/skips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Skips skips;
static Small *model;

static void open_skips(void)
{
    skips = (Skips){ 0 };
    model = small_open(small_variant(0), 2, 5);
    for (Param *p = model->model.params.first; p; p = p->next) {
        p->tensor->has_grad = true;
        memset(p->tensor->grad, 0, p->tensor->n * sizeof(real));
    }
}

static void close_skips(void)
{
    small_close(model);
}

static Text add(double limit, int step, double loss, double norm)
{
    return skips_add(&skips, limit, step, loss, norm, &model->model.params);
}

static bool is_taken(double limit, int step, double loss, double norm)
{
    return add(limit, step, loss, norm).n == 0;
}

static bool has_failed(void)
{
    return skips_failure(&skips).n > 0;
}

START_TEST(a_loss_or_a_norm_that_is_not_finite_is_skipped)
{
    ck_assert(is_taken(0, 1, 2.5, 1e300));
    ck_assert_str_eq(add(0, 2, (double)NAN, 1).at, "the loss is not finite");
    ck_assert_str_eq(add(0, 3, HUGE_VAL, (double)NAN).at, "the loss is not finite");
    ck_assert_str_eq(add(0, 4, 2.5, HUGE_VAL).at, "the gradient norm is not finite");
    ck_assert_int_eq(skips.bad, 3);
    ck_assert(is_taken(0, 5, 2.5, 0));
    ck_assert_int_eq(skips.bad, 0);
    ck_assert_int_eq(skips.steps.n, 3);
}
END_TEST

/* A gradient passes through the layers from the last to the first. */
START_TEST(the_gradient_that_broke_first_is_named)
{
    Param *first = model->model.params.first, *next = first->next;

    first->tensor->grad[first->tensor->n - 1] = R(NAN);
    next->tensor->grad[0] = -R(INFINITY);
    next->next->fixed = true, next->next->tensor->grad[0] = R(NAN);
    const Text why = add(0, 1, 2.5, (double)NAN);
    ck_assert_msg(strstr(why.at, next->name) != NULL, "%s", why.at);
    next->tensor->grad[0] = 0;
    ck_assert_ptr_nonnull(strstr(add(0, 2, 2.5, (double)NAN).at, first->name));
}
END_TEST

START_TEST(five_steps_in_a_row_fail)
{
    for (int step = 1; step <= 4; step++)
        add(0, step, (double)NAN, 1);
    ck_assert(!has_failed());
    ck_assert(is_taken(0, 5, 1, 1));
    for (int step = 6; step <= 10; step++) {
        ck_assert(!has_failed());
        add(0, step, (double)NAN, 1);
    }
    ck_assert_str_eq(skips_failure(&skips).at, "no finite gradient in 5 steps");
}
END_TEST

/* Every 100th step is one in a hundred; every 99th is more. */
START_TEST(more_than_one_step_in_a_hundred_fails)
{
    for (int every = 99; every <= 100; every++) {
        int step = 0;

        skips = (Skips){ 0 };
        while (!has_failed() && ++step < 5000)
            add(0, step, step % every == 0 ? (double)NAN : 1, 1);
        ck_assert_int_eq(step, every == 99 ? 11 * 99 : 5000);
    }
    skips = (Skips){ 0 };
    for (int step = 1; step < 1098; step++)
        add(0, step, step % 99 == 0 && step < 1000 ? (double)NAN : 1, 1);
    add(0, 1098, 1, (double)NAN);
    ck_assert(has_failed()); /* that of step 99 still counts, */
    skips.steps.n--;
    add(0, 1099, 1, (double)NAN);
    ck_assert(!has_failed()); /* and now it does not */
}
END_TEST

/* Losses 1 and 3 in turn: their mean is 2, their standard deviation 1; norms are ten times that. */
static void fill_window(double limit, int n)
{
    for (int i = 0; i < n; i++)
        ck_assert(is_taken(limit, i + 1, i % 2 ? 3 : 1, i % 2 ? 30 : 10));
}

START_TEST(a_spike_is_so_many_standard_deviations_above_the_mean)
{
    for (int of_norm = 0; of_norm < 2; of_norm++)
        for (int far = 0; far < 2; far++) {
            const double loss = of_norm ? 2 : far ? 8.01 : 7.99;
            const double norm = !of_norm ? 20 : far ? 80.1 : 79.9;

            skips = (Skips){ 0 };
            fill_window(6, 64);
            ck_assert_int_eq(is_taken(6, 65, loss, norm), !far);
            ck_assert_int_eq(skips.bad, 0);
            ck_assert_int_eq(skips.steps.n, 0);
        }
    skips = (Skips){ 0 };
    fill_window(6, 64);
    ck_assert_str_eq(add(6, 65, 12, 100).at,
                     "loss 12 is 10 standard deviations above its recent mean");
    skips = (Skips){ 0 };
    fill_window(6, 64);
    ck_assert(is_taken(6, 65, -1e6, 0)); /* as far below is none */
}
END_TEST

START_TEST(there_are_no_spikes_without_a_limit_or_before_half_a_window)
{
    fill_window(6, 63);
    ck_assert(is_taken(6, 64, 1e6, 1e6));
    skips = (Skips){ 0 };
    fill_window(0, 128);
    ck_assert(is_taken(0, 129, 1e6, 1e6));
    ck_assert_int_eq(skips.losses.n, 0);
    fill_window(6, 64);
    ck_assert(is_taken(0, 65, 1e6, 1e6)); /* a run that is resumed without its limit */
    ck_assert_int_eq(skips.losses.n + skips.norms.n, 0);
}
END_TEST

/* Of the last 128; what is not finite is not among them. */
START_TEST(a_lasting_change_of_level_is_taken_soon)
{
    int skipped = 0;

    fill_window(6, 200);
    ck_assert_int_eq(skips.losses.n, SKIPS_WINDOW);
    add(6, 201, (double)NAN, 1);
    add(6, 202, 1, HUGE_VAL);
    ck_assert_double_eq(skips.losses.at[SKIPS_WINDOW - 1], 3);
    for (int step = 203; step < 300; step++)
        skipped += !is_taken(6, step, 12, 20);
    ck_assert_int_gt(skipped, 1);
    ck_assert_int_lt(skipped, 8);
    ck_assert_int_eq(skips.losses.n, SKIPS_WINDOW);
    ck_assert_double_eq(skips.losses.at[SKIPS_WINDOW - 98], 3);
}
END_TEST

START_TEST(lists_are_read_as_they_were_written)
{
    static const char *const wrong[] = { "1 x", "1 ", "nan", "1 inf", "1,2" };
    Recent list = { 4, { 0.1, -1.0 / 3, 5e-324, 1.7976931348623157e308 } }, back;
    Arena *mem = arena_new();

    for (int i = 0; i < 2; i++) {
        ck_assert(recent_read(&back, recent_text(&list, mem)));
        ck_assert_int_eq(back.n, list.n);
        ck_assert_mem_eq(back.at, list.at, (size_t)list.n * sizeof *list.at);
        for (list.n = 0; list.n < SKIPS_WINDOW; list.n++)
            list.at[list.n] = -1e-300 / 3 * (list.n + 1);
    }
    ck_assert(recent_read(&back, ""));
    ck_assert_int_eq(back.n, 0);
    ck_assert(!recent_read(&back, arena_format(mem, "%s 1", recent_text(&list, mem))));
    for (int i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(!recent_read(&back, wrong[i]), "%s", wrong[i]);
    arena_free(mem);
}
END_TEST

START_TEST(lists_that_no_run_has_are_impossible)
{
    Skips s = { .steps = { 2, { 3, 10 } }, .losses = { 1, { -1 } }, .norms = { 1, { 0 } } };

    ck_assert(skips_are_possible(&s, 10));
    ck_assert(!skips_are_possible(&s, 9));
    s.steps.at[0] = 10;
    ck_assert(!skips_are_possible(&s, 10));
    s.steps.at[0] = 0;
    ck_assert(!skips_are_possible(&s, 10));
    s.steps.n = 0, s.norms.at[0] = -1;
    ck_assert(!skips_are_possible(&s, 10));
    s.norms.n = 0;
    ck_assert(!skips_are_possible(&s, 10));
    s.losses.n = 0;
    for (s.steps.n = 0; s.steps.n <= SKIPS_MOST; s.steps.n++)
        s.steps.at[s.steps.n] = s.steps.n + 1;
    ck_assert(!skips_are_possible(&s, 100));
}
END_TEST

Suite *suite_skips(void)
{
    Suite *s = suite_create("skips");
    TCase *t = group(s, "skips");

    tcase_add_checked_fixture(t, open_skips, close_skips);
    tcase_add_test(t, a_loss_or_a_norm_that_is_not_finite_is_skipped);
    tcase_add_test(t, the_gradient_that_broke_first_is_named);
    tcase_add_test(t, five_steps_in_a_row_fail);
    tcase_add_test(t, more_than_one_step_in_a_hundred_fails);
    tcase_add_test(t, a_spike_is_so_many_standard_deviations_above_the_mean);
    tcase_add_test(t, there_are_no_spikes_without_a_limit_or_before_half_a_window);
    tcase_add_test(t, a_lasting_change_of_level_is_taken_soon);
    tcase_add_test(t, lists_are_read_as_they_were_written);
    tcase_add_test(t, lists_that_no_run_has_are_impossible);
    return s;
}
