/* The ground that the ops stand on: arena, random numbers, checksums, the machine, errors. */
#include "ops/base/error.h"
#include "ops/base/hash.h"
#include "ops/base/machine.h"
#include "ops/kernel/peak.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

START_TEST(a_freed_block_is_reused)
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

START_TEST(an_arena_does_not_grow_twice_for_the_same_requests)
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

START_TEST(blocks_of_an_arena_do_not_overlap)
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

START_TEST(normal_numbers_are_independent)
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

START_TEST(draws_below_n_are_uniform)
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

/* Whatever the order of bytes on this processor. */
START_TEST(a_hash_of_pieces_is_that_of_the_whole)
{
    unsigned char bytes[40];

    for (int i = 0; i < COUNT(bytes); i++)
        bytes[i] = (unsigned char)(17 * i + 3);
    for (size_t n = 0; n <= sizeof bytes; n++)
        for (size_t a = 0; a <= n; a++)
            for (size_t b = a; b <= n; b++) {
                Hash hash = hash_begin(9, n);

                hash_more(&hash, bytes, a);
                hash_more(&hash, bytes + a, b - a);
                hash_more(&hash, bytes + b, n - b);
                ck_assert_uint_eq(hash_end(hash), hash_bytes(9, bytes, n));
            }
}
END_TEST

START_TEST(hashes_do_not_depend_on_byte_order)
{
    static const uint64_t numbers[] = { 0x0102030405060708, 9 };
    static const unsigned char words[] = { 8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0 };
    static const uint32_t halves[] = { 0x05060708, 0x01020304, 9, 0 };

    ck_assert_uint_eq(hash_numbers(5, numbers, sizeof numbers, 8),
                      hash_bytes(5, words, sizeof words));
    ck_assert_uint_eq(hash_numbers(5, halves, sizeof halves, 4),
                      hash_bytes(5, words, sizeof words));
    ck_assert_uint_eq(hash_numbers(5, words, sizeof words, 1), hash_bytes(5, words, sizeof words));
    ck_assert_uint_eq(hash_bytes(0, words, 3), 12090029452788768262u);
}
END_TEST

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

START_TEST(mistakes_of_the_user_have_exit_codes)
{
    die(EXIT_DATA, "as it should be");
}
END_TEST

START_TEST(the_machine_has_a_name_and_a_read_speed)
{
    Pool *pool = pool_new(2);
    Text name = machine_name();

    ck_assert_double_gt(peak_bandwidth(pool, 1 << 20), 1e7);
    ck_assert_double_lt(peak_bandwidth(pool, 1), 1e14);
    ck_assert(name.n > 0 && !strpbrk(name.at, "\n:") && name.at[0] != ' ');
    pool_free(pool);
}
END_TEST

/* The digits of a decimal without zeros at either end, and its power of ten. */
static int digits_of(const char *decimal, long long *digits, int *power)
{
    int n = 0, point = 0, fraction = 0;
    const char *c = decimal + (*decimal == '-');

    for (*digits = 0; *c && *c != 'e'; c++)
        if (*c == '.')
            point = 1;
        else
            *digits = 10 * *digits + *c - '0', fraction += point;
    *power = (*c ? atoi(c + 1) : 0) - fraction;
    for (; *digits && *digits % 10 == 0; *digits /= 10)
        ++*power;
    for (long long left = *digits; left; left /= 10)
        n++;
    return n;
}

/* No decimal with a digit less is x: neither of those beside its text, nor those around them. */
static void check_is_shortest(double x)
{
    const Text text = text_number(x);
    long long digits;
    int power, n = digits_of(text.at, &digits, &power);

    ck_assert_msg(strtod(text.at, NULL) == x && signbit(strtod(text.at, NULL)) == signbit(x), "%a",
                  x);
    ck_assert_int_le(n, 17);
    for (long long d = digits / 10 - 2; n > 1 && d <= digits / 10 + 3; d++) {
        const Text less = text_format("%s%llde%d", x < 0 ? "-" : "", d < 0 ? 0 : d, power + 1);

        ck_assert_msg(strtod(less.at, NULL) != x, "%s could be %s", text.at, less.at);
    }
}

/* What a shell makes of the word is what it was. */
static void check_shell(const char *word, const char *want)
{
    Text command = text_format("printf %%s ");
    char back[200] = "", *as = NULL;
    size_t n;
    FILE *out = open_memstream(&as, &n);

    text_shell(word, out);
    fclose(out);
    ck_assert(!want || strcmp(as, want) == 0);
    for (const char *c = as; *c; c++)
        ck_assert_msg((unsigned char)*c >= 0x20 && *c != 0x7f, "%s", as);
    text_add(&command, "%s", as);
    FILE *in = popen(command.at, "r");
    ck_assert_uint_eq(fread(back, 1, sizeof back - 1, in), strlen(word));
    ck_assert_int_eq(pclose(in), 0);
    ck_assert_str_eq(back, word);
    free(as);
}

