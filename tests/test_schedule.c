/* The learning rate of every step. */
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/plan.h"
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

START_TEST(a_schedule_without_warmup_or_decay_is_valid)
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

START_TEST(wsd_decays_by_one_minus_the_square_root)
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

START_TEST(wsd_accepts_cooldowns_of_0_and_1)
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

/* A machine whose updates take work / speed, and more where there are many parameters. */
typedef struct {
    double speed, slower;
    int asked;
} Fake;

static double fake_clock(void *ctx, PlanSize s)
{
    Fake *f = ctx;
    const double parameters = 12.0 * s.layers * s.width * s.width;
    const double work = (parameters + 2.0 * s.layers * s.width * s.context) * s.context * s.batch;

    return work / f->speed * (f->asked++ ? f->slower : 1);
}

static PlanWanted wanted(Fake *f, double seconds, double bytes, PlanSize given)
{
    return (PlanWanted){ .seconds = seconds,
                         .bytes = bytes,
                         .train = 0.9 * bytes,
                         .held_back = 0.1 * bytes,
                         .given = given,
                         .dropout = (double)NAN,
                         .batches = 1,
                         .share = 1,
                         .evaluations = 10,
                         .some = 20,
                         .clock = fake_clock,
                         .ctx = f };
}

static Plan plan_of(Fake *f, double seconds, double bytes, PlanSize given)
{
    const PlanWanted w = wanted(f, seconds, bytes, given);

    return plan_run(&w);
}

START_TEST(a_plan_takes_the_time_that_there_is)
{
    for (double seconds = 3; seconds < 1e5; seconds *= 1.7) {
        Fake f = { 5e9, 1, 0 };
        const double bytes = 3e6;
        const Plan p = plan_of(&f, seconds, bytes, (PlanSize){ 0 });
        const double row = p.step_seconds / p.size.batch / 3;
        const double last = fmin(bytes / 10 / p.size.context * row, seconds / 10);
        const double all = p.steps * p.step_seconds +
                           10 * fmin(20 * p.size.batch, bytes / 10 / p.size.context) * row + last;

        ck_assert_double_ge(all, 0.95 * seconds);
        ck_assert_double_le(all, seconds);
        ck_assert_double_eq_tol(
            p.epochs, p.steps * (double)p.size.batch * p.size.context / (0.9 * bytes), 1e-9);
    }
}
END_TEST

START_TEST(more_time_or_text_or_speed_is_for_a_larger_model)
{
    const PlanSize none = { 0 };
    Fake f = { 2e10, 1, 0 }, fast = { 2e11, 1, 0 }, slow = { 2e10, 3, 0 };
    const Plan p = plan_of(&f, 60, 1e8, none);

    ck_assert_int_eq(f.asked, 2); /* the smallest, and the one that an estimate from it finds */
    ck_assert_int_eq(p.size.width, 96);
    ck_assert_int_gt(plan_of(&f, 3600, 1e6, none).size.width, p.size.width);
    ck_assert_int_gt(plan_of(&fast, 60, 1e6, none).size.width, p.size.width);
    ck_assert_int_lt(plan_of(&f, 60, 2e4, none).size.width, p.size.width);
    ck_assert_int_lt(plan_of(&f, 1, 1e6, none).size.width, p.size.width);
    ck_assert_int_lt(plan_of(&slow, 150, 1e6, none).size.width,
                     plan_of(&f, 150, 1e6, none).size.width);
}
END_TEST

START_TEST(a_plan_keeps_what_is_given_and_drops_out_where_text_is_read_again)
{
    Fake f = { 5e9, 1, 0 };
    const Plan p = plan_of(&f, 60, 1e6, (PlanSize){ 3, 0, 100, 50, 7 });

    ck_assert(p.size.layers == 3 && p.size.width == 100 && p.size.context == 50);
    ck_assert(p.size.batch == 7 && p.size.width % p.size.heads == 0);
    ck_assert(plan_of(&f, 60, 1e8, p.size).dropout == 0);
    ck_assert(plan_of(&f, 150, 3e5, p.size).dropout == 0.1);
    ck_assert(plan_of(&f, 1500, 3e5, p.size).dropout == 0.2);
}
END_TEST

