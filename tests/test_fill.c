/* Blanks of a text: where they are, and what a model says of them. */
#include "ops/base/error.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/texts.h"
#include "tools/common/shown.h"
#include "tools/fill/blanks.h"

#include <stdlib.h>
#include <string.h>

enum { MASKED = 999 };

static Bytes all_of(const char *text)
{
    return (Bytes){ (const unsigned char *)text, strlen(text) };
}

/* The tokens of a text, "?" for the mask, in brackets if they are of several bytes. */
static Text drawn(const Tokenizer *t, const char *text, BlankStyle style)
{
    Blanks b = blanks_of(t, all_of(text), style, MASKED);
    Text all = { 0 };
    size_t k = 0;

    for (size_t i = 0; i < b.n; i++) {
        if (b.id[i] == MASKED) {
            ck_assert_uint_eq(b.gap[k].at, i);
            text_add(&all, "?%d.%d/%d", b.gap[k].blank, b.gap[k].part, b.gap[k].parts);
            k++;
            continue;
        }
        const Bytes token = tokenizer_token(t, b.id[i]);
        text_add(&all, token.n > 1 ? "[%.*s]" : "%.*s", (int)token.n, (const char *)token.at);
    }
    ck_assert_uint_eq(k, b.gaps);
    blanks_free(&b);
    return all;
}

/* What is drawn of a text; by bytes, unless `pieces`: "he", "the" and " the". */
static const struct {
    const char *text, *mark;
    int width;
    bool pieces;
    const char *drawn;
} texts[] = {
    { "a ___ b", NULL, 0, false, "a ?0.0/3?0.1/3?0.2/3 b" },
    { "a_b__", NULL, 0, false, "a?0.0/1b?1.0/2?1.1/2" },
    { "a_b__", NULL, 2, false, "a?0.0/2?0.1/2b?1.0/2?1.1/2" },
    { "_", NULL, 1, false, "?0.0/1" },
    { "", NULL, 0, false, "" },
    { "none", NULL, 0, false, "none" },
    { "a_b[M][M]c", "[M]", 0, false, "a_b?0.0/1?1.0/1c" },
    { "a[M]", "[M]", 3, false, "a?0.0/3?0.1/3?0.2/3" },
    { "[M", "[M]", 0, false, "[M" },
    { "the ___ the", NULL, 0, true, "[the]?0.0/1[ the]" },
    { "the___ the", NULL, 0, true, "[the]?0.0/1[ the]" },
    { "the  ___", NULL, 2, true, "[the] ?0.0/2?0.1/2" },
    { " ___", NULL, 0, true, "?0.0/1" },
    { "___ ___", NULL, 0, true, "?0.0/1?1.0/1" },
};

START_TEST(blanks_are_where_they_are_marked)
{
    static const char merges[] = " 151,154 139,256 223,257";
    Tokenizer *byte = tokenizer_learn("byte", all_of("")),
              *bpe = tokenizer_learn("bpe:259", all_of("the the the the the")),
              *gpt2 = tokenizer_load(with_bytes("gpt2:259", merges)),
              *digits = tokenizer_load(with_bytes("gpt2-digits:259", merges));

    for (int i = 0; i < COUNT(texts); i++) {
        const BlankStyle style = { texts[i].mark, texts[i].width };
        Tokenizer *const pieces[] = { bpe, gpt2, digits };

        for (int k = 0; k < 3; k++)
            ck_assert_str_eq(drawn(texts[i].pieces ? pieces[k] : byte, texts[i].text, style).at,
                             texts[i].drawn);
    }
    tokenizer_free(byte), tokenizer_free(bpe);
    tokenizer_free(gpt2), tokenizer_free(digits);
}
END_TEST

enum { VOCAB = 11, CONTEXT = 8, LONG = 50, MOST = 4 };

/* A masked model of bytes below 10, and a text with gaps at these positions. */
static Small *masked_model(void)
{
    Config c = small_variant(1);

    c.task = TASK_MLM, c.vocab = VOCAB;
    Small *s = small_open(c, 1, CONTEXT);
    small_overwrite(s, 0.5);
    return s;
}

static Blanks text_with(Small *s, size_t n, const size_t *at, size_t gaps)
{
    const Random r = random_stream(5, RANDOM_TEST, n);
    Blanks b = { arena_take(s->mem, n * sizeof(int)), n, arena_take(s->mem, gaps * sizeof(Gap)),
                 gaps };

    for (size_t i = 0; i < n; i++)
        b.id[i] = (int)random_below(r, i, VOCAB - 1);
    for (size_t k = 0; k < gaps; k++) {
        b.gap[k] = (Gap){ at[k], (int)k, 0, 1 };
        b.id[at[k]] = VOCAB - 1;
    }
    return b;
}

