/* Progress on terminals, and how long a run takes. */
#include "ops/base/error.h"
#include "ops/base/terminal.h"
#include "tests/folder.h"
#include "tests/screen.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/display.h"
#include "training/pace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UPDATES = 200 };
static const int widths[] = { 40, 60, 80, 110, 7, 23 };

static Screen screen;

static void environment_open(void)
{
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
}

/* Lines that become longer and shorter, with all that may come between them. */
static LogLine line_of(int step)
{
    return (LogLine){ .step = step,
                      .loss = step % 7 ? 2.5 : 12345.678,
                      .bits = step % 3 ? 1.25 : (double)NAN,
                      .accuracy = step % 5 ? (double)NAN : 0.5,
                      .f1 = step % 10 ? (double)NAN : 0.25,
                      .rate = 1e-3,
                      .grad_norm = step % 4 ? 0.25 : 98765.4,
                      .tokens_per_second = step % 2 ? 900 : 1234567,
                      .seconds = step * (step % 9) };
}

static void update(void *ctx)
{
    const int step = *(const int *)ctx;
    const LogLine line = line_of(step);

    display_step(&line, UPDATES, 0.5, (UPDATES - step) * (step % 8 ? 1.0 : 1000.0));
    if (step % 40 == 39)
        display_validation(&line, step % 80 == 39);
    if (step % 50 == 49 && screen.columns > 39)
        warn("short");
}

static const char *row(int i)
{
    return screen.row[i].cell;
}

START_TEST(no_line_wraps_and_earlier_lines_are_erased)
{
    screen_open(&screen, widths[_i]);
    for (int step = 1; step <= UPDATES; step++) {
        screen_show(&screen, update, &step);
        if (step % 40 != 39 && step % 50 != 49 && screen.columns >= 23)
            ck_assert_ptr_nonnull(strstr(row(screen.y), text_format("step %d/200", step).at));
    }
    ck_assert_int_eq(screen.y, screen.columns > 39 ? 10 + 8 - 1 : 10);
    screen_close(&screen);
}
END_TEST

START_TEST(fields_are_dropped_from_the_right)
{
    static const char *const shown[] = {
        "step 3/200  loss 2.5000  3m17s left",
        "[>           ] step 3/200  loss 2.5000  3m17s left",
        "[>               ] step 3/200  loss 2.5000  3m17s left  900 tok/s  "
        "lr 1.00e-03",
        "[>                     ] step 3/200  loss 2.5000  3m17s left  900 tok/s  lr 1.00e-03  "
        "norm 0.25  50% of peak",
    };

    screen_open(&screen, widths[_i]);
    screen_show(&screen, update, &(int){ 3 });
    ck_assert_str_eq(row(0), shown[_i]);
    screen_close(&screen);
}
END_TEST

/* Made narrower and wider in the middle of it, with rows of any length on the screen. */
START_TEST(a_line_fits_after_the_terminal_was_resized)
{
    static const int turns[] = { 80, 40, 110, 60, 61, 23, 24, 110, 12 };

    screen_open(&screen, 110);
    for (int step = 1; step <= UPDATES; step++) {
        if (step % 10 == 0)
            screen_resize(&screen, turns[step / 10 % COUNT(turns)]);
        screen_show(&screen, update, &step);
    }
    screen_close(&screen);
}
END_TEST

START_TEST(a_validation_line_is_bold_and_the_best_is_green)
{
    const LogLine line = line_of(39);
    int step = 39;

    if (_i == 1)
        setenv("NO_COLOR", "1", 1);
    screen_open(&screen, 80);
    screen_show(&screen, update, &step);
    ck_assert_int_eq(screen.y, 2);
    ck_assert_int_eq(strncmp(row(0), "[===>", 4), 0); /* it has no colour */
    ck_assert_str_eq(row(1), "step 39: validation loss 2.5000  ppl 12.182 *");
    ck_assert_int_eq(screen.bold_cells, _i ? 0 : (int)strlen(row(1)));
    ck_assert_int_eq(screen.greens, !_i);
    ck_assert(!screen.bold && !screen.green && isnan(line.bits));
    screen_close(&screen);
}
END_TEST

