/* What is hidden of a window of text, and what is asked of it. */
#include "data/masking.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <ctype.h>
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
        ck_assert_int_eq(masking_targets(0, want[i][0]), want[i][1]);
}
END_TEST

START_TEST(another_share_is_to_the_nearest_token)
{
    static const struct {
        double share;
        int T, targets;
    } want[] = { { 0.3, 10, 3 },   { 0.3, 5, 2 },     { 0.25, 10, 3 },           { 0.5, 7, 4 },
                 { 0.01, 256, 3 }, { 0.001, 256, 1 }, { 0.999, 256, 256 },       { 0.4, 1, 1 },
                 { 0.15, 10, 2 },  { 0.15, 64, 10 },  { 0.15, 1 << 24, 2516582 } };

    for (int i = 0; i < COUNT(want); i++)
        ck_assert_int_eq(masking_targets(want[i].share, want[i].T), want[i].targets);
}
END_TEST

START_TEST(every_window_has_the_same_number_of_targets)
{
    enum { ROWS = 5 };
    int id[ROWS * MOST], target[ROWS * MOST];

    for (int T = 1; T <= MOST; T++) {
        Batch b = { .B = ROWS, .T = T, .id = id, .target = target };

        set_tokens(b, 0);
        masking_apply(b, VOCAB, (Masking){ 0 }, 3, (uint64_t)T);
        for (int row = 0; row < ROWS; row++)
            ck_assert_int_eq(count_targets(batch_row(b, row)), masking_targets(0, T));
    }
}
END_TEST

