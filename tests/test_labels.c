/* Labelled texts: what is read of a file and what is refused, and how rows are split. */
#include "data/labels.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_bytes(FILE *out, Bytes b)
{
    fwrite(b.at, 1, b.n, out);
}

/* All rows, "LINE[label|text|text]" each; for free(). */
static char *rows_of(const LabelledTexts *t)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);

    for (size_t i = 0; i < t->rows; i++) {
        fprintf(out, "%zu[", t->row[i].line);
        put_bytes(out, t->row[i].label);
        for (int j = 0; j < t->texts; j++) {
            fputc('|', out);
            put_bytes(out, t->row[i].text[j]);
        }
        fputc(']', out);
    }
    fclose(out);
    return all;
}

static void check_rows(const char *name, const char *text, const char *want)
{
    LabelledTexts t = labelled_text(name, text);
    char *got = rows_of(&t);

    ck_assert_str_eq(got, want);
    free(got);
    labelled_free(&t);
}

START_TEST(a_line_is_a_label_and_what_follows_the_tab)
{
    static const char *const of[][2] = {
        { "a\tone\n", "1[a|one]" },
        { "a\tone", "1[a|one]" },
        { "a\tone\r\nb\ttwo\r\n", "1[a|one]2[b|two]" },
        { "\n\na\tone\n\r\n\nb\t two \n", "3[a|one]6[b| two ]" },
        { "\xef\xbb\xbfgut\tsch\xc3\xb6n\n", "1[gut|sch\xc3\xb6n]" },
        { "a\tone\ttwo\nb\t3\t4\n", "1[a|one|two]2[b|3|4]" },
        { "a\t\"quoted\", with a comma\n", "1[a|\"quoted\", with a comma]" },
        { "a b, c\t\x80\xff\r\r\n", "1[a b, c|\x80\xff\r]" },
        { "label\ttext\na\tone\n", "2[a|one]" },
        { "labels\ttext\nlabel\tone\n", "1[labels|text]2[label|one]" },
        { "label\tx\nlabel\ty\n", "2[label|y]" },
        { "text\tlabel\none\ta\nlabel\tb\n", "2[a|one]3[b|label]" },
        { "one\ttwo\tlabel\n1\t2\ta\n", "2[a|1|2]" },
        { "one\tlabel\ttwo\n1\ta\t2\n", "2[a|1|2]" },
        { "index\tsentence\tlabel\n0\tone\ta\n", "2[a|one]" },
        { "index\tone\ttwo\tlabel\n0\t1\t2\ta\n", "2[a|1|2]" },
        { "index\ttext\none\ttwo\n", "1[index|text]2[one|two]" },
    };

    for (int i = 0; i < COUNT(of); i++)
        check_rows("x.tsv", of[i][0], of[i][1]);
}
END_TEST

START_TEST(a_file_that_ends_in_csv_has_commas_and_quotes)
{
    static const char *const of[][2] = {
        { "a,one\n", "1[a|one]" },
        { "a,one\r\n\r\nb,two", "1[a|one]3[b|two]" },
        { "a,\"one, two\"\n", "1[a|one, two]" },
        { "\"a \"\"b\"\"\",\"\"\"c\"\"\"\n", "1[a \"b\"|\"c\"]" },
        { "a,\"one\ntwo\r\n\nthree\"\nb,four\n", "1[a|one\ntwo\r\n\nthree]5[b|four]" },
        { "a,one\ttwo,three\n", "1[a|one\ttwo|three]" },
        { "label,text\n\"label\",\"x\"\n", "2[label|x]" },
        { "text,label\n\"one, two\",a\n", "2[a|one, two]" },
        { "Text,Label\n\"one, two\",a\n", "2[a|one, two]" },
        { ",text,label\n0,one,a\n", "2[a|one]" },
        { "label,ID,text\na,,one\n", "2[a|one]" },
        { "sentence,label,idx\none,a,0\n", "2[a|one]" },
        { "Unnamed: 0,idx,text,label\n7,0,one,a\n", "2[a|one]" },
        { "ids,label\none,a\n", "2[a|one]" },
    };

    for (int i = 0; i < COUNT(of); i++)
        check_rows("x.csv", of[i][0], of[i][1]);
    check_rows(".csv.txt", "a,b\tone\n", "1[a,b|one]");
    check_rows("csv", "a,b\tone\n", "1[a,b|one]");
}
END_TEST

