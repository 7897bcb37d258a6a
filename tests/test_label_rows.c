/* Labelled texts as rows of tokens: how they are cut, joined and padded. */
#include "data/label_rows.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"

#include <stdlib.h>
#include <string.h>

/* The row's tokens as characters: '.' is padding, '0' the separator; and its lengths. */
static void check_row(const LabelRows *rows, size_t i, int T, bool paired, const char *want)
{
    int id[64], length[2] = { -1, -1 }, target = -2;
    Text got = { 0 };
    const Batch row = { 1, T, id, &target, length, true, paired };

    memset(id, 77, sizeof id);
    label_rows_put(rows, i, row);
    for (int t = 0; t < T; t++) {
        const int half = paired ? T / 2 : T, which = paired ? t / half : 0;
        const bool in = which < 2 && t - which * half < length[which];

        ck_assert(in || id[t] == LABEL_PADDING);
        text_add(&got, "%c", !in ? '.' : id[t] ? id[t] : '0');
    }
    ck_assert_str_eq(got.at, want);
    ck_assert_int_eq(target, rows->label[i]);
}

typedef struct {
    LabelledTexts texts;
    Labels labels;
    Tokenizer *tokenizer;
    LabelRows rows;
} Set;

static Set set_of(const char *text)
{
    Set s = { .texts = labelled_text("x", text),
              .tokenizer = tokenizer_learn("byte", (Bytes){ NULL, 0 }) };

    s.labels = labels_of(&s.texts);
    s.rows = label_rows(&s.texts, &s.labels, s.tokenizer);
    return s;
}

static void set_free(Set *s)
{
    label_rows_free(&s->rows);
    tokenizer_free(s->tokenizer);
    labels_free(&s->labels);
    labelled_free(&s->texts);
}

START_TEST(a_text_is_cut_to_the_context_and_padded)
{
    Set s = set_of("b\tabc\na\tdefgh\n");

    ck_assert(s.rows.label[0] == 1 && s.rows.label[1] == 0);
    check_row(&s.rows, 0, 6, false, "abc...");
    check_row(&s.rows, 0, 3, false, "abc");
    check_row(&s.rows, 0, 1, false, "a");
    check_row(&s.rows, 1, 6, false, "defgh.");
    check_row(&s.rows, 1, 4, false, "defg");
    ck_assert_uint_eq(label_rows_cut(&s.rows, 5, false), 0);
    ck_assert_uint_eq(label_rows_cut(&s.rows, 4, false), 1);
    ck_assert_uint_eq(label_rows_cut(&s.rows, 2, false), 2);
    set_free(&s);
}
END_TEST

START_TEST(a_joined_pair_has_a_separator_and_the_longer_text_is_cut_first)
{
    Set s = set_of("b\tabc\tde\na\ta\tuvwxyz\nb\tabcdef\tz\nb\tabcdef\tuvwxyz\n");

    check_row(&s.rows, 0, 8, false, "abc0de..");
    check_row(&s.rows, 0, 6, false, "abc0de");
    check_row(&s.rows, 0, 5, false, "ab0de");
    check_row(&s.rows, 0, 1, false, "0");
    check_row(&s.rows, 1, 6, false, "a0uvwx");
    check_row(&s.rows, 2, 6, false, "abcd0z");
    check_row(&s.rows, 3, 8, false, "abc0uvwx");
    check_row(&s.rows, 3, 7, false, "abc0uvw");
    ck_assert_uint_eq(label_rows_cut(&s.rows, 8, false), 1);
    ck_assert_uint_eq(label_rows_cut(&s.rows, 6, false), 3);
    set_free(&s);
}
END_TEST

/* Of a vocabulary in which byte 0 is not token 0. */
START_TEST(the_separator_is_a_token_that_no_text_has)
{
    Set s = set_of("b\ta!\tb\na\ta\t!b\n");
    Tokenizer *other = tokenizer_load(with_bytes("gpt2:256", ""));
    LabelRows rows = label_rows(&s.texts, &s.labels, other);

    ck_assert_int_eq(rows.separator, 255);
    label_rows_free(&rows);
    tokenizer_free(other);
    set_free(&s);
}
END_TEST

START_TEST(a_pair_of_sequences_has_half_of_the_row_each)
{
    Set s = set_of("b\tabc\tde\na\ta\tuvwxyz\n");

    check_row(&s.rows, 0, 8, true, "abc.de..");
    check_row(&s.rows, 0, 4, true, "abde");
    check_row(&s.rows, 1, 8, true, "a...uvwx");
    ck_assert_uint_eq(label_rows_cut(&s.rows, 12, true), 0);
    ck_assert_uint_eq(label_rows_cut(&s.rows, 8, true), 1);
    ck_assert_uint_eq(label_rows_cut(&s.rows, 4, true), 2);
    set_free(&s);
}
END_TEST

START_TEST(a_row_of_a_batch_of_pairs_has_its_own_two_lengths)
{
    int id[12], target[3], length[6];
    const Batch b = { 3, 4, id, target, length, true, true }, row = batch_row(b, 2);

    ck_assert_ptr_eq(row.id, id + 8);
    ck_assert_ptr_eq(row.target, target + 2);
    ck_assert_ptr_eq(row.length, length + 4);
    ck_assert(row.paired && row.whole);
}
END_TEST

START_TEST(a_tokenizer_learns_from_all_texts_line_by_line)
{
    Set s = set_of("a\tone\ttwo\nb\tthree\tfour\n");
    const Bytes all = label_rows_text(&s.texts);

    ck_assert_uint_eq(all.n, 19);
    ck_assert_mem_eq(all.at, "one\ntwo\nthree\nfour\n", 19);
    free((void *)(uintptr_t)all.at);
    set_free(&s);
}
END_TEST

Suite *suite_label_rows(void)
{
    Suite *s = suite_create("label_rows");
    TCase *t = group(s, "rows");

    tcase_add_test(t, a_text_is_cut_to_the_context_and_padded);
    tcase_add_test(t, a_joined_pair_has_a_separator_and_the_longer_text_is_cut_first);
    tcase_add_test(t, the_separator_is_a_token_that_no_text_has);
    tcase_add_test(t, a_pair_of_sequences_has_half_of_the_row_each);
    tcase_add_test(t, a_row_of_a_batch_of_pairs_has_its_own_two_lengths);
    tcase_add_test(t, a_tokenizer_learns_from_all_texts_line_by_line);
    return s;
}
