/* ListOps from the Long Range Arena's files: what is read, and what is refused. */
#include "data/lra.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/rows.h"
#include "tests/solutions.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER "Source\tTarget\n"
#define EXAMPLE                                                                                    \
    "( ( ( ( ( [MIN 1 ) 1 ) 2 ) ( ( ( ( [MED 1 ) ( ( ( ( ( [MED 0 ) 6 ) 9 ) 5 ) ] ) ) 0 ) ] ) ) ] )"

static const char *const names[] = { "basic_train.tsv", "basic_val.tsv", "basic_test.tsv" };

/* Three files: one to train on with that text, and two with a row. */
static void put_files(const char *train)
{
    put_text(names[0], train);
    put_text(names[1], HEADER "4\t4\n");
    put_text(names[2], HEADER "5\t5\n");
}

static void check_tokens(const LraRows *rows, size_t i, const char *words, int label)
{
    int id[64], target[64];
    const int n = lra_row(rows, i, (Batch){ .B = 1, .T = COUNT(id), .id = id, .target = target });
    const Synthetic *listops = task_named("listops");
    Text all = { 0 };

    for (int t = 0; t < n; t++)
        text_add(&all, "%s%s", t ? " " : "",
                 synthetic_word(listops, (SyntheticShape){ .T = 64 }, id[t]).at);
    ck_assert_str_eq(all.at, words);
    ck_assert_int_eq(target[0], label);
    for (int t = 1; t < COUNT(id); t++) {
        ck_assert_int_eq(target[t], -1);
        ck_assert(t < n || id[t] == 0);
    }
}

static const char *const example_words = "[MIN 1 1 2 [MED 1 [MED 0 6 9 5 X 0 X X";

START_TEST(rows_are_the_tokens_that_the_arena_makes_of_them)
{
    put_files(HEADER EXAMPLE "\t1\n3\t3\n( ( ( [MAX 2 ) 9 ) ] )\t9\n  ([SM  7)  8 X\t5\n");
    Lra lra = lra_read(folder);

    ck_assert_uint_eq(lra.train.rows, 4);
    ck_assert_int_eq(lra.files, 3);
    ck_assert(lra.file[0].bytes > lra.file[1].bytes && lra.file[1].hash != lra.file[2].hash);
    ck_assert_str_eq(lra.file[2].path, in_folder("basic_test.tsv"));
    ck_assert_uint_eq(lra.validation.rows, 1);
    ck_assert_uint_eq(lra.test.rows, 1);
    check_tokens(&lra.train, 0, example_words, 1);
    check_tokens(&lra.train, 1, "3", 3);
    check_tokens(&lra.train, 2, "[MAX 2 9 X", 9);
    check_tokens(&lra.train, 3, "[SM 7 8 X", 5);
    check_tokens(&lra.validation, 0, "4", 4);
    check_tokens(&lra.test, 0, "5", 5);
    lra_free(&lra);
    ck_assert_ptr_null(lra.train.byte);
    ck_assert_uint_eq(lra.test.rows, 0);
}
END_TEST

START_TEST(the_value_of_the_arenas_example_is_its_class)
{
    static const char *const word[] = { "[MIN", "1", "1", "2", "[MED", "1", "[MED", "0",
                                        "6",    "9", "5", "X", "0",    "X", "X" };
    const char *say[COUNT(word)] = { NULL };
    const Solution *listops = solutions;

    while (!same_word(listops->task, "listops"))
        listops++;
    listops->solve((Puzzle){ COUNT(word), word, say });
    ck_assert_str_eq(say[0], "1");
}
END_TEST

START_TEST(crlf_and_a_missing_last_newline_are_accepted)
{
    put_files("Source\tTarget\r\n" EXAMPLE "\t1\r\n8\t8\r\n( 2 )\t2");
    Lra lra = lra_read(folder);

    ck_assert_uint_eq(lra.train.rows, 3);
    check_tokens(&lra.train, 0, example_words, 1);
    check_tokens(&lra.train, 1, "8", 8);
    check_tokens(&lra.train, 2, "2", 2);
    lra_free(&lra);
}
END_TEST

