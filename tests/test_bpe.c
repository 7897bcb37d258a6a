/* Byte pair encoding and its pieces, by their definitions. */
#include "data/bpe.h"
#include "data/pieces.h"
#include "data/tokens.h"
#include "ops/base/error.h"
#include "ops/base/text.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(int c)
{
    return c != 0 && strchr(" \t\n\v\f\r", c) != NULL;
}

static bool is_letter(int c)
{
    return c > 127 || isalpha(c);
}

static bool is_digit(int c)
{
    return c < 128 && isdigit(c);
}

static bool is_other(int c)
{
    return !is_space(c) && !is_letter(c) && !is_digit(c);
}

static bool all_are(bool (*is)(int c), const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is(s[i]))
            return false;
    return n > 0;
}

static bool is_contraction(const unsigned char *s, size_t n)
{
    static const char *const ends[] = { "s", "t", "d", "m", "ll", "ve", "re" };

    for (int i = 0; i < COUNT(ends); i++)
        if (n == strlen(ends[i]) + 1 && s[0] == '\'' && memcmp(s + 1, ends[i], n - 1) == 0)
            return true;
    return false;
}

/* Whether the pattern's k-th way fits the first n bytes. */
static bool fits(int k, Bytes text, size_t n)
{
    static bool (*const is[])(int c) = { is_letter, is_digit, is_other };
    const unsigned char *s = text.at;

    if (k == 0)
        return is_contraction(s, n);
    if (k <= 3)
        return all_are(is[k - 1], s, n) || (s[0] == ' ' && all_are(is[k - 1], s + 1, n - 1));
    return all_are(is_space, s, n) && (k == 5 || n == text.n || is_space(s[n]));
}

static size_t naive_piece(Bytes text)
{
    for (int k = 0; k <= 5; k++)
        for (size_t n = text.n; n > 0; n--)
            if (fits(k, text, n))
                return n;
    return 0;
}

START_TEST(pieces_are_what_the_pattern_says)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const Bytes text = random_text(seed, alphabets[seed % ALPHABETS], 1 + seed % 13);

        ck_assert_msg(piece_length(text) == naive_piece(text), "seed %d: %zu, not %zu", (int)seed,
                      piece_length(text), naive_piece(text));
        let_go(text);
    }
}
END_TEST

START_TEST(a_sentence_is_split_into_words_numbers_punctuation_and_space)
{
    static const char *const want[] = {
        "I",  "'ll", " say", ",",   " it",  "'s", " 42",
        "nd", " (",  "no",   "?!)", " \n ", "\t", "na\xc3\xafve\xe3\x80\x80x",
        "  ", NULL
    };
    char text[100] = "";

    for (int i = 0; want[i]; i++)
        strcat(text, want[i]);
    Bytes rest = { (unsigned char *)text, strlen(text) };
    for (int i = 0; want[i]; i++) {
        const size_t n = strlen(want[i]);

        ck_assert_msg(piece_length(rest) == n, "'%s': %zu", want[i], piece_length(rest));
        rest = (Bytes){ rest.at + n, rest.n - n };
    }
}
END_TEST

enum { LONGEST = 400, JOINS = 24, PARTED = -1 };

/* A text in tokens, with PARTED after each piece; and what has been joined so far. */
typedef struct {
    int token[2 * LONGEST], n;
    int left[JOINS], right[JOINS], joins;
} Naive;

static void naive_spread(Naive *v, Bytes text)
{
    v->n = 0;
    for (size_t n; text.n > 0; text = (Bytes){ text.at + n, text.n - n }) {
        n = naive_piece(text);
        for (size_t i = 0; i < n; i++)
            v->token[v->n++] = text.at[i];
        v->token[v->n++] = PARTED;
    }
}

static bool is_pair(const Naive *v, int i, int left, int right)
{
    return v->token[i] == left && v->token[i + 1] == right;
}

static void naive_join(Naive *v, int left, int right, int token)
{
    int n = 0;

    for (int i = 0; i < v->n; i++) {
        const bool both = i + 1 < v->n && is_pair(v, i, left, right);

        v->token[n++] = both ? token : v->token[i];
        i += both;
    }
    v->n = n;
}

static int naive_spell(const Naive *v, int token, char *to)
{
    if (token >= 256) {
        const int n = naive_spell(v, v->left[token - 256], to);

        return n + naive_spell(v, v->right[token - 256], to + n);
    }
    *to = (char)token;
    return 1;
}

static bool may_join(const Naive *v, int left, int right)
{
    char spelt[4 * BPE_TOKEN_BYTES], other[4 * BPE_TOKEN_BYTES];
    int n = naive_spell(v, left, spelt);

    n += naive_spell(v, right, spelt + n);
    for (int k = 0; k < v->joins; k++)
        if (naive_spell(v, 256 + k, other) == n && memcmp(spelt, other, (size_t)n) == 0)
            return false;
    return n <= BPE_TOKEN_BYTES;
}