static void say_lines(const char *path)
{
    (void)path;
    for (int step = 39; step <= 40; step++)
        update(&step);
}

static const char plain[] =
    "step 39/200  loss 2.5000  lr 1.00e-03  norm 0.25  900 tok/s (50% of peak)  1m57s, 2m41s left\n"
    "step 39: validation loss 2.5000  ppl 12.182 *\n"
    "step 40/200  loss 2.5000  lr 1.00e-03  norm 98765.40  1234567 tok/s (50% of peak)  2m40s, "
    "1d20h left\n";

static void say_unmeasured(const char *path)
{
    const LogLine line = line_of(39);

    (void)path;
    display_step(&line, UPDATES, (double)NAN, 1);
}

START_TEST(an_unknown_share_of_the_peak_is_left_out)
{
    ck_assert_int_eq(exit_code_of(say_unmeasured, ""), 0);
    ck_assert_str_eq(
        said, "step 39/200  loss 2.5000  lr 1.00e-03  norm 0.25  900 tok/s  1m57s, 1s left\n");
    screen_open(&screen, 110);
    ck_assert_int_eq(screen_exit_code_of(&screen, say_unmeasured, ""), 0);
    ck_assert_str_eq(row(0),
                     "[====>                 ] step 39/200  loss 2.5000  1s left  900 tok/s  "
                     "lr 1.00e-03  norm 0.25  1m57s");
    screen_close(&screen);
}
END_TEST

START_TEST(anything_else_gets_plain_lines)
{
    setenv("COLUMNS", "20", 1);
    ck_assert_int_eq(exit_code_of(say_lines, ""), 0);
    ck_assert_str_eq(said, plain);
    for (int i = 0; i < 2; i++) {
        setenv("TERM", i ? "" : "dumb", 1);
        screen_open(&screen, 200);
        ck_assert_int_eq(screen_exit_code_of(&screen, say_lines, ""), 0);
        ck_assert_ptr_null(strchr(said, '\033'));
        ck_assert_int_eq(screen.y, 3);
        screen_close(&screen);
    }
}
END_TEST

static void say_wrapped(const char *path)
{
    terminal_wrap(stderr, path);
}

START_TEST(a_text_is_wrapped_at_spaces_and_a_long_word_anywhere)
{
    static const char text[] = "one two three, four and five; a/very/long/path/that/fits/no/line/x";

    screen_open(&screen, 22);
    ck_assert_int_eq(screen_exit_code_of(&screen, say_wrapped, text), 0);
    ck_assert_str_eq(screen.row[0].cell, "one two three, four");
    ck_assert_str_eq(screen.row[1].cell, "    and five; a/very/");
    ck_assert_str_eq(screen.row[2].cell, "    long/path/that/fi");
    ck_assert_str_eq(screen.row[3].cell, "    ts/no/line/x");
    ck_assert_int_eq(screen.y, 4);
    screen_close(&screen);
    setenv("COLUMNS", "22", 1);
    ck_assert_int_eq(exit_code_of(say_wrapped, text), 0);
    ck_assert_uint_eq(strlen(said), strlen(text) + 1);
}
END_TEST

static void train(const char *to)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("./train", "./train", "--out-dir", to, "--max-iters", "200", "--n-layer", "1", "--n-head",
          "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "2", "--threads", "1",
          "--sample-tokens", "0", "README.md", "CONTRIBUTING.md", (char *)NULL);
}

/* All that ./train prints but the command that continues the run, which has to stay a line. */
START_TEST(a_run_fits_the_terminal)
{
    screen_open(&screen, widths[_i]);
    ck_assert_int_eq(
        exit_code_through((int[2]){ screen.terminal, screen.of_program }, train, folder), 0);
    screen.of_program = -1;
    char *command = strstr(said, "    ./train --resume");

    ck_assert_ptr_nonnull(command);
    *command = 0;
    ck_assert_ptr_nonnull(strstr(said, "step 200/200  loss "));
    ck_assert_ptr_nonnull(strstr(said, "\nfiles in "));
    ck_assert_ptr_nonnull(strstr(said, "\nto train longer:"));
    screen_write(&screen, said);
    screen_close(&screen);
}
END_TEST