static void read_file(const char *path)
{
    LabelledTexts t = labelled_read(path);
    Labels l = labels_of(&t);

    labels_free(&l);
    labelled_free(&t);
}

static void refuses(const char *name, const char *text, size_t n, const char *words)
{
    put(in_folder(name), text, n);
    check_dies(read_file, in_folder(name), EXIT_DATA, words);
}

START_TEST(errors_name_the_file_and_the_line)
{
    static const char *const of[][3] = {
        { "x.tsv", "", "x.tsv has no rows" },
        { "x.tsv", "\n\n", "x.tsv has no rows" },
        { "x.tsv", "label\ttext\n", "x.tsv has no rows" },
        { "x.tsv", "a\t1\nb 2\n",
          "x.tsv:2: a row is a label and one text, or a label and two, not 1 "
          "column" },
        { "x.tsv", "a\t1\t2\t3\n",
          "x.tsv:1: a row is a label and one text, or a label and two, "
          "not 4 columns" },
        { "x.tsv", "\na\t1\nb\t2\t3\n", "x.tsv:3: 3 columns where the first row has 2" },
        { "x.tsv", "1\t2\tlabel\na\tb\n", "x.tsv:2: 2 columns where the first row has 3" },
        { "x.tsv", "{\"label\": 1}\n", "not 1 column: is it JSON?" },
        { "x.csv", "\nid,label\n0,a\n",
          "x.csv:2: beside 'label' and row numbers there must be "
          "one column of texts, or two, not 0" },
        { "x.csv", "by,id,title,text,label\n", "one column of texts, or two, not 3" },
        { "x.csv", "label,,,,,,,,,,,,,,,,\n", "x.csv:1: 17 columns are more than 16" },
        { "x.tsv", "a\t1\n\t2\n", "x.tsv:2: the label is empty" },
        { "x.tsv", "a\t1\nb\t\n", "x.tsv:2: the text is empty" },
        { "x.tsv", "a\t\t1\n", "x.tsv:1: the first text is empty" },
        { "x.tsv", "a\t1\t\r\n", "x.tsv:1: the second text is empty" },
        { "x.tsv", "a\t1\na\xff\t2\n", "x.tsv:2: the label is not UTF-8" },
        { "x.tsv", "a\033\t2\n", "x.tsv:1: the label has a control character" },
        { "x.tsv", "\xe2\x80\xae\t2\n", "x.tsv:1: the label has a control character" },
        { "x.tsv", "a\t1\na\t2\n", "all rows have the label 'a': at least two" },
        { "x.tsv", "<html><body>\n", "x.tsv looks like a web page" },
        { "x.csv", "a,1\nb,\"2\n3\n", "x.csv:2: an unclosed quote" },
        { "x.csv", "a,1\nb,\"2\"3\n", "x.csv:2: text after a closing quote" },
        { "x.csv", "a,1\nb,2\"3\n", "x.csv:2: a quote inside an unquoted field" },
        { "x.csv", "a,\"1\n2\"\nb\n", "x.csv:3: a row is a label and one text, or" },
        { "x.csv", "a,1\n\"\",2\n", "x.csv:2: the label is empty" },
        { "x.csv", "a,1,2,3,4,5\n",
          "x.csv:1: a row is a label and one text, or a label and two, not 6" },
    };

    for (int i = 0; i < COUNT(of); i++)
        refuses(of[i][0], of[i][1], strlen(of[i][1]), of[i][2]);
    refuses("x.tsv", "a\t1\nb\t2\0003\n", 10, "x.tsv:2: there is a zero byte");
    refuses("x.tsv", "a\0b\t1\n", 6, "x.tsv:1: there is a zero byte");
    refuses("x.csv", "a,1\nb,2\0003\n", 10, "x.csv:2: a control character");
    check_dies(read_file, in_folder("nowhere.tsv"), EXIT_IO, "No such file");
}
END_TEST

START_TEST(the_length_of_labels_is_limited)
{
    char text[LABEL_BYTES + 20];

    memset(text, 'x', sizeof text);
    memcpy(text + LABEL_BYTES, "\t1\ny\t2\n", 8);
    LabelledTexts t = labelled_text("x.tsv", text);
    ck_assert_uint_eq(t.rows, 2);
    labelled_free(&t);
    memcpy(text + LABEL_BYTES, "x\t1\ny\t2\n", 9);
    refuses("x.tsv", text, strlen(text), ":1: the label is longer than 100 bytes");
}
END_TEST