static int count_pair(const Naive *v, int left, int right)
{
    int count = 0;

    for (int i = 0; i + 1 < v->n; i++)
        count += is_pair(v, i, left, right);
    return count;
}

/* Joins the best pair, the smallest of the most frequent; false if there is none. */
static bool naive_step(Naive *v)
{
    int most = 1, left = 0, right = 0;

    for (int i = 0; i + 1 < v->n; i++) {
        const int a = v->token[i], b = v->token[i + 1], count = count_pair(v, a, b);
        const bool smaller = a < left || (a == left && b < right);

        if (a == PARTED || b == PARTED || count < most ||
            (count == most && (most == 1 || !smaller)) || !may_join(v, a, b))
            continue;
        most = count, left = a, right = b;
    }
    if (most == 1)
        return false;
    naive_join(v, left, right, 256 + v->joins);
    v->left[v->joins] = left;
    v->right[v->joins++] = right;
    return true;
}

/* What tokenizer_save() should say, or the words alone. */
static Text naive_saved(const Naive *v, bool words_alone)
{
    Text text = { 0 };

    text_add(&text, "bpe:%d", 256 + v->joins);
    for (int k = 0; k < v->joins && !words_alone; k++)
        text_add(&text, " %d,%d", v->left[k], v->right[k]);
    return text;
}

static void check_encodes(const Tokenizer *t, const Naive *v, Bytes text)
{
    size_t n, k = 0;
    Token *got = checked_tokens(t, text, &n);

    for (int i = 0; i < v->n; i++)
        if (v->token[i] != PARTED)
            ck_assert_msg(k < n && got[k++] == v->token[i], "token %zu", k - 1);
    ck_assert_uint_eq(n, k);
    free(got);
}

/* Learns from one text, and tries what was learned on it and on another one. */
static int compare_with_naive(Bytes text, Bytes other)
{
    Naive v = { .joins = 0 };

    naive_spread(&v, text);
    while (v.joins < JOINS && naive_step(&v))
        ;
    if (v.joins == 0)
        return 0;
    Tokenizer *t = tokenizer_learn(naive_saved(&v, true).at, text);
    char *saved = tokenizer_save(t);
    ck_assert_str_eq(saved, naive_saved(&v, false).at);
    check_encodes(t, &v, text);
    naive_spread(&v, other);
    for (int k = 0; k < v.joins; k++)
        naive_join(&v, v.left[k], v.right[k], 256 + k);
    check_encodes(t, &v, other);
    free(saved);
    tokenizer_free(t);
    return v.joins;
}

START_TEST(bpe_learns_and_encodes_by_the_definition)
{
    int joins = 0;

    for (uint64_t seed = 0; seed < 400; seed++) {
        const char *alphabet = alphabets[seed % (ALPHABETS - 1)];
        const size_t n = 1 + seed % (seed % 10 ? 100 : LONGEST);
        const Bytes text = random_text(seed, alphabet, n),
                    other = random_text(~seed, alphabet, 150);

        joins += compare_with_naive(text, other);
        let_go(text), let_go(other);
    }
    ck_assert_int_gt(joins, 2000);
}
END_TEST

START_TEST(bpe_joins_the_most_frequent_pair_and_of_these_the_smallest)
{
    Tokenizer *t = learn("bpe:259", "abab abab cd cd cd"); /* ab 4, " c" 3, cd 3 */
    char *saved = tokenizer_save(t);

    ck_assert_str_eq(saved, "bpe:259 97,98 32,99 257,100");
    check_tokens(t, "ab cdcd ab", (const int[]){ 256, 258, 'c', 'd', ' ', 256, -1 });
    free(saved);
    tokenizer_free(t);
}
END_TEST

static void learn_1000(const char *text)
{
    Tokenizer *t = learn("bpe:1000", text);

    if (tokenizer_size(t) != 258)
        exit(1);
}

START_TEST(bpe_stops_and_warns_if_there_is_no_pair_left)
{
    ck_assert_int_eq(exit_code_of(learn_1000, "abc abc"), 0);
    ck_assert_ptr_nonnull(
        strstr(said, "warning: bpe:1000: no pairs are left to join after 258 tokens"));
}
END_TEST

START_TEST(no_two_tokens_of_bpe_have_the_same_bytes)
{
    Tokenizer *t = learn("bpe:270", "abc abc ab ab xbc xbc xbc xbc abcabcbc abcbcabc aabcbc bcabc "
                                    "the then there these that than thane hat hate ate at");

    for (int i = 0; i < tokenizer_size(t); i++)
        for (int j = 0; j < i; j++)
            ck_assert(!bytes_same(tokenizer_token(t, i), tokenizer_token(t, j)));
    tokenizer_free(t);
    ck_assert_ptr_null(tokenizer_load("bpe:260 97,98 98,99 256,99 97,257"));
}
END_TEST

