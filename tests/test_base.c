/* The ground that the ops stand on: arena, pool, random numbers, checksums, the machine, errors. */
#include "ops/base/error.h"
#include "ops/base/hash.h"
#include "ops/base/machine.h"
#include "ops/kernel/peak.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

START_TEST(a_piece_handed_back_is_found_again)
{
    Arena *arena = arena_new();
    void *a = arena_take(arena, 1000), *b = arena_take(arena, 1000);

    ck_assert_ptr_ne(a, b);
    arena_give(arena, a, 1000);
    ck_assert_ptr_ne(arena_take(arena, 2000), a);
    ck_assert_ptr_eq(arena_take(arena, 1000), a);
    arena_free(arena);
}
END_TEST

START_TEST(an_arena_that_has_grown_never_grows_again_for_the_same)
{
    Arena *arena = arena_new();
    size_t held = 0;

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 50; i++)
            memset(arena_take(arena, 100000), i, 100000);
        if (round == 1)
            held = arena_held(arena);
        arena_reset(arena);
    }
    ck_assert_uint_ge(held, 50 * 100000);
    ck_assert_uint_eq(arena_held(arena), held);
    arena_free(arena);
}
END_TEST

START_TEST(pieces_do_not_overlap)
{
    Arena *arena = arena_new();
    unsigned char *p[64];

    for (int i = 0; i < 64; i++)
        memset(p[i] = arena_take(arena, (size_t)i * 4099), i, (size_t)i * 4099);
    int wrong = 0;

    for (int i = 0; i < 64; i++)
        for (int j = 0; j < i * 4099; j++)
            wrong += p[i][j] != i;
    ck_assert_int_eq(wrong, 0);
    arena_free(arena);
}
END_TEST

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

START_TEST(scratch_is_a_threads_own)
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

START_TEST(a_draw_depends_on_seed_purpose_part_and_index)
{
    Random r = random_stream(1, RANDOM_TEST, 2);

    ck_assert_uint_eq(random_bits(r, 3), random_bits(random_stream(1, RANDOM_TEST, 2), 3));
    ck_assert_uint_ne(random_bits(r, 3), random_bits(r, 4));
    ck_assert_uint_ne(random_bits(r, 3), random_bits(random_stream(2, RANDOM_TEST, 2), 3));
    ck_assert_uint_ne(random_bits(r, 3), random_bits(random_stream(1, RANDOM_BATCH, 2), 3));
    ck_assert_uint_ne(random_bits(r, 3), random_bits(random_stream(1, RANDOM_TEST, 3), 3));
}
END_TEST

START_TEST(normal_numbers_have_mean_0_and_variance_1)
{
    Random r = random_stream(5, RANDOM_TEST, 0);
    double sum = 0, square = 0, fourth = 0;
    int n = 200000;

    for (int i = 0; i < n; i++) {
        double x = random_normal(r, (uint64_t)i);

        sum += x, square += x * x, fourth += x * x * x * x;
    }
    ck_assert_double_eq_tol(sum / n, 0, 0.01);
    ck_assert_double_eq_tol(square / n, 1, 0.02);
    ck_assert_double_eq_tol(fourth / n, 3, 0.1);
}
END_TEST

START_TEST(a_normal_number_does_not_know_its_neighbour)
{
    Random r = random_stream(7, RANDOM_TEST, 0);
    double product = 0, squares = 0;
    int n = 200000;

    for (int i = 0; i < n; i++) {
        double x = random_normal(r, (uint64_t)i), y = random_normal(r, (uint64_t)i + 1);

        product += x * y, squares += x * x * y * y;
    }
    ck_assert_double_eq_tol(product / n, 0, 0.01);
    ck_assert_double_eq_tol(squares / n, 1, 0.03);
}
END_TEST

START_TEST(draws_below_n_are_even)
{
    Random r = random_stream(6, RANDOM_TEST, 0);
    int count[7] = { 0 };

    for (uint64_t i = 0; i < 70000; i++)
        count[random_below(r, i, 7)]++;
    for (int i = 0; i < 7; i++)
        ck_assert_int_lt(abs(count[i] - 10000), 500);
    ck_assert_uint_eq(random_below(r, 1, 1), 0);
    ck_assert_uint_ge(random_below(r, 4, UINT64_MAX), UINT64_MAX / 1000000);
}
END_TEST

/* The division, bit by bit. */
static uint32_t remainder_of(const unsigned char *at, size_t n)
{
    uint32_t r = 0xffffffff;

    for (size_t i = 0; i < 8 * n; i++) {
        const uint32_t out = (r ^ (uint32_t)at[i / 8] >> i % 8) & 1;

        r = r >> 1 ^ (out ? 0x82f63b78 : 0);
    }
    return ~r;
}

START_TEST(a_checksum_is_the_remainder_of_the_division)
{
    unsigned char bytes[300] = { 0 };

    ck_assert_uint_eq(hash_crc32c("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(hash_crc32c(bytes, 32), 0x8a9136aa);
    ck_assert_uint_eq(hash_crc32c(bytes, 0), 0);
    for (size_t n = 0; n < sizeof bytes; n++) {
        bytes[n] = (unsigned char)(n * n + 7 * n + 129);
        ck_assert_uint_eq(hash_crc32c(bytes, n), remainder_of(bytes, n));
    }
}
END_TEST

START_TEST(the_users_mistake_has_an_exit_code)
{
    die(EXIT_DATA, "as it should be");
}
END_TEST

START_TEST(the_machine_reads_and_has_a_name)
{
    Pool *pool = pool_new(2);
    Text name = machine_name();

    ck_assert_double_gt(peak_bandwidth(pool, 1 << 20), 1e7);
    ck_assert_double_lt(peak_bandwidth(pool, 1), 1e14);
    ck_assert(name.n > 0 && !strpbrk(name.at, "\n:") && name.at[0] != ' ');
    pool_free(pool);
}
END_TEST

START_TEST(a_number_written_reads_back_the_same)
{
    Random r = random_stream(4, RANDOM_TEST, 0);

    for (uint64_t i = 0; i < 100000; i++) {
        double x = random_normal(r, i) * pow(10, (double)random_below(r, i, 600) - 300);

        ck_assert(strtod(text_number(x).at, NULL) == x);
    }
    ck_assert_str_eq(text_number(0.1).at, "0.1");
    ck_assert_str_eq(text_number((double)INFINITY).at, "");
}
END_TEST

Suite *suite_base(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_piece_handed_back_is_found_again);
    tcase_add_test(t, an_arena_that_has_grown_never_grows_again_for_the_same);
    tcase_add_test(t, pieces_do_not_overlap);
    tcase_add_test(t, every_index_is_visited_once);
    tcase_add_test(t, a_pool_can_be_opened_and_closed_many_times);
    tcase_add_test(t, scratch_is_a_threads_own);
    tcase_add_test(t, an_idle_pool_sleeps);
    tcase_add_test(t, a_draw_depends_on_seed_purpose_part_and_index);
    tcase_add_test(t, normal_numbers_have_mean_0_and_variance_1);
    tcase_add_test(t, a_normal_number_does_not_know_its_neighbour);
    tcase_add_test(t, draws_below_n_are_even);
    tcase_add_test(t, a_checksum_is_the_remainder_of_the_division);
    tcase_add_test(t, the_machine_reads_and_has_a_name);
    tcase_add_test(t, a_number_written_reads_back_the_same);
    tcase_add_exit_test(t, the_users_mistake_has_an_exit_code, EXIT_DATA);
    suite_add_tcase(s, t);
    return s;
}