/* The candidates by the probabilities of all tokens but the mask. */
static void check_guesses(const real *logits, const Guess *guess)
{
    double sum = 0;

    for (int c = 0; c < VOCAB - 1; c++)
        sum += exp((double)logits[c]);
    for (int k = 0; k < MOST; k++) {
        const double p = exp((double)logits[guess[k].token]) / sum;
        int before = 0;

        ck_assert_double_eq_tol(guess[k].probability, p, 1e-6);
        for (int c = 0; c < VOCAB - 1; c++)
            before += logits[c] > logits[guess[k].token];
        ck_assert_int_eq(before, k);
    }
}

START_TEST(all_gaps_of_a_short_text_are_predicted_at_once)
{
    static const size_t at[] = { 0, 3, 4, 6 };
    Small *s = masked_model();
    Tape tape = tape_open(2);

    for (size_t n = 7; n <= CONTEXT; n++) {
        const Blanks b = text_with(s, n, at, 4);
        Guess guess[4 * MOST];

        ck_assert_uint_eq(blanks_predict(&b, &tape, &s->model, MOST, guess), 1);
        const real *logits = small_logits(s, b.id, 1, (int)n, 1);
        for (int k = 0; k < 4; k++)
            check_guesses(logits + at[k] * VOCAB, guess + k * MOST);
    }
    tape_close(&tape);
    small_close(s);
}
END_TEST

/* Whether window [start, start + 8) gives gap `at` a quarter of itself on both sides. */
static bool surrounds(size_t start, size_t at)
{
    return at >= start && at < start + CONTEXT && (start == 0 || at - start >= CONTEXT / 4) &&
           (start + CONTEXT == LONG || start + CONTEXT - 1 - at >= CONTEXT / 4 - 1);
}

/* The logits of some window around the gap are those that the candidates come from. */
static void check_window(Small *s, const Blanks *b, const Guess *guess, size_t k)
{
    const size_t at = b->gap[k].at;
    bool found = false;

    for (size_t start = 0; start + CONTEXT <= LONG && !found; start++) {
        if (!surrounds(start, at))
            continue;
        const real *logits = small_logits(s, b->id + start, 1, CONTEXT, 1) + (at - start) * VOCAB;
        double sum = 0;
        for (int c = 0; c < VOCAB - 1; c++)
            sum += exp((double)logits[c]);
        found = fabs(exp((double)logits[guess->token]) / sum - guess->probability) < 1e-6;
    }
    ck_assert_msg(found, "gap %zu at %zu", k, at);
}

START_TEST(of_a_long_text_a_window_around_each_gap_is_read)
{
    static const size_t at[] = { 0, 5, 6, 7, 11, 12, 20, 21, 22, 23, 24, 25, 26, 27, 28, 40, 49 };
    Small *s = masked_model();
    Tape tape = tape_open(1);
    const Blanks b = text_with(s, LONG, at, COUNT(at));
    Guess guess[COUNT(at) * MOST];
    const size_t passes = blanks_predict(&b, &tape, &s->model, MOST, guess);

    ck_assert_uint_lt(passes, COUNT(at));
    for (size_t k = 0; k < b.gaps; k++)
        check_window(s, &b, guess + k * MOST, k);
    tape_close(&tape);
    small_close(s);
}
END_TEST

START_TEST(tokens_are_shown_without_control_characters)
{
    static const char *const token[][2] = {
        { "a", "a" },
        { " the", " the" },
        { "\n\t", "\\n\\x09" },
        { "\"\\", "\\\"\\\\" },
        { "\xc3", "\\xc3" },
        { "\xc3\xa9", "\xc3\xa9" },
        { "\x1b[m", "\\x1b[m" },
        { "\xe2\x80\xae", "\\xe2\\x80\\xae" },
    };

    for (int i = 0; i < COUNT(token); i++)
        ck_assert_str_eq(shown_token(all_of(token[i][0])).at, token[i][1]);
}
END_TEST

START_TEST(a_text_is_named_as_its_file_with_or_without_its_folder)
{
    static const char *const name[][3] = {
        { "nice/text.txt", "text", "nice/text" },
        { "-", "stdin", "stdin" },
        { "a.b.c", "a.b", "a.b" },
        { "in/.hidden", ".hidden", "in/.hidden" },
        { "x/y\033[m.txt", "y?[m", "x/y?[m" },
        { "/a/b.c/d.txt", "d", "b.c/d" },
        { "/d.txt", "d", "/d" },
    };

    for (int i = 0; i < COUNT(name); i++) {
        ck_assert_str_eq(shown_name(name[i][0]).at, name[i][1]);
        ck_assert_str_eq(shown_place(name[i][0]).at, name[i][2]);
    }
}
END_TEST

Suite *suite_fill(void)
{
    Suite *s = suite_create("fill");
    TCase *t = group(s, "blanks");

    tcase_add_test(t, blanks_are_where_they_are_marked);
    tcase_add_test(t, all_gaps_of_a_short_text_are_predicted_at_once);
    tcase_add_test(t, of_a_long_text_a_window_around_each_gap_is_read);
    tcase_add_test(t, tokens_are_shown_without_control_characters);
    tcase_add_test(t, a_text_is_named_as_its_file_with_or_without_its_folder);
    return s;
}