START_TEST(a_million_equal_letters_become_the_fewest_tokens)
{
    enum { MILLION = 1000000 };
    const Bytes text = random_text(1, "a", MILLION);
    const int doublings = in_double ? 3 : 7; /* up to BPE_TOKEN_BYTES */
    Text words = { 0 };
    size_t n;

    for (int k = 0; k < 2; k++) {
        Tokenizer *t = tokenizer_learn(k ? "char" : "byte", text);

        check_there_and_back(t, text);
        tokenizer_free(t);
    }
    text_add(&words, "bpe:%d", 256 + doublings);
    Tokenizer *t = tokenizer_learn(words.at, text);
    ck_assert_int_eq(tokenizer_size(t), 256 + doublings);
    ck_assert_uint_eq(tokenizer_token(t, tokenizer_size(t) - 1).n, BPE_TOKEN_BYTES);
    free(checked_tokens(t, text, &n));
    ck_assert_uint_eq(n, MILLION / BPE_TOKEN_BYTES + (in_double ? 0 : 1));
    tokenizer_free(t);
    let_go(text);
}
END_TEST

static void learn_a_long_piece(const char *path)
{
    unsigned char *at = xmalloc((size_t)BPE_TEXT_MAX + 3);

    (void)path;
    memset(at, 'x', (size_t)BPE_TEXT_MAX + 3);
    at[1] = ' ';
    tokenizer_learn("bpe:258", (Bytes){ at, (size_t)BPE_TEXT_MAX + 3 });
}

static void encode_a_long_piece(const char *path)
{
    unsigned char *at = xmalloc((size_t)BPE_TEXT_MAX + 1);

    (void)path;
    memset(at, 'x', (size_t)BPE_TEXT_MAX + 1);
    tokens_of(tokenizer_learn("bpe:258", (Bytes){ at, 10 }),
              (Bytes){ at, (size_t)BPE_TEXT_MAX + 1 });
}

/* 24 bytes are needed for each of its bytes. */
START_TEST(a_piece_that_is_too_long_is_refused)
{
    check_dies(encode_a_long_piece, folder, EXIT_DATA, "and bpe:258 takes");
    if (in_double)
        ck_assert_ptr_nonnull(strstr(said, "the text has 1048577 bytes without a space"));
    ck_assert_int_eq(exit_code_of(learn_a_long_piece, folder), EXIT_DATA);
    ck_assert_ptr_nonnull(strstr(said, "--tokenizer byte"));
}
END_TEST

/* More text than is learned from: "ab" as far as it counts, then twice as much of "cd". */
static void learn_too_much(const char *path)
{
    unsigned char *at = xmalloc(3 * (size_t)BPE_TEXT_MAX);

    (void)path;
    for (size_t i = 0; i < 3 * (size_t)BPE_TEXT_MAX; i++)
        at[i] = (unsigned char)(i % 4 == 3 ? ' ' : i < BPE_TEXT_MAX ? "aba"[i % 4] : 'c');
    char *saved =
        tokenizer_save(tokenizer_learn("bpe:258", (Bytes){ at, 3 * (size_t)BPE_TEXT_MAX }));
    if (strcmp(saved, "bpe:258 97,98 256,97") != 0)
        exit(1);
}

START_TEST(bpe_learns_from_the_beginning_of_a_text_that_is_too_long)
{
    if (!in_double) /* the other build has a smaller limit */
        return;
    ck_assert_int_eq(exit_code_of(learn_too_much, NULL), 0);
    ck_assert_ptr_nonnull(
        strstr(said, "bpe:258 is learned from the first 1048576 of the text's 3145728 bytes"));
}
END_TEST

Suite *suite_bpe(void)
{
    Suite *s = suite_create("bpe");
    TCase *t = group(s, "bpe");

    tcase_add_test(t, pieces_are_what_the_pattern_says);
    tcase_add_test(t, a_sentence_is_split_into_words_numbers_punctuation_and_space);
    tcase_add_test(t, bpe_learns_and_encodes_by_the_definition);
    tcase_add_test(t, bpe_joins_the_most_frequent_pair_and_of_these_the_smallest);
    tcase_add_test(t, bpe_stops_and_warns_if_there_is_no_pair_left);
    tcase_add_test(t, no_two_tokens_of_bpe_have_the_same_bytes);
    tcase_add_test(t, a_million_equal_letters_become_the_fewest_tokens);
    tcase_add_test(t, bpe_learns_from_the_beginning_of_a_text_that_is_too_long);
    tcase_add_test(t, a_piece_that_is_too_long_is_refused);
    return s;
}