static Text counted(int i)
{
    return text_format("%03d\ttext\n", i);
}

START_TEST(there_are_at_most_256_labels)
{
    char *text = xmalloc(300 * 10);
    size_t n = 0;

    for (int i = 0; i < 256; i++, n += 9)
        memcpy(text + n, counted(255 - i).at, 10);
    LabelledTexts t = labelled_text("x.tsv", text);
    Labels l = labels_of(&t);
    ck_assert_int_eq(l.n, 256);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(labels_find(&l, t.row[i].label), 255 - i);
    labels_free(&l);
    labelled_free(&t);
    memcpy(text + n, counted(256).at, 10), n += 9;
    refuses("x.tsv", text, n,
            "x.tsv has more than 256 labels; one is '256' in line 257: is it the text?");
    free(text);
}
END_TEST

static Bytes as_bytes(const char *s)
{
    return (Bytes){ (const unsigned char *)s, strlen(s) };
}

START_TEST(labels_are_sorted_by_their_bytes)
{
    LabelledTexts t = labelled_text("x", "b\t1\nab\t2\n\xc3\xa4\t3\nB\t4\na\t5\nb\t6\n2\t7\n");
    static const char *const want[] = { "2", "B", "a", "ab", "b", "\xc3\xa4" };
    Labels l = labels_of(&t);

    ck_assert_int_eq(l.n, COUNT(want));
    for (int i = 0; i < l.n; i++) {
        ck_assert_str_eq(l.name[i], want[i]);
        ck_assert_int_eq(labels_find(&l, as_bytes(want[i])), i);
    }
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            labels_find(&l, as_bytes(((const char *const[]){ "", "A", "abc", "z" })[i])), -1);
    labels_free(&l);
    labelled_free(&t);
}
END_TEST

static void check_others(const char *path)
{
    LabelledTexts train = labelled_text("train.tsv", "a\t1\nb\t2\n"), other = labelled_read(path);
    Labels l = labels_of(&train);

    labels_check(&l, &other);
    exit(0);
}

START_TEST(a_label_absent_from_training_is_refused)
{
    leaks_are_expected();
    put(in_folder("v.tsv"), "b\t1\nb\t2\n", 8);
    ck_assert_int_eq(exit_code_of(check_others, in_folder("v.tsv")), 0);
    put(in_folder("v.tsv"), "b\t1\n\nc\t2\n", 9);
    check_dies(check_others, in_folder("v.tsv"), EXIT_DATA,
               "v.tsv:3: the label 'c' does not occur in the training data");
}
END_TEST

/* n rows, every tenth of which has a label of its own. */
static LabelledTexts many(int n)
{
    char *text = xmalloc((size_t)n * 12 + 1);
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, "%d\t%04d\n", i % 10 == 0 ? 100 + i : i % 2, i);
    return labelled_parse("x", (unsigned char *)text, at);
}

START_TEST(a_share_of_the_rows_is_held_back_and_every_label_stays)
{
    LabelledTexts all = many(1000), again = many(1000);
    LabelledTexts out = labelled_split(&all, 0.2), same = labelled_split(&again, 0.2);
    int seen[1000] = { 0 };
    size_t first_half = 0;

    ck_assert_uint_eq(out.rows, 200);
    ck_assert_uint_eq(all.rows, 800);
    ck_assert_int_eq(out.texts, 1);
    for (size_t i = 0; i < 1000; i++) {
        const Labelled *row = i < 200 ? &out.row[i] : &all.row[i - 200];

        seen[row->line - 1]++;
        ck_assert(i >= 200 || row->label.n == 1); /* a label of one row stays */
        first_half += i < 200 && row->line <= 500;
    }
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(seen[i], 1);
    ck_assert_uint_gt(first_half, 70);
    ck_assert_uint_lt(first_half, 130);
    for (size_t i = 0; i < 200; i++)
        ck_assert_uint_eq(out.row[i].line, same.row[i].line);
    labelled_free(&out), labelled_free(&all), labelled_free(&same), labelled_free(&again);
}
END_TEST