START_TEST(heads_have_even_widths)
{
    Fake f = { 5e9, 1, 0 };

    for (int heads = 1; heads <= 40; heads++) {
        const PlanSize s = plan_of(&f, 60, 1e6, (PlanSize){ .heads = heads }).size;

        ck_assert(s.heads == heads && s.width % (2 * heads) == 0 && s.width >= 64);
    }
    for (int width = 2; width <= 200; width += 2) {
        const PlanSize s = plan_of(&f, 600, 1e6, (PlanSize){ .width = width }).size;

        ck_assert(s.width == width && width % (2 * s.heads) == 0);
    }
    ck_assert_int_eq(plan_of(&f, 60, 1e6, (PlanSize){ .heads = 4 }).size.width,
                     plan_of(&f, 60, 1e6, (PlanSize){ 0 }).size.width);
}
END_TEST

START_TEST(a_plan_keeps_the_updates_and_the_dropout_that_are_given)
{
    const PlanSize none = { 0 };
    Fake f = { 2e10, 1, 0 };
    PlanWanted w = wanted(&f, 60, 1e6, none);
    const int width = plan_run(&w).size.width;

    w.steps = 100, w.dropout = 0.3;
    Plan p = plan_run(&w);
    ck_assert(p.steps == 100 && p.dropout == 0.3);
    ck_assert_int_gt(p.size.width, width);
    ck_assert_double_eq_tol(p.epochs, 100 * p.size.batch * p.size.context / 0.9e6, 1e-9);
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 0).at, "makes 100 updates"));
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 1).at, "100 updates (given), reading"));
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 1).at, "; dropout 0.3 (given)"));
    plan_shorten(&w, &p, (p.in_time - 40.5) * p.step_seconds);
    ck_assert(p.steps == 100 && p.in_time == 40 && p.dropout == 0.3);
    ck_assert_double_eq_tol(p.epochs, 40 * p.size.batch * p.size.context / 0.9e6, 1e-9);
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 1).at, "100 updates (given; time for 40)"));
    w.steps = 1000000, w.dropout = 0;
    p = plan_run(&w);
    ck_assert(p.steps == 1000000 && p.size.width < width && p.dropout == 0);
}
END_TEST

/* Where no size has the time, or few enough parameters, it is the smallest. */
START_TEST(a_plan_says_why_its_size_is_chosen)
{
    const PlanSize none = { 0 };
    Fake f = { 2e10, 1, 0 };
    PlanWanted w = wanted(&f, 60, 1e6, none);
    Plan p = plan_run(&w);

    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 0).at, "the largest of 6 sizes that makes"));
    w.bytes = 1000;
    p = plan_run(&w);
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 0).at,
                                 "the smallest of 6 sizes; none has at most 3 parameters"));
    w.seconds = 1e-3;
    p = plan_run(&w);
    ck_assert_ptr_nonnull(
        strstr(plan_reason(&w, &p, 0).at, "the smallest of 6 sizes; none makes 2000 updates"));
    w.mechanisms = 5;
    ck_assert_int_eq(plan_run(&w).size.layers, 5);
    w.given = (PlanSize){ .layers = 5, .width = 64, .context = 64 };
    p = plan_run(&w);
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 0).at, "smallest"));
    w.given.batch = 8;
    ck_assert_ptr_nonnull(
        strstr(plan_reason(&w, &p, 0).at, "5 x 64, context 64, batches of 8 (given): "));
}
END_TEST

START_TEST(a_plan_is_shortened_by_the_time_that_is_gone)
{
    Fake f = { 1, 1, 0 };
    const PlanWanted w = wanted(&f, 60, 512 * 20 / 0.9, (PlanSize){ 0 });
    Plan p = { .size = { 2, 2, 64, 64, 8 }, .in_time = 110, .useful = 100, .step_seconds = 0.5 };

    plan_shorten(&w, &p, 5);
    ck_assert(p.steps == 100 && fabs(p.epochs - 5) < 1e-9);
    plan_shorten(&w, &p, 10);
    ck_assert(p.steps == 80 && fabs(p.epochs - 4) < 1e-9);
    plan_shorten(&w, &p, 1000);
    ck_assert_int_eq(p.steps, 1);
}
END_TEST

START_TEST(a_small_text_is_not_read_for_all_of_the_time)
{
    const PlanSize given = { 3, 4, 96, 64, 8 };
    Fake f = { 5e9, 1, 0 };
    const PlanWanted w = wanted(&f, 1e5, 2e5, given);
    PlanWanted masked = w;
    const Plan p = plan_run(&w), less = plan_of(&f, 60, 2e5, given);

    ck_assert_int_eq(p.steps, 16875); /* 48 times 180,000 tokens, 512 at a time */
    ck_assert_double_eq_tol(p.epochs, 48, 1e-9);
    ck_assert_ptr_nonnull(strstr(plan_reason(&w, &p, 1).at, "the most that is useful"));
    ck_assert_ptr_null(strstr(plan_reason(&w, &less, 1).at, "the most that is useful"));
    masked.share = 0.5;
    ck_assert_int_eq(plan_run(&masked).steps, 2 * 16875);
}
END_TEST