START_TEST(a_row_is_cut_to_the_context)
{
    int id[6], target[6];

    put_files(HEADER EXAMPLE "\t1\n");
    Lra lra = lra_read(folder);
    for (int T = 1; T <= 5; T++) {
        static const int first[] = { 1, 7, 7, 8, 3 };

        id[T] = target[T] = 77;
        ck_assert_int_eq(
            lra_row(&lra.train, 0, (Batch){ .B = 1, .T = T, .id = id, .target = target }), T);
        ck_assert_mem_eq(id, first, (size_t)T * sizeof *id);
        ck_assert_int_eq(target[0], 1);
        ck_assert(id[T] == 77 && target[T] == 77);
        ck_assert_uint_eq(lra_longer(&lra.train, T), 1);
    }
    ck_assert_uint_eq(lra_longer(&lra.train, 1000), 0);
    ck_assert_uint_eq(lra_longer(&lra.train, (int)(lra.train.start[1] - lra.train.start[0] - 1)),
                      0);
    lra_free(&lra);
}
END_TEST

START_TEST(the_folder_of_the_release_is_found_from_the_one_around_it)
{
    char sub[100];

    put_files(HEADER "1\t1\n");
    snprintf(sub, sizeof sub, "%s/listops-1000", folder);
    ck_assert_int_eq(mkdir(sub, 0777), 0);
    for (int i = 0; i < 3; i++) {
        char to[200];

        snprintf(to, sizeof to, "%s/%s", sub, names[i]);
        ck_assert_int_eq(rename(in_folder(names[i]), to), 0);
    }
    Lra around = lra_read(folder), itself = lra_read(sub);
    check_tokens(&around.train, 0, "1", 1);
    check_tokens(&itself.validation, 0, "4", 4);
    lra_free(&around), lra_free(&itself);
    for (int i = 0; i < 3; i++) {
        char path[200];

        snprintf(path, sizeof path, "%s/%s", sub, names[i]);
        remove(path);
    }
    rmdir(sub);
}
END_TEST

START_TEST(long_lines_and_many_rows_are_read_whole)
{
    enum { WORDS = 500000, ROWS = 30000 };
    const size_t header = strlen(HEADER), bytes = header + 4 * WORDS + 3 + 4 * ROWS;
    char *text = xmalloc(bytes), *to = text + header;
    int *id = xmalloc(2 * (WORDS + 1) * sizeof *id);

    memcpy(text, HEADER, header);
    for (int i = 0; i < WORDS; i++, to += 4)
        memcpy(to, "(7) ", 4);
    memcpy(to, "\t7\n", 3), to += 3;
    for (int i = 0; i < ROWS; i++, to += 4) {
        const char row[] = { (char)('0' + i % 10), '\t', (char)('0' + i % 7), '\n' };
        memcpy(to, row, 4);
    }
    put_files(HEADER "1\t1\n");
    put(in_folder(names[0]), text, bytes);
    Lra lra = lra_read(folder);
    ck_assert_uint_eq(lra.train.rows, ROWS + 1);
    ck_assert_int_eq(lra_row(&lra.train, 0,
                             (Batch){ .B = 1, .T = WORDS + 1, .id = id, .target = id + WORDS + 1 }),
                     WORDS);
    for (int t = 0; t <= WORDS; t++)
        ck_assert_int_eq(id[t], t < WORDS ? 13 : 0);
    for (int i = 0; i < ROWS; i++) {
        int one[2], target[2];

        ck_assert_int_eq(lra_row(&lra.train, (size_t)i + 1,
                                 (Batch){ .B = 1, .T = 2, .id = one, .target = target }),
                         1);
        ck_assert(one[0] == 6 + i % 10 && target[0] == i % 7);
    }
    lra_free(&lra);
    free(text), free(id);
}
END_TEST

static void read_folder(const char *path)
{
    Lra lra = lra_read(path);

    lra_free(&lra);
}