START_TEST(held_back_rows_leave_one_row_per_label)
{
    LabelledTexts all = labelled_text("x", "a\t1\na\t2\nb\t3\nc\t4\nc\t5\n"),
                  out = labelled_split(&all, 0.9);
    char *rows = rows_of(&all);

    ck_assert_uint_eq(out.rows, 2);
    ck_assert_str_eq(rows, "1[a|1]3[b|3]4[c|4]");
    free(rows);
    labelled_free(&out), labelled_free(&all);
}
END_TEST

/* Whether the word is in the n bytes. */
static bool has_word(const char *at, size_t n, const char *word, size_t length)
{
    for (size_t i = 0; i + length < n; i++)
        if (memcmp(at + i, word, length) == 0 && (i == 0 || at[i - 1] == ' ') &&
            strchr(" ,.?", at[i + length]))
            return true;
    return false;
}

/* The sentences of a passage: two characters, and what one of them did. */
static void sentences(Bytes text, Bytes part[3])
{
    for (int i = 0; i < 3; i++) {
        size_t n = 0;

        while (n < text.n && text.at[n] != '.' && text.at[n] != '?')
            n++;
        ck_assert_uint_lt(n, text.n);
        part[i] = (Bytes){ text.at, n + 1 };
        text.at += n + 1 + (i < 2), text.n -= n + 1 + (i < 2);
    }
    ck_assert_uint_eq(text.n, 0);
}

static bool has(Bytes sentence, const void *word, size_t n)
{
    return has_word((const char *)sentence.at, sentence.n, word, n);
}

START_TEST(the_label_of_a_passage_is_the_animal_that_did_it)
{
    LabelCorpus c = label_corpus((LabelFiles){ .seed = 3 });
    Labels animals = labels_of(&c.train);
    int by_first = 0;

    ck_assert_int_eq(animals.n, 8);
    labels_check(&animals, &c.validation);
    for (size_t i = 0; i < c.train.rows; i++) {
        const Labelled *row = &c.train.row[i];
        int named[2] = { 0 };
        Bytes part[3];

        sentences(row->text[0], part);
        ck_assert_uint_le(row->text[0].n, 256);
        const size_t name =
            (size_t)((const unsigned char *)memchr(part[2].at, ' ', part[2].n) - part[2].at);
        const int first = has(part[0], part[2].at, name);
        ck_assert_int_eq(first, !has(part[1], part[2].at, name));
        ck_assert(has(part[!first], row->label.at, row->label.n));
        ck_assert(!has(part[first], row->label.at, row->label.n));
        for (int a = 0; a < animals.n; a++)
            for (int k = 0; k < 2; k++)
                named[k] += has(part[k], animals.name[a], strlen(animals.name[a]));
        ck_assert(named[0] == 1 && named[1] == 1);
        by_first += first;
    }
    ck_assert_double_eq_tol(by_first, (double)c.train.rows / 2, 3 * sqrt((double)c.train.rows));
    labels_free(&animals);
    label_corpus_free(&c);
}
END_TEST

START_TEST(passages_depend_on_their_seed_and_number)
{
    LabelCorpus one = label_corpus((LabelFiles){ .seed = 3 });
    LabelCorpus same = label_corpus((LabelFiles){ .seed = 3 });
    LabelCorpus other = label_corpus((LabelFiles){ .seed = 4 });

    ck_assert_uint_eq(one.hash, same.hash);
    ck_assert_uint_ne(one.hash, other.hash);
    ck_assert_uint_ne(one.train.hash, one.validation.hash);
    label_corpus_free(&one), label_corpus_free(&same), label_corpus_free(&other);
}
END_TEST

static LabelFiles files_of(const char *train, const char *validation)
{
    const LabelFiles f = { in_folder("train"), validation ? in_folder("val") : NULL, 0.5, 1 };

    put(f.path, train, strlen(train));
    if (validation)
        put(f.validation, validation, strlen(validation));
    return f;
}

