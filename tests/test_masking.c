/* What is hidden of a window of text, and what is asked of it. */
#include "data/masking.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <string.h>

enum { MOST = 300, WINDOWS = 4000, VOCAB = 5 };

/* The places of a row that something is asked of. */
static int count_targets(Batch row)
{
    int n = 0;

    for (int t = 0; t < row.T; t++)
        n += row.target[t] >= 0;
    return n;
}

static void set_tokens(Batch b, int token)
{
    for (int i = 0; i < b.B * b.T; i++)
        b.id[i] = token;
}

START_TEST(fifteen_of_a_hundred_tokens_are_targets_and_one_at_least)
{
    static const int want[][2] = { { 1, 1 },
                                   { 2, 1 },
                                   { 9, 1 },
                                   { 10, 2 },
                                   { 16, 2 },
                                   { 17, 3 },
                                   { 64, 10 },
                                   { 99, 15 },
                                   { 100, 15 },
                                   { 103, 15 },
                                   { 104, 16 },
                                   { 256, 38 },
                                   { 1 << 24, 2516582 },
                                   { 1 << 30, 161061274 } };

    for (int i = 0; i < COUNT(want); i++)
        ck_assert_int_eq(masking_targets(want[i][0]), want[i][1]);
}
END_TEST

START_TEST(every_window_has_just_so_many_targets)
{
    enum { ROWS = 5 };
    int id[ROWS * MOST], target[ROWS * MOST];

    for (int T = 1; T <= MOST; T++) {
        Batch b = { .B = ROWS, .T = T, .id = id, .target = target };

        set_tokens(b, 0);
        masking_apply(b, VOCAB, 3, (uint64_t)T);
        for (int row = 0; row < ROWS; row++)
            ck_assert_int_eq(count_targets(batch_row(b, row)), masking_targets(T));
    }
}
END_TEST

START_TEST(a_target_is_the_token_that_stood_there_and_other_tokens_stay)
{
    enum { T = 50 };
    int id[3 * T], target[3 * T];
    const Batch b = { .B = 3, .T = T, .id = id, .target = target };

    for (uint64_t number = 0; number < 100; number++) {
        for (int i = 0; i < 3 * T; i++)
            id[i] = i * 7 % VOCAB, target[i] = 77;
        masking_apply(b, VOCAB, 3, number);
        for (int i = 0; i < 3 * T; i++) {
            ck_assert(target[i] == -1 || target[i] == i * 7 % VOCAB);
            ck_assert(id[i] >= 0 && id[i] <= VOCAB);
            ck_assert(target[i] >= 0 || id[i] == i * 7 % VOCAB);
        }
    }
}
END_TEST

/* `count` of n draws is what a probability of p gives, to five standard deviations. */
static void check_share(int count, int n, double p)
{
    ck_assert_double_eq_tol(count, n * p, 5 * sqrt(n * p * (1 - p)));
}

START_TEST(of_ten_targets_eight_are_masked_one_is_any_token_and_one_stays)
{
    enum { T = 60 };
    int id[T], target[T], count[VOCAB + 1] = { 0 }, n = 0;
    const Batch b = { .B = 1, .T = T, .id = id, .target = target };

    for (uint64_t number = 0; number < WINDOWS; number++) {
        set_tokens(b, 1);
        masking_apply(b, VOCAB, 11, number);
        for (int t = 0; t < T; t++)
            if (target[t] >= 0)
                count[id[t]]++, n++;
    }
    ck_assert_int_eq(n, 9 * WINDOWS);
    check_share(count[VOCAB], n, 0.8);
    check_share(count[1], n, 0.1 + 0.1 / VOCAB);
    for (int c = 0; c < VOCAB; c++)
        if (c != 1)
            check_share(count[c], n, 0.1 / VOCAB);
}
END_TEST

START_TEST(any_two_places_are_as_likely_as_any_other_two)
{
    enum { T = 13, PAIRS = T * (T - 1) / 2, MANY = 300 * PAIRS };
    int id[T], target[T], count[T][T] = { { 0 } };
    const Batch b = { .B = 1, .T = T, .id = id, .target = target };

    for (uint64_t number = 0; number < MANY; number++) {
        int first = 0, last = T - 1;

        set_tokens(b, 0);
        masking_apply(b, VOCAB, 2, number);
        while (target[first] < 0)
            first++;
        while (target[last] < 0)
            last--;
        count[first][last]++;
    }
    for (int i = 0; i < T; i++)
        for (int j = i + 1; j < T; j++)
            check_share(count[i][j], MANY, 1.0 / PAIRS);
}
END_TEST

enum { B = 4, T = 40, ALL = B * T };

static void mask_zeros(int rows, uint64_t seed, uint64_t number, int *id, int *target)
{
    const Batch b = { .B = rows, .T = T, .id = id, .target = target };

    set_tokens(b, 0);
    masking_apply(b, 256, seed, number);
}

START_TEST(what_is_masked_depends_on_seed_number_and_row)
{
    int id[20][ALL], target[20][ALL], again[ALL], aim[ALL];

    for (uint64_t number = 0; number < 20; number++)
        mask_zeros(B, 3, number, id[number], target[number]);
    for (uint64_t number = 20; number-- > 0;) {
        mask_zeros(B, 3, number, again, aim);
        ck_assert_mem_eq(again, id[number], sizeof again);
        ck_assert_mem_eq(aim, target[number], sizeof aim);
        ck_assert(number == 0 || memcmp(aim, target[number - 1], sizeof aim) != 0);
        for (int b = 1; b < B; b++)
            ck_assert_mem_ne(aim + b * T, aim, T * sizeof *aim);
        mask_zeros(B, 4, number, again, aim);
        ck_assert_mem_ne(aim, target[number], sizeof aim);
    }
}
END_TEST

START_TEST(what_is_masked_depends_on_no_other_row_and_on_no_token)
{
    int id[ALL], target[ALL], one[T], aim[T];

    mask_zeros(B, 3, 9, id, target);
    mask_zeros(1, 3, 9, one, aim);
    ck_assert_mem_eq(one, id, sizeof one);
    ck_assert_mem_eq(aim, target, sizeof aim);
    for (int t = 0; t < T; t++)
        one[t] = t + 1;
    masking_apply((Batch){ .B = 1, .T = T, .id = one, .target = aim }, 256, 3, 9);
    for (int t = 0; t < T; t++) {
        ck_assert_int_eq(aim[t], target[t] < 0 ? -1 : t + 1);
        ck_assert_int_eq(one[t] == 256, id[t] == 256);
    }
}
END_TEST

Suite *suite_masking(void)
{
    Suite *s = suite_create("masking");
    TCase *t = group(s, "masks");

    tcase_add_test(t, fifteen_of_a_hundred_tokens_are_targets_and_one_at_least);
    tcase_add_test(t, every_window_has_just_so_many_targets);
    tcase_add_test(t, a_target_is_the_token_that_stood_there_and_other_tokens_stay);
    tcase_add_test(t, of_ten_targets_eight_are_masked_one_is_any_token_and_one_stays);
    tcase_add_test(t, any_two_places_are_as_likely_as_any_other_two);
    tcase_add_test(t, what_is_masked_depends_on_seed_number_and_row);
    tcase_add_test(t, what_is_masked_depends_on_no_other_row_and_on_no_token);
    return s;
}