START_TEST(errors_name_the_line)
{
    static const char *const of[][2] = {
        { "", "basic_train.tsv is empty" },
        { HEADER, "has a header and no rows" },
        { "Source\tTarget", "has a header and no rows" },
        { "3\t3\n", "basic_train.tsv:1: the first line must be Source, a tab, Target" },
        { "Source Target\n3\t3\n", ":1: the first line" },
        { "Source\tTarget\tMore\n3\t3\n", ":1: the first line" },
        { "<html><body>\n", "it looks like a web page" },
        { "%PDF-1.4\n", "it looks like a PDF document" },
        { "\xff\xfet", "it looks like UTF-16" },
        { "\xfe\xff", "it looks like UTF-16" },
        { "\xfd\x37zXZ", "it looks like an xz archive" },
        { "BZh91AY&SY", "it looks like a bzip2 archive" },
        { "PAR1\x15", "it looks like a Parquet table" },
        { "\x28\xb5\x2f\xfd", "it looks like a Zstandard archive" },
        { HEADER "3\t3\n[MAX 3 4 ] 4\n", ":3: a row is an expression, a tab and a digit" },
        { HEADER "3\t3\n\n", ":3: a row is an expression, a tab and a digit" },
        { HEADER "3\t10\n", ":2: after the tab there must be one digit, 0 to 9, and nothing else" },
        { HEADER "3\t\n", ":2: after the tab there must be one digit" },
        { HEADER "3\t", ":2: after the tab there must be one digit" },
        { HEADER "3\t-1\n", ":2: after the tab there must be one digit" },
        { HEADER "3\tx\n", ":2: after the tab there must be one digit" },
        { HEADER "3\t:\n", ":2: after the tab there must be one digit" },
        { HEADER "3\t/\n", ":2: after the tab there must be one digit" },
        { HEADER "3\t3\t3\n", ":2: after the tab there must be one digit" },
        { HEADER "1\t1\n( [AVG 3 ) ]\t3\n", ":3: '[AVG' is not a token of ListOps" },
        { HEADER "33\t3\n", ":2: '33' is not a token of ListOps" },
        { HEADER "3)(3\t3\n", ":2: '33' is not a token of ListOps" },
        { HEADER "[MAXIMUM0123456789 3\t3\n", ":2: '[MAXIMUM' is not a token of ListOps" },
        { HEADER "[MA 3\t3\n", ":2: '[MA' is not a token of ListOps" },
        { HEADER "[\033AX 3\t3\n", ":2: '[?AX' is not a token of ListOps" },
        { HEADER "\t3\n", ":2: there is no token before the tab" },
        { HEADER "( ( ) )\t3\n", ":2: there is no token before the tab" },
    };

    for (int i = 0; i < COUNT(of); i++) {
        put_files(of[i][0]);
        check_dies(read_folder, folder, EXIT_DATA, of[i][1]);
    }
}
END_TEST

START_TEST(a_zero_byte_ends_no_token)
{
    static const char text[] = HEADER "3\0x 4\t3\n";

    put_files(HEADER "1\t1\n");
    put(in_folder(names[2]), text, sizeof text - 1);
    check_dies(read_folder, folder, EXIT_DATA, "basic_test.tsv:2: '3");
}
END_TEST

START_TEST(all_three_files_are_needed)
{
    for (int i = 0; i < 3; i++) {
        put_files(HEADER "1\t1\n");
        remove(in_folder(names[i]));
        check_dies(read_folder, folder, EXIT_IO, names[i]);
    }
    check_dies(read_folder, "", EXIT_IO, "basic_train.tsv");
}
END_TEST

START_TEST(the_length_of_folder_names_is_limited)
{
    char name[5001];

    memset(name, 'a', 5000), name[5000] = 0;
    check_dies(read_folder, name, EXIT_IO, "is too long");
}
END_TEST

Suite *suite_lra(void)
{
    Suite *s = suite_create("lra");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, rows_are_the_tokens_that_the_arena_makes_of_them);
    tcase_add_test(t, the_value_of_the_arenas_example_is_its_class);
    tcase_add_test(t, crlf_and_a_missing_last_newline_are_accepted);
    tcase_add_test(t, a_row_is_cut_to_the_context);
    tcase_add_test(t, the_folder_of_the_release_is_found_from_the_one_around_it);
    tcase_add_test(t, long_lines_and_many_rows_are_read_whole);
    tcase_add_test(t, errors_name_the_line);
    tcase_add_test(t, a_zero_byte_ends_no_token);
    tcase_add_test(t, all_three_files_are_needed);
    tcase_add_test(t, the_length_of_folder_names_is_limited);
    return s;
}
