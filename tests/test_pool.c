/* The pool of threads: ranges, scratch memory, waiting, and what a child of fork() may do. */
#include "ops/base/pool.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int *times;
    int largest;
} Visits;

static void visit(void *ctx, int begin, int end)
{
    Visits *v = ctx;

    for (int i = begin; i < end; i++)
        v->times[i]++;
}

START_TEST(every_index_is_visited_once)
{
    static const int threads[] = { 1, 2, 3, 7, 16 }, sizes[] = { 0, 1, 2, 63, 64, 65, 10000 };
    int times[10000];

    for (int t = 0; t < COUNT(threads); t++) {
        Pool *pool = pool_new(threads[t]);

        for (int s = 0; s < COUNT(sizes); s++)
            for (int grain = 1; grain < 70; grain += 23) {
                memset(times, 0, sizeof times);
                pool_for(pool, sizes[s], grain, visit, &(Visits){ times, 0 });
                for (int i = 0; i < 10000; i++)
                    ck_assert_int_eq(times[i], i < sizes[s]);
            }
        pool_free(pool);
    }
}
END_TEST

enum { RANGES = 8 };
typedef struct {
    pthread_t caller;
    atomic_int by_caller, done;
} Takers;

/* Counts the ranges; the caller stays in its first until all others are done. */
static void note_taker(void *ctx, int begin, int end)
{
    Takers *t = ctx;
    const bool caller = pthread_equal(pthread_self(), t->caller);

    ck_assert_int_eq(end, begin + 1);
    atomic_fetch_add(&t->by_caller, caller);
    for (int ms = 0; caller && atomic_load(&t->done) < RANGES - 1; ms++) {
        ck_assert_int_lt(ms, 20000);
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    atomic_fetch_add(&t->done, 1);
}

START_TEST(a_thread_that_is_done_helps_the_others)
{
    Pool *pool = pool_new(3);
    Takers takers = { .caller = pthread_self() };

    pool_for(pool, RANGES, 1, note_taker, &takers);
    ck_assert_int_le(takers.by_caller, 1); /* none if it comes late */
    ck_assert_int_eq(takers.done, RANGES);
    pool_free(pool);
}
END_TEST

typedef struct {
    pthread_t by[RANGES]; /* who took each */
    atomic_int begun;
} Shares;

/* All of two threads' ranges wait for the other thread to begin. */
static void note_share(void *ctx, int begin, int end)
{
    Shares *s = ctx;

    ck_assert_int_eq(end, begin + 1);
    s->by[begin] = pthread_self();
    atomic_fetch_add(&s->begun, 1);
    for (int ms = 0; atomic_load(&s->begun) < 2; ms++) {
        ck_assert_int_lt(ms, 20000);
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
}

/* So that the rows of one op are in the cache of the thread that needs them in the next. */
START_TEST(each_thread_begins_with_a_share_of_its_own)
{
    Pool *pool = pool_new(2);

    for (int round = 0; round < 20; round++) {
        Shares shares = { .begun = 0 };

        pool_for(pool, RANGES, 1, note_share, &shares);
        ck_assert(pthread_equal(shares.by[0], pthread_self()));
        ck_assert(!pthread_equal(shares.by[RANGES / 2], pthread_self()));
    }
    pool_free(pool);
}
END_TEST

static void count_indices(void *ctx, int begin, int end)
{
    atomic_fetch_add((atomic_int *)ctx, end - begin);
}

/* The number of its ranges is rounded up. */
START_TEST(a_loop_may_be_as_long_as_an_int_allows)
{
    static const int grains[] = { 1 << 20, INT_MAX / 2, INT_MAX / 2 + 1, INT_MAX - 1, INT_MAX };
    Pool *pool = pool_new(2);

    for (int i = 0; i < COUNT(grains); i++)
        for (int less = 0; less < 2; less++) {
            atomic_int seen = 0;

            pool_for(pool, INT_MAX - less, grains[i], count_indices, &seen);
            ck_assert_int_eq(seen, INT_MAX - less);
        }
    pool_free(pool);
}
END_TEST

START_TEST(a_pool_can_be_opened_and_closed_many_times)
{
    for (int i = 0; i < 300; i++) {
        Pool *pool = pool_new(1 + i % 5);
        int times[64] = { 0 };

        for (int round = 0; round < 3; round++)
            pool_for(pool, 64, 1, visit, &(Visits){ times, 0 });
        for (int j = 0; j < 64; j++)
            ck_assert_int_eq(times[j], 3);
        pool_free(pool);
    }
}
END_TEST

static void scribble(void *ctx, int begin, int end)
{
    int *wrong = ctx, *mine = pool_scratch();

    for (int i = begin; i < end; i++) {
        for (int j = 0; j < 1000; j++)
            mine[j] = i;
        for (int j = 0; j < 1000; j++)
            wrong[i] += mine[j] != i;
    }
}

START_TEST(each_thread_has_its_own_scratch_memory)
{
    Pool *pool = pool_new(4);
    int wrong[500] = { 0 };

    pool_reserve(pool, 1000 * sizeof(int));
    pool_for(pool, 500, 1, scribble, wrong);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(wrong[i], 0);
    pool_free(pool);
}
END_TEST

enum { OWN = 100, INNER = 300 };

/* Writes to its own scratch memory, runs a loop that writes to that of `alone`, and looks again. */
static void scribble_twice(void *ctx, Pool *alone, int i)
{
    int *wrong = ctx, *own = pool_scratch(), inside[50] = { 0 };

    for (int j = 0; j < OWN; j++)
        own[j] = i;
    pool_reserve(alone, 1000 * sizeof(int));
    pool_for(alone, 50, 7, scribble, inside);
    ((char *)pool_shared(alone, INNER))[INNER - 1] = 1;
    for (int j = 0; j < 50; j++)
        wrong[i] += inside[j];
    for (int j = 0; j < OWN; j++)
        wrong[i] += own[j] != i;
    wrong[i]++; /* was here */
}

START_TEST(ops_run_side_by_side_each_on_a_thread_alone)
{
    for (int threads = 1; threads <= 4; threads++) {
        Pool *pool = pool_new(threads);

        for (int n = 0; n <= 40; n += 20) {
            int times[40] = { 0 };

            pool_reserve(pool, OWN * sizeof(int));
            pool_each(pool, n, (PoolRoom){ 1000 * sizeof(int), INNER }, scribble_twice, times);
            for (int i = 0; i < 40; i++)
                ck_assert_int_eq(times[i], i < n);
        }
        pool_free(pool);
    }
}
END_TEST

static void take_too_much(void *ctx, Pool *alone, int i)
{
    (void)i;
    if (strcmp(ctx, "shared") == 0)
        pool_shared(alone, INNER + 1);
    else
        pool_reserve(alone, OWN + 1);
}

static void ask_too_much(const char *of)
{
    char name[8];

    snprintf(name, sizeof name, "%s", of);
    pool_each(pool_new(1), 1, (PoolRoom){ OWN, INNER }, take_too_much, name);
}

START_TEST(an_op_on_a_thread_alone_takes_no_more_than_its_room)
{
    ck_assert_int_eq(exit_code_of(ask_too_much, "scratch"), -SIGABRT);
    ck_assert_int_eq(exit_code_of(ask_too_much, "shared"), -SIGABRT);
}
END_TEST

START_TEST(an_idle_pool_sleeps)
{
    Pool *pool = pool_new(2);
    int times[64] = { 0 };

    pool_for(pool, 64, 1, visit, &(Visits){ times, 0 });
    nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    clock_t before = clock();
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL);
    ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC / 50);
    pool_free(pool);
}
END_TEST