static void print_columns(const char *path)
{
    (void)path;
    fprintf(stderr, "%d", terminal_columns());
}

START_TEST(the_width_is_the_terminals_or_that_of_columns)
{
    static const char *const columns[] = { "33", "", "-5", "99999999", NULL };
    static const char *const want[] = { "33", "80", "80", "1000", "80" };

    for (int i = 0; i < COUNT(want); i++) {
        if (columns[i])
            setenv("COLUMNS", columns[i], 1);
        else
            unsetenv("COLUMNS");
        exit_code_of(print_columns, "");
        ck_assert_str_eq(said, want[i]);
    }
    setenv("COLUMNS", "33", 1);
    for (int width = 0; width <= 60; width += 60) { /* 0: it does not know */
        screen_open(&screen, 60);
        screen_resize(&screen, width);
        screen.columns = 60;
        screen_exit_code_of(&screen, print_columns, "");
        ck_assert_str_eq(said, width ? "60" : "33");
        screen_close(&screen);
    }
}
END_TEST

START_TEST(a_time_has_two_units)
{
    static const struct {
        double seconds;
        const char *text;
    } times[] = { { 0, "0s" },        { 59.4, "59s" },        { 59.6, "1m00s" },
                  { 110, "1m50s" },   { 3599.7, "1h00m" },    { 7500, "2h05m" },
                  { 93600, "1d02h" }, { 1e300, "11574d01h" }, { (double)NAN, "?" } };

    for (int i = 0; i < COUNT(times); i++)
        ck_assert_str_eq(display_time(times[i].seconds).at, times[i].text);
}
END_TEST

/* A run of 1000 steps as the loop does it, by a clock of its own; `row` in forward passes of a
 * step. */
typedef struct {
    double step, row, save, test, limit;
    Pace pace;
    double now, told; /* the time; the end of the run as estimated at step `at` */
    int steps, at;
} Virtual;

static void spend(Virtual *v, double seconds, PaceMean *on, double n)
{
    v->now += seconds;
    pace_mean(on, n, seconds);
}

static void evaluate_rows(Virtual *v, double rows)
{
    spend(v, rows * v->row * v->step / 8 / 3, &v->pace.rows, rows);
    spend(v, v->save, &v->pace.saves, 1);
}

static void run_virtually(Virtual *v)
{
    bool last = false;

    v->pace = (Pace){ 1000, 100, 8, 160, 1638, v->test, v->limit, .count = 0 };
    while (!last) {
        const double seconds = v->steps++ ? v->step : 3 * v->step; /* memory is cold at first */

        v->now += seconds;
        pace_step(&v->pace, seconds);
        last = pace_is_over(&v->pace, v->steps, v->now) || v->steps == 1000;
        if (v->steps == v->at)
            v->told = v->now + pace_left(&v->pace, v->steps, v->now);
        if (v->steps % 100 == 0 || last)
            evaluate_rows(v, 160);
    }
    if (pace_last_rows(&v->pace, v->now) > 160)
        evaluate_rows(v, pace_last_rows(&v->pace, v->now));
    if (v->test > 0)
        evaluate_rows(v, pace_test_rows(&v->pace, v->now));
}

/* Before the first evaluation, and after it; a row takes what it should, or not quite. */
START_TEST(the_remaining_time_is_estimated_early)
{
    static const double limits[] = { 0, 40, 80, 1000 };

    for (int i = 0; i < COUNT(limits); i++)
        for (int at = 30; at <= 300; at += 270)
            for (double row = 0.5; row < 2; row *= 2) {
                Virtual v = { .step = 0.1, .row = row, .save = 0.2, .limit = limits[i], .at = at };

                run_virtually(&v);
                ck_assert_msg(fabs(v.told - v.now) < (at < 100 ? 0.1 : 0.03) * v.now,
                              "limit %g, at %d: %g, not %g", limits[i], at, v.told, v.now);
            }
}
END_TEST

