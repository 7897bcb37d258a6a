/* The learning rate of every step. */
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/schedule.h"

START_TEST(the_rate_rises_in_a_line_and_falls_in_half_a_cosine)
{
    const Schedule s = { 1, 0.1, 10, 110, SCHEDULE_COSINE, 0 };

    for (int step = 1; step <= 10; step++)
        ck_assert_double_eq_tol(schedule_rate(&s, step), step / 10.0, 1e-15);
    ck_assert_double_eq_tol(schedule_rate(&s, 35), 0.1 + 0.9 * (1 + sqrt(0.5)) / 2, 1e-12);
    ck_assert_double_eq_tol(schedule_rate(&s, 60), 0.55, 1e-12);
    ck_assert_double_eq(schedule_rate(&s, 110), 0.1);
    ck_assert_double_eq(schedule_rate(&s, 100000), 0.1);
    for (int step = 11; step <= 111; step++)
        ck_assert_double_le(schedule_rate(&s, step), schedule_rate(&s, step - 1));
}
END_TEST

START_TEST(a_schedule_without_a_rise_or_a_fall_is_sound)
{
    static const int edge[][2] = { { 0, 10 }, { 1, 10 }, { 5, 5 }, { 9, 5 },
                                   { 0, 0 },  { 0, 1 },  { 5, 6 }, { 1, 1 } };

    for (int i = 0; i < COUNT(edge); i++)
        for (int step = 1; step <= 20; step++) {
            const Schedule s = { 1, 0.1, edge[i][0], edge[i][1], SCHEDULE_COSINE, 0 };
            double rate = schedule_rate(&s, step);

            ck_assert_double_gt(rate, 0);
            ck_assert_double_le(rate, 1);
            if (step >= edge[i][0] && step >= edge[i][1])
                ck_assert_double_eq(rate, 0.1);
        }
    ck_assert_double_eq(schedule_rate(&(Schedule){ 1, 0.1, 5, 6, SCHEDULE_COSINE, 0 }, 5), 1);
}
END_TEST

static const double tiny = 1e-12;

START_TEST(wsd_is_the_highest_and_falls_in_its_last_share_by_one_less_the_root)
{
    const Schedule s = { 1, 0.1, 10, 200, SCHEDULE_WSD, 0.2 };

    for (int step = 1; step <= 10; step++)
        ck_assert_double_eq_tol(schedule_rate(&s, step), step / 10.0, tiny);
    for (int step = 10; step <= 160; step++)
        ck_assert_double_eq(schedule_rate(&s, step), 1);
    for (int step = 161; step <= 200; step++)
        ck_assert_double_lt(schedule_rate(&s, step), schedule_rate(&s, step - 1));
    ck_assert_double_eq_tol(schedule_rate(&s, 170), 0.1 + 0.9 / 2, tiny);
    ck_assert_double_eq(schedule_rate(&s, 200), 0.1);
    ck_assert_double_eq(schedule_rate(&s, 100000), 0.1);
}
END_TEST

START_TEST(wsd_with_all_or_nothing_to_fall_in_is_sound)
{
    const Schedule none = { 1, 0.1, 10, 50, SCHEDULE_WSD, 0 },
                   all = { 1, 0.1, 10, 50, SCHEDULE_WSD, 1 },
                   late = { 1, 0.1, 50, 10, SCHEDULE_WSD, 0.2 };

    ck_assert_double_eq(schedule_rate(&none, 49), 1);
    ck_assert_double_eq(schedule_rate(&none, 50), 0.1);
    ck_assert_double_eq(schedule_rate(&all, 10), 1);
    ck_assert_double_eq_tol(schedule_rate(&all, 20), 0.55, tiny);
    ck_assert_double_eq(schedule_rate(&late, 25), 0.5);
    ck_assert_double_eq(schedule_rate(&late, 50), 0.1);
}
END_TEST

START_TEST(a_constant_schedule_rises_and_stays)
{
    const Schedule s = { 1, 0.1, 10, 50, SCHEDULE_CONSTANT, 0.2 };

    ck_assert_double_eq(schedule_rate(&s, 5), 0.5);
    for (int step = 10; step < 1000; step += 10)
        ck_assert_double_eq(schedule_rate(&s, step), 1);
}
END_TEST

START_TEST(every_schedule_has_its_name)
{
    ck_assert_str_eq(schedule_names[SCHEDULE_COSINE], "cosine");
    ck_assert_str_eq(schedule_names[SCHEDULE_WSD], "wsd");
    ck_assert_str_eq(schedule_names[SCHEDULE_CONSTANT], "constant");
    ck_assert_ptr_null(schedule_names[SCHEDULE_CONSTANT + 1]);
}
END_TEST

Suite *suite_schedule(void)
{
    Suite *s = suite_create("schedule");
    TCase *t = group(s, "schedule");

    tcase_add_test(t, the_rate_rises_in_a_line_and_falls_in_half_a_cosine);
    tcase_add_test(t, a_schedule_without_a_rise_or_a_fall_is_sound);
    tcase_add_test(t, wsd_is_the_highest_and_falls_in_its_last_share_by_one_less_the_root);
    tcase_add_test(t, wsd_with_all_or_nothing_to_fall_in_is_sound);
    tcase_add_test(t, a_constant_schedule_rises_and_stays);
    tcase_add_test(t, every_schedule_has_its_name);
    return s;
}