START_TEST(targets_are_the_original_tokens_and_other_tokens_stay)
{
    enum { T = 50 };
    int id[3 * T], target[3 * T];
    const Batch b = { .B = 3, .T = T, .id = id, .target = target };

    for (uint64_t number = 0; number < 100; number++) {
        for (int i = 0; i < 3 * T; i++)
            id[i] = i * 7 % VOCAB, target[i] = 77;
        masking_apply(b, VOCAB, (Masking){ 0 }, 3, number);
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
        masking_apply(b, VOCAB, (Masking){ 0 }, 11, number);
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

START_TEST(all_pairs_of_positions_are_equally_likely)
{
    enum { T = 13, PAIRS = T * (T - 1) / 2, MANY = 300 * PAIRS };
    int id[T], target[T], count[T][T] = { { 0 } };
    const Batch b = { .B = 1, .T = T, .id = id, .target = target };

    for (uint64_t number = 0; number < MANY; number++) {
        int first = 0, last = T - 1;

        set_tokens(b, 0);
        masking_apply(b, VOCAB, (Masking){ 0 }, 2, number);
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
    masking_apply(b, 256, (Masking){ 0 }, seed, number);
}

START_TEST(masks_depend_on_seed_number_and_row)
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

START_TEST(masks_depend_neither_on_other_rows_nor_on_tokens)
{
    int id[ALL], target[ALL], one[T], aim[T];

    mask_zeros(B, 3, 9, id, target);
    mask_zeros(1, 3, 9, one, aim);
    ck_assert_mem_eq(one, id, sizeof one);
    ck_assert_mem_eq(aim, target, sizeof aim);
    for (int t = 0; t < T; t++)
        one[t] = t + 1;
    masking_apply((Batch){ .B = 1, .T = T, .id = one, .target = aim }, 256, (Masking){ 0 }, 3, 9);
    for (int t = 0; t < T; t++) {
        ck_assert_int_eq(aim[t], target[t] < 0 ? -1 : t + 1);
        ck_assert_int_eq(one[t] == 256, id[t] == 256);
    }
}
END_TEST

/* Text as bytes, or with "aa" and " aa" as tokens 256 and 257. */
static Tokenizer *words(bool joined)
{
    return tokenizer_learn(joined ? "bpe:258" : "byte",
                           (Bytes){ (const unsigned char *)" aa aa aa aa", 12 });
}

/* Masks the text, as bytes, for that seed. */
static Batch mask_text(const char *text, double share, bool whole, uint64_t seed)
{
    static int id[MOST], target[MOST];
    const Batch b = { .B = 1, .T = (int)strlen(text), .id = id, .target = target };
    Tokenizer *bytes = words(false);

    for (int t = 0; t < b.T; t++)
        id[t] = (unsigned char)text[t];
    masking_apply(b, 256, (Masking){ share, whole ? bytes : NULL }, seed, 1);
    tokenizer_free(bytes);
    return b;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 128;
}

static const char prose[] = "It was the b\xc3\xa4r, 4th of 1066 -- the_last_one (really) said so: "
                            "x1=y2! Words, words, words; nothing else here, and no more of it. End";

START_TEST(whole_words_are_targets_together)
{
    const int N = (int)strlen(prose);
    int apart = 0, mixed = 0;

    for (uint64_t seed = 0; seed < 500; seed++) {
        const Batch single = mask_text(prose, 0.15, false, seed);

        for (int t = 1; t < N; t++)
            apart += in_word(prose[t - 1]) && in_word(prose[t]) &&
                     (single.target[t] < 0) != (single.target[t - 1] < 0);
        const Batch b = mask_text(prose, 0.15, true, seed);
        for (int t = 0; t < N; t++) {
            ck_assert(b.target[t] == -1 || b.target[t] == (unsigned char)prose[t]);
            ck_assert(b.target[t] >= 0 || b.id[t] == (unsigned char)prose[t]);
            mixed += t && b.target[t] >= 0 && b.target[t - 1] >= 0 && b.id[t - 1] != b.id[t] &&
                     (b.id[t] == 256 || b.id[t - 1] == 256);
            ck_assert_msg(t == 0 || !in_word(prose[t - 1]) || !in_word(prose[t]) ||
                              (b.target[t] < 0) == (b.target[t - 1] < 0),
                          "seed %d: a word is cut at %d", (int)seed, t);
        }
    }
    ck_assert_int_gt(apart, 1000);
    ck_assert_int_gt(mixed, 300); /* each token of a word is replaced by draws of its own */
}
END_TEST

START_TEST(adjacent_words_are_masked_independently)
{
    int n[2][2] = { { 0 } };

    for (uint64_t seed = 0; seed < WINDOWS; seed++) {
        const Batch b = mask_text(prose, 0.3, true, seed);

        n[b.target[1] >= 0][b.target[2] >= 0]++; /* "It" and the space after it */
    }
    ck_assert(n[0][0] > WINDOWS / 3 && n[0][1] > 200 && n[1][0] > 200 && n[1][1] > 100);
}
END_TEST

START_TEST(words_of_all_lengths_are_equally_likely)
{
    const int N = (int)strlen(prose), targets = masking_targets(0.2, N);
    double share = 0, count[MOST] = { 0 };

    for (uint64_t seed = 0; seed < WINDOWS; seed++) {
        const Batch b = mask_text(prose, 0.2, true, seed);
        const int n = count_targets(b);

        ck_assert_int_ge(n, 1);
        ck_assert_int_lt(n, 2 * targets);
        share += (double)n / N / WINDOWS;
        for (int t = 0; t < N; t++)
            count[t] += (b.target[t] >= 0) / (double)WINDOWS;
    }
    ck_assert_double_eq_tol(share, 0.2, 0.01);
    for (int t = 0; t < N; t++)
        ck_assert_msg(fabs(count[t] - 0.2) < 0.04, "'%c' at %d: %g", prose[t], t, count[t]);
}
END_TEST

START_TEST(a_long_run_of_letters_is_cut_at_the_number_of_targets)
{
    char text[101] = { 0 };
    int count[100] = { 0 };

    memset(text, 'a', 100);
    for (uint64_t seed = 0; seed < WINDOWS; seed++) {
        const Batch b = mask_text(text, 0.15, true, seed);

        for (int t = 0; t < 100; t++) {
            count[t] += b.target[t] >= 0;
            ck_assert(t % 15 == 0 || (b.target[t] < 0) == (b.target[t - 1] < 0));
        }
    }
    for (int t = 0; t < 100; t++)
        check_share(count[t], WINDOWS, t < 90 ? 0.15 : 0.1); /* the last part: if no other is */
}
END_TEST

START_TEST(pieces_are_joined_by_their_first_and_last_bytes)
{
    static const char text[] = "aa aaa a";
    Tokenizer *t = words(true);
    Token token[sizeof text];
    int id[sizeof text], target[sizeof text], n, parted = 0;

    n = (int)tokenizer_encode(t, (Bytes){ (const unsigned char *)text, sizeof text - 1 }, token);
    ck_assert(n >= 5 && n < (int)sizeof text - 1);
    for (uint64_t seed = 0; seed < 200; seed++) {
        for (int i = 0; i < n; i++)
            id[i] = token[i];
        masking_apply((Batch){ .B = 1, .T = n, .id = id, .target = target }, tokenizer_size(t),
                      (Masking){ 0.4, t }, seed, 0);
        for (int i = 1; i < n; i++) {
            const Bytes before = tokenizer_token(t, token[i - 1]),
                        here = tokenizer_token(t, token[i]);
            const bool same = (target[i] < 0) == (target[i - 1] < 0);

            if (before.at[before.n - 1] == 'a' && here.at[0] == 'a')
                ck_assert(same);
            else
                parted += !same;
        }
    }
    ck_assert_int_gt(parted, 50);
    tokenizer_free(t);
}
END_TEST

START_TEST(without_words_the_draws_are_those_of_single_tokens)
{
    static const char text[] = ".,;:-!?()[]{} .,;:-!?()[]{} .,;:-!?";

    for (uint64_t seed = 0; seed < 50; seed++) {
        int single[2 * sizeof text];
        const Batch a = mask_text(text, 0.3, false, seed);

        memcpy(single, a.id, (size_t)a.T * sizeof *single);
        memcpy(single + sizeof text, a.target, (size_t)a.T * sizeof *single);
        const Batch b = mask_text(text, 0.3, true, seed);
        ck_assert_mem_eq(single, b.id, (size_t)b.T * sizeof *single);
        ck_assert_mem_eq(single + sizeof text, b.target, (size_t)b.T * sizeof *single);
    }
}
END_TEST

Suite *suite_masking(void)
{
    Suite *s = suite_create("masking");
    TCase *t = group(s, "masks");

    tcase_add_test(t, fifteen_of_a_hundred_tokens_are_targets_and_one_at_least);
    tcase_add_test(t, another_share_is_to_the_nearest_token);
    tcase_add_test(t, whole_words_are_targets_together);
    tcase_add_test(t, adjacent_words_are_masked_independently);
    tcase_add_test(t, words_of_all_lengths_are_equally_likely);
    tcase_add_test(t, a_long_run_of_letters_is_cut_at_the_number_of_targets);
    tcase_add_test(t, pieces_are_joined_by_their_first_and_last_bytes);
    tcase_add_test(t, without_words_the_draws_are_those_of_single_tokens);
    tcase_add_test(t, every_window_has_the_same_number_of_targets);
    tcase_add_test(t, targets_are_the_original_tokens_and_other_tokens_stay);
    tcase_add_test(t, of_ten_targets_eight_are_masked_one_is_any_token_and_one_stays);
    tcase_add_test(t, all_pairs_of_positions_are_equally_likely);
    tcase_add_test(t, masks_depend_on_seed_number_and_row);
    tcase_add_test(t, masks_depend_neither_on_other_rows_nor_on_tokens);
    return s;
}