START_TEST(a_run_ends_shortly_before_its_time_limit)
{
    static const double limits[] = { 10, 40, 80 };

    for (int i = 0; i < COUNT(limits); i++) {
        for (int test = 0; test <= 2000; test += 1000) {
            Virtual v = { .step = 0.1, .row = 1, .save = 0.05, .test = test, .limit = limits[i] };

            run_virtually(&v);
            ck_assert_double_le(v.now, 1.02 * limits[i]);
            ck_assert_double_ge(v.now, 0.89 * limits[i]);
        }
    }
}
END_TEST

START_TEST(the_last_evaluation_has_all_rows_if_there_is_time)
{
    Virtual v = { .step = 0.1, .row = 1, .limit = 0 };

    run_virtually(&v);
    ck_assert_int_eq(v.steps, 1000);
    ck_assert_double_eq(pace_last_rows(&v.pace, v.now), 1638);
    v.pace.limit = 1000;
    ck_assert_double_eq(pace_last_rows(&v.pace, 100), 1638);
    ck_assert_double_eq(pace_last_rows(&v.pace, 999), floor(1 / (0.1 / 8 / 3)));
    ck_assert_double_eq(pace_last_rows(&v.pace, 2000), 160);
    ck_assert_double_eq(pace_test_rows(&v.pace, 100), 0);
    v.pace.test = 100;
    ck_assert_double_eq(pace_test_rows(&v.pace, 2000), 100);
    v.pace.test = 2000;
    ck_assert_double_eq(pace_test_rows(&v.pace, 100), 2000);
    ck_assert_double_eq(pace_test_rows(&v.pace, 2000), 160);
}
END_TEST

START_TEST(the_median_is_of_the_last_steps)
{
    static Pace p;

    ck_assert_double_eq(pace_median_step(&p), 0);
    for (int i = 0; i < PACE_STEPS + 2; i++)
        pace_step(&p, i < 2 ? 1e9 : i);
    ck_assert_double_eq(pace_median_step(&p), PACE_STEPS / 2 + 2);
}
END_TEST

Suite *suite_display(void)
{
    Suite *s = suite_create("display");
    TCase *t = group(s, "terminal"), *pace = group(s, "pace"), *run = with_folder(s, "run");

    tcase_add_checked_fixture(t, environment_open, NULL);
    tcase_add_checked_fixture(run, environment_open, NULL);
    tcase_add_test(t, a_time_has_two_units);
    tcase_add_test(pace, the_remaining_time_is_estimated_early);
    tcase_add_test(pace, a_run_ends_shortly_before_its_time_limit);
    tcase_add_test(pace, the_last_evaluation_has_all_rows_if_there_is_time);
    tcase_add_test(pace, the_median_is_of_the_last_steps);
    if (!screen_exists()) {
        fprintf(stderr, "skipped: what a terminal shows (needs /dev/pts)\n");
        return s;
    }
    tcase_add_loop_test(t, no_line_wraps_and_earlier_lines_are_erased, 0, COUNT(widths));
    tcase_add_loop_test(t, fields_are_dropped_from_the_right, 0, 4);
    tcase_add_test(t, a_text_is_wrapped_at_spaces_and_a_long_word_anywhere);
    tcase_add_test(t, a_line_fits_after_the_terminal_was_resized);
    tcase_add_loop_test(t, a_validation_line_is_bold_and_the_best_is_green, 0, 2);
    tcase_add_test(t, an_unknown_share_of_the_peak_is_left_out);
    tcase_add_test(t, anything_else_gets_plain_lines);
    tcase_add_test(t, the_width_is_the_terminals_or_that_of_columns);
    if (access("./train", X_OK) == 0)
        tcase_add_loop_test(run, a_run_fits_the_terminal, 0, 4);
    else
        fprintf(stderr, "skipped: there is no ./train\n");
    return s;
}
