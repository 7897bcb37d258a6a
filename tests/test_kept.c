/* The lines of a log that a resumed run keeps. */
#include "training/kept.h"

#include "tests/suites.h"
#include "tests/tests.h"

#include <string.h>

#define TRAIN(step) "{\"step\":" #step ",\"split\":\"train\",\"loss\":2.5}\n"
#define OTHER(step, split) "{\"step\":" #step ",\"split\":\"" split "\",\"loss\":1.5}\n"
#define START(step) "{\"step\":" #step ",\"split\":\"start\",\"run\":{}}\n"

/* Of a run that has done 20 steps and evaluated after 10. */
static void check_kept(const char *log, size_t n, const char *want, int train, int validation)
{
    const Progress p = { .step = 20, .evaluated = 10 };
    LossCurves curves = { .train.n = 0 };
    Spent spent = { 0 };
    char copy[1000];

    ck_assert_uint_le(n, sizeof copy);
    memcpy(copy, log, n);
    const size_t kept = kept_lines(copy, n, p, &curves, &spent);
    ck_assert_uint_eq(kept, strlen(want));
    ck_assert_mem_eq(copy, want, kept);
    ck_assert_int_eq(curves.train.n, train);
    ck_assert_int_eq(curves.validation.n, validation);
    curves_free(&curves);
}
#define KEPT(log, ...) check_kept(log, sizeof log - 1, __VA_ARGS__)

START_TEST(lines_of_later_steps_and_of_the_end_are_dropped)
{
    KEPT("", "", 0, 0);
    KEPT(START(0) TRAIN(10) OTHER(10, "val") TRAIN(20) TRAIN(21) OTHER(20, "val") START(20)
             OTHER(20, "final") OTHER(20, "test"),
         START(0) TRAIN(10) OTHER(10, "val") TRAIN(20) START(20), 2, 1);
}
END_TEST

START_TEST(what_is_no_line_of_a_log_is_dropped)
{
    KEPT("\n" TRAIN(1) "{\"step\":2}\n" TRAIN(3) "text\n[]\n", TRAIN(1) TRAIN(3), 2, 0);
    KEPT(TRAIN(1) "\0\0\0\n" TRAIN(2) "\0" TRAIN(3) TRAIN(4), TRAIN(1) TRAIN(2) TRAIN(4), 3, 0);
    KEPT("{\"step\":1,\"split\":\"train\",\"loss\":1}\0\n" TRAIN(2), TRAIN(2), 1, 0);
    KEPT(TRAIN(1) "{\"step\":2,\"split\":\"train\",\"loss\":1}", TRAIN(1), 1, 0);
    KEPT("{\"step\":99999999999,\"split\":\"train\",\"loss\":1}\n", "", 0, 0);
}
END_TEST

#define USED(step, split, tokens, seconds)                                                         \
    "{\"step\":" #step ",\"split\":\"" split "\",\"loss\":2.5,\"tokens\":" #tokens                 \
    ",\"tok_s\":9,\"seconds\":" #seconds "}\n"

static void check_spent(const char *log, int step, double tokens, double seconds)
{
    const Progress p = { .step = 20, .evaluated = 10 };
    LossCurves curves = { .train.n = 0 };
    Spent spent = { 0 };
    char copy[1000];

    ck_assert_uint_lt(strlen(log), sizeof copy);
    strcpy(copy, log);
    kept_lines(copy, strlen(log), p, &curves, &spent);
    ck_assert_int_eq(spent.step, step);
    ck_assert_double_eq(spent.tokens, tokens);
    ck_assert_double_eq(spent.seconds, seconds);
    curves_free(&curves);
}

START_TEST(what_is_spent_is_in_the_last_line_that_is_kept)
{
    check_spent(START(0), 0, 0, 0);
    check_spent(START(0) USED(10, "train", 640, 1.5) START(10), 10, 640, 1.5);
    check_spent(USED(10, "train", 640, 1.5) USED(10, "val", 640, 1.75), 10, 640, 1.75);
    check_spent(USED(20, "train", 1e3, 2.5) USED(21, "train", 2e3, 3) USED(20, "val", 1e3, 4), 20,
                1e3, 2.5);
    check_spent(USED(20, "train", -1, nan) "{\"step\":20,\"split\":\"start\"}\n", 0, 0, 0);
    check_spent(USED(10, "train", 640, 1.5) TRAIN(20), 10, 640, 1.5);
}
END_TEST

START_TEST(curves_have_the_steps_and_losses)
{
    LossCurves curves = { .train.n = 0 };

    for (int i = 0; i < 1000; i++)
        curves_add(&curves, i % 2 ? "val" : "train", i, i / 4.0);
    curves_add(&curves, "final", 1, 1);
    ck_assert_int_eq(curves.train.n, 500);
    ck_assert_int_eq(curves.validation.n, 500);
    ck_assert_double_eq(curves.validation.x[499], 999);
    ck_assert_double_eq(curves.validation.y[499], 999 / 4.0);
    curves_free(&curves);
}
END_TEST

Suite *suite_kept(void)
{
    Suite *s = suite_create("kept");
    TCase *t = group(s, "kept");

    tcase_add_test(t, lines_of_later_steps_and_of_the_end_are_dropped);
    tcase_add_test(t, what_is_no_line_of_a_log_is_dropped);
    tcase_add_test(t, what_is_spent_is_in_the_last_line_that_is_kept);
    tcase_add_test(t, curves_have_the_steps_and_losses);
    return s;
}