typedef struct {
    pthread_t caller;
    atomic_bool entered;
    long nanoseconds; /* that another thread takes for its range */
} Slow;

/* The caller's range ends once another thread has entered. */
static void be_slow(void *ctx, int begin, int end)
{
    Slow *s = ctx;

    (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), s->caller)) {
        atomic_store(&s->entered, true);
        nanosleep(&(struct timespec){ 0, s->nanoseconds }, NULL);
    }
    while (!atomic_load(&s->entered))
        nanosleep(&(struct timespec){ 0, 10000 }, NULL);
}

START_TEST(who_waits_long_for_a_slow_thread_sleeps)
{
    Pool *pool = pool_new(2);
    Slow slow = { .caller = pthread_self(), .nanoseconds = 200000000 };
    struct timespec before, after;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    pool_for(pool, 2, 1, be_slow, &slow);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    ck_assert_double_lt((double)(after.tv_sec - before.tv_sec) +
                            1e-9 * (double)(after.tv_nsec - before.tv_nsec),
                        0.05);
    pool_free(pool);
}
END_TEST

/* Delays around the time after which who waits goes to sleep. */
START_TEST(no_thread_is_waited_for_in_vain)
{
    Pool *pool = pool_new(3);

    for (int i = 0; i < 1000; i++) {
        Slow slow = { .caller = pthread_self(), .nanoseconds = i % 100 * 4000 };

        pool_for(pool, 3, 1, be_slow, &slow);
        ck_assert(slow.entered);
    }
    pool_free(pool);
}
END_TEST

static Pool *inherited;

static void free_inherited(const char *name)
{
    (void)name;
    pool_free(inherited);
    exit(0);
}

START_TEST(a_child_frees_a_pool_without_its_threads)
{
    inherited = pool_new(3);
    ck_assert_int_eq(exit_code_of(free_inherited, ""), 0);
    pool_free(inherited);
}
END_TEST

Suite *suite_pool(void)
{
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_index_is_visited_once);
    tcase_add_test(t, a_thread_that_is_done_helps_the_others);
    tcase_add_test(t, each_thread_begins_with_a_share_of_its_own);
    tcase_add_test(t, a_loop_may_be_as_long_as_an_int_allows);
    tcase_add_test(t, a_pool_can_be_opened_and_closed_many_times);
    tcase_add_test(t, each_thread_has_its_own_scratch_memory);
    tcase_add_test(t, ops_run_side_by_side_each_on_a_thread_alone);
    tcase_add_test(t, an_op_on_a_thread_alone_takes_no_more_than_its_room);
    tcase_add_test(t, an_idle_pool_sleeps);
    tcase_add_test(t, a_child_frees_a_pool_without_its_threads);
    tcase_add_test(t, who_waits_long_for_a_slow_thread_sleeps);
    tcase_add_test(t, no_thread_is_waited_for_in_vain);
    suite_add_tcase(s, t);
    return s;
}