/* A batch takes the time of a batch, whatever number of them an update has. */
START_TEST(a_plan_counts_all_batches_of_an_update)
{
    const PlanSize given = { 3, 4, 96, 64, 8 };
    Fake f = { 5e9, 1, 0 }, slow = { 5e9 / 4, 1, 0 };
    PlanWanted one = wanted(&f, 1e5, 2e5, given), four = wanted(&slow, 1e5, 2e5, given);

    four.batches = 4;
    const Plan p = plan_run(&one), q = plan_run(&four);
    ck_assert_int_eq(q.steps, 4219); /* a fourth of those of one batch, rounded up */
    ck_assert_double_eq_tol(q.epochs, p.epochs * 4 * q.steps / p.steps, 1e-9);
    one.seconds = four.seconds = 60;
    ck_assert_int_eq(plan_run(&four).in_time, plan_run(&one).in_time / 4);
}
END_TEST

/* 4 bytes in each, and half of them held back, instead of a tenth. */
START_TEST(a_plan_counts_tokens)
{
    Fake f = { 2e10, 1, 0 };
    PlanWanted w = wanted(&f, 1500, 4e6, (PlanSize){ 0 }), half = w, tokens = w, brief = w;

    half.train = half.held_back = 2e6;
    tokens.train /= 4, tokens.held_back /= 4;
    brief.held_back = 100;
    const Plan all = plan_run(&w), p = plan_run(&half), q = plan_run(&tokens);
    ck_assert(all.size.width == p.size.width && all.size.width == q.size.width);
    ck_assert_double_eq_tol(p.epochs / p.in_time, all.epochs / all.in_time * 1.8, 1e-9);
    ck_assert_double_eq_tol(q.epochs / q.in_time, all.epochs / all.in_time * 4, 1e-9);
    ck_assert_int_eq(q.useful, (all.useful + 3) / 4);
    ck_assert_int_lt(p.in_time, all.in_time); /* more rows in the last evaluation */
    ck_assert_int_lt(plan_run(&brief).size.context, 100);
    brief.held_back = 1e6, brief.train = 9000;
    ck_assert_int_lt(plan_run(&brief).size.context, 100);
}
END_TEST

START_TEST(a_plan_has_the_time_for_whole_evaluations)
{
    Fake f = { 5e9, 1, 0 };
    PlanWanted w = wanted(&f, 60, 1e6, (PlanSize){ 3, 4, 96, 64, 8 });
    const Plan some = plan_run(&w);

    w.some = 0;
    const Plan all = plan_run(&w);
    const double row = all.step_seconds / 8 / 3, rows = 1e5 / 64 - 20 * 8;
    ck_assert_double_eq_tol((some.in_time - all.in_time) * all.step_seconds, 10 * rows * row,
                            all.step_seconds);
}
END_TEST

Suite *suite_schedule(void)
{
    Suite *s = suite_create("schedule");
    TCase *t = group(s, "schedule");

    tcase_add_test(t, the_rate_rises_in_a_line_and_falls_in_half_a_cosine);
    tcase_add_test(t, a_schedule_without_warmup_or_decay_is_valid);
    tcase_add_test(t, wsd_decays_by_one_minus_the_square_root);
    tcase_add_test(t, wsd_accepts_cooldowns_of_0_and_1);
    tcase_add_test(t, a_constant_schedule_rises_and_stays);
    tcase_add_test(t, every_schedule_has_its_name);
    tcase_add_test(t, a_plan_takes_the_time_that_there_is);
    tcase_add_test(t, more_time_or_text_or_speed_is_for_a_larger_model);
    tcase_add_test(t, a_plan_keeps_what_is_given_and_drops_out_where_text_is_read_again);
    tcase_add_test(t, a_small_text_is_not_read_for_all_of_the_time);
    tcase_add_test(t, a_plan_keeps_the_updates_and_the_dropout_that_are_given);
    tcase_add_test(t, a_plan_says_why_its_size_is_chosen);
    tcase_add_test(t, a_plan_counts_all_batches_of_an_update);
    tcase_add_test(t, a_plan_counts_tokens);
    tcase_add_test(t, heads_have_even_widths);
    tcase_add_test(t, a_plan_has_the_time_for_whole_evaluations);
    tcase_add_test(t, a_plan_is_shortened_by_the_time_that_is_gone);
    return s;
}