START_TEST(validation_uses_a_file_or_a_fraction)
{
    LabelCorpus share = label_corpus(files_of("a\t1\nb\t2\na\t3\nb\t4\n", NULL));
    LabelCorpus file = label_corpus(files_of("a\t1\nb\t2\n", "b\t3\n"));

    ck_assert(share.train.rows == 2 && share.validation.rows == 2);
    ck_assert(file.train.rows == 2 && file.validation.rows == 1);
    ck_assert(file.train.from_file && file.validation.from_file && !share.validation.from_file);
    ck_assert_uint_ne(file.hash, file.train.hash);
    label_corpus_free(&share), label_corpus_free(&file);
}
END_TEST

static void read_pair(const char *path)
{
    label_corpus((LabelFiles){ path, strstr(path, "one") ? NULL : in_folder("val"), 0.1, 1 });
}

static void read_and_leave(const char *path)
{
    read_pair(path);
    exit(0);
}

START_TEST(inconsistent_files_are_refused)
{
    leaks_are_expected();
    files_of("a\t1\nb\t2\n", "b\t3\t4\n");
    check_dies(read_pair, in_folder("train"), EXIT_DATA, "val has rows of 2 texts, but ");
    files_of("a\t1\t2\nb\t2\t1\n", "b\t3\n");
    check_dies(read_pair, in_folder("train"), EXIT_DATA, "val has rows of 1 text, but ");
    put(in_folder("one"), "a\t1\nb\t2\n", 8);
    check_dies(read_pair, in_folder("one"), EXIT_DATA, "one: 2 rows are too few to hold one back");
}
END_TEST

/* Eleven rows, the first in line 1, or after a first row with names. */
static void warns_of_the_first(const char *first, bool warns)
{
    Text rows = text_format("%s\ttext\n", first);

    for (int i = 0; i < 10; i++)
        text_add(&rows, "%c\t%d\n", 'a' + i % 3, i);
    put(in_folder("one"), rows.at, strlen(rows.at));
    ck_assert_int_eq(exit_code_of(read_and_leave, in_folder("one")), 0);
    ck_assert_msg(warns == (strstr(said, "one:1: no other row has the label '") != NULL), "%s: %s",
                  first, said);
}

START_TEST(a_label_of_the_first_row_alone_may_be_the_name_of_a_column)
{
    leaks_are_expected();
    warns_of_the_first("sentiment", true);
    warns_of_the_first("label", false);
    warns_of_the_first("a", false);
    warns_of_the_first("\nz", false);
}
END_TEST

START_TEST(labels_of_which_none_occurs_twice_are_refused)
{
    LabelCorpus few = label_corpus(files_of("a\t1\nb\t2\nc\t3\n", "b\t4\n"));

    ck_assert_uint_eq(few.train.rows, 3);
    label_corpus_free(&few);
    leaks_are_expected();
    for (int i = 0; i < 2; i++) { /* with a file to validate on, and without */
        const char *name = i ? "one" : "train";

        files_of("", "b\t3\n");
        put(in_folder(name), "\na\t1\nb\t1\nc\t1\nd\t1\ne\t1\nf\t1\ng\t1\nh\t1\ni\t1\nj\t1\n", 41);
        check_dies(read_pair, in_folder(name), EXIT_DATA,
                   ":2: no label occurs twice, and this one is 'a'");
    }
}
END_TEST

Suite *suite_labels(void)
{
    Suite *s = suite_create("labels");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, a_line_is_a_label_and_what_follows_the_tab);
    tcase_add_test(t, a_file_that_ends_in_csv_has_commas_and_quotes);
    tcase_add_test(t, errors_name_the_file_and_the_line);
    tcase_add_test(t, the_length_of_labels_is_limited);
    tcase_add_test(t, there_are_at_most_256_labels);
    tcase_add_test(t, labels_are_sorted_by_their_bytes);
    tcase_add_test(t, a_label_absent_from_training_is_refused);
    tcase_add_test(t, validation_uses_a_file_or_a_fraction);
    tcase_add_test(t, inconsistent_files_are_refused);
    tcase_add_test(t, a_label_of_the_first_row_alone_may_be_the_name_of_a_column);
    tcase_add_test(t, labels_of_which_none_occurs_twice_are_refused);
    t = group(s, "rows");
    tcase_add_test(t, the_label_of_a_passage_is_the_animal_that_did_it);
    tcase_add_test(t, passages_depend_on_their_seed_and_number);
    tcase_add_test(t, a_share_of_the_rows_is_held_back_and_every_label_stays);
    tcase_add_test(t, held_back_rows_leave_one_row_per_label);
    return s;
}