START_TEST(a_quoted_word_is_read_back_unchanged_by_a_shell)
{
    check_shell("./train", "./train");
    check_shell("--lr=1e-3", "--lr=1e-3");
    check_shell("", "''");
    check_shell("two words", "'two words'");
    check_shell("it's", "'it'\\''s'");
    check_shell("$(rm) `rm` \\ \"$HOME\" ~ * ! # & ; é", NULL);
    check_shell("a'\nb\033]0;x\007é\\%s", NULL);
    check_shell("not UTF-8: \377\300\200", NULL);
}
END_TEST

START_TEST(time_memory_and_host_name_are_reported)
{
    const double before = machine_peak_memory();
    enum { N = 64 << 20 };
    char *more = xmalloc(N);

    memset(more, 1, N);
    ck_assert_double_ge(machine_peak_memory(), before + (more[N / 2] ? 0.9 * N : 0));
    ck_assert_double_lt(machine_peak_memory(), machine_memory());
    ck_assert_uint_eq(machine_time().n, strlen("2026-11-23T05:17:26.123Z"));
    ck_assert_uint_gt(machine_host().n, 0);
    free(more);
}
END_TEST

START_TEST(a_number_written_is_the_shortest_that_reads_back_the_same)
{
    Random r = random_stream(4, RANDOM_TEST, 0);
    double x;

    for (uint64_t i = 0; i < 200000; i++) { /* any bits, and some below the normal numbers */
        uint64_t bits = random_bits(r, i);

        bits &= i % 4 ? ~(uint64_t)0 : 0x800fffffffffffff >> i / 4 % 52;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            check_is_shortest(x);
    }
    for (int e = -1074; e < 1024; e++)
        check_is_shortest(ldexp(1, e)), check_is_shortest(-nextafter(ldexp(1, e), 0));
    for (int e = -323; e <= 308; e++)
        check_is_shortest(strtod(text_format("1e%d", e).at, NULL));
    ck_assert_str_eq(text_number(ldexp(1, -44)).at, "5.684341886080802e-14");
    ck_assert_str_eq(text_number(5e-324).at, "5e-324");
    ck_assert_str_eq(text_number(DBL_MAX).at, "1.7976931348623157e+308");
    ck_assert_str_eq(text_number(0.1).at, "0.1");
    ck_assert_str_eq(text_memory(0x1p29).at, "512 MiB");
    ck_assert_str_eq(text_memory(12.5 * 0x1p30).at, "12.5 GiB");
    ck_assert_str_eq(text_number(-0.0).at, "-0");
    ck_assert_str_eq(text_number(100000).at, "100000");
    ck_assert_str_eq(text_number((double)INFINITY).at, "");
}
END_TEST

START_TEST(large_numbers_and_nan_stay_short)
{
    ck_assert_str_eq(text_fixed(2.00005, 3).at, "2.000");
    ck_assert_str_eq(text_fixed(-1e9, 3).at, "-1e+09");
    ck_assert_str_eq(text_fixed(-(double)NAN, 3).at, "nan");
}
END_TEST

Suite *suite_base(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_freed_block_is_reused);
    tcase_add_test(t, an_arena_does_not_grow_twice_for_the_same_requests);
    tcase_add_test(t, blocks_of_an_arena_do_not_overlap);
    tcase_add_test(t, a_draw_depends_on_seed_purpose_part_and_index);
    tcase_add_test(t, normal_numbers_have_mean_0_and_variance_1);
    tcase_add_test(t, normal_numbers_are_independent);
    tcase_add_test(t, draws_below_n_are_uniform);
    tcase_add_test(t, a_hash_of_pieces_is_that_of_the_whole);
    tcase_add_test(t, hashes_do_not_depend_on_byte_order);
    tcase_add_test(t, a_checksum_is_the_remainder_of_the_division);
    tcase_add_test(t, the_machine_has_a_name_and_a_read_speed);
    tcase_add_test(t, a_quoted_word_is_read_back_unchanged_by_a_shell);
    tcase_add_test(t, time_memory_and_host_name_are_reported);
    tcase_add_test(t, a_number_written_is_the_shortest_that_reads_back_the_same);
    tcase_add_test(t, large_numbers_and_nan_stay_short);
    tcase_add_exit_test(t, mistakes_of_the_user_have_exit_codes, EXIT_DATA);
    suite_add_tcase(s, t);
    return s;
}
