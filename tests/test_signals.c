/* What programs do at signals that ask them to stop. */
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/signals.h"

#include <stdlib.h>
#include <time.h>

enum { ALIVE = 7 };

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
static int number;
static void (*prepare)(int);

static void end_at(const char *path)
{
    (void)path;
    prepare(number);
    signals_end();
    raise(number);
    exit(ALIVE);
}

static void leave(int n)
{
    signal(n, SIG_DFL);
}

static void ignore(int n)
{
    signal(n, SIG_IGN);
}

START_TEST(a_signal_ends_a_program_with_its_number)
{
    number = numbers[_i], prepare = leave;
    ck_assert_int_eq(exit_code_of(end_at, ""), 128 + number);
}
END_TEST

/* As of a job in the background of a script, or under nohup. */
START_TEST(an_ignored_signal_stays_ignored)
{
    number = numbers[_i], prepare = ignore;
    ck_assert_int_eq(exit_code_of(end_at, ""), ALIVE);
}
END_TEST

static void wait_for(long milliseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000 }, NULL);
}

static volatile sig_atomic_t stop;

/* The first and a copy of it. */
static void ask_twice(const char *path)
{
    (void)path;
    leave(SIGHUP);
    signals_ask_batch(&stop);
    raise(number);
    raise(number);
    exit(stop == number ? ALIVE : EXIT_FAILURE);
}

/* The second comes later; it may be the first since the program answered, as in a conversation. */
static bool answers;

static void ask_again(const char *path)
{
    (void)path;
    leave(SIGHUP);
    signals_ask(&stop);
    raise(number);
    wait_for(150);
    stop = answers ? 0 : stop;
    raise(number);
    exit(stop == number ? ALIVE : EXIT_FAILURE);
}

START_TEST(a_program_that_is_asked_to_stop_ends_when_it_is_ready)
{
    number = numbers[_i];
    ck_assert_int_eq(exit_code_of(ask_twice, ""), ALIVE);
    answers = false;
    ck_assert_int_eq(exit_code_of(ask_again, ""), 128 + number);
    answers = true;
    ck_assert_int_eq(exit_code_of(ask_again, ""), ALIVE);
}
END_TEST

START_TEST(batch_systems_ask_with_another_signal)
{
    number = SIGUSR1;
    ck_assert_int_eq(exit_code_of(ask_twice, ""), ALIVE);
}
END_TEST

Suite *suite_signals(void)
{
    Suite *s = suite_create("signals");
    TCase *t = group(s, "signals");

    tcase_add_loop_test(t, a_signal_ends_a_program_with_its_number, 0, 3);
    tcase_add_loop_test(t, an_ignored_signal_stays_ignored, 0, 3);
    tcase_add_loop_test(t, a_program_that_is_asked_to_stop_ends_when_it_is_ready, 0, 3);
    tcase_add_test(t, batch_systems_ask_with_another_signal);
    return s;
}
