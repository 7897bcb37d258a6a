/* Text files, the split of them, and batches and windows of bytes. */
#include "data/corpus.h"
#include "data/stories.h"
#include "data/tokens.h"
#include "ops/base/error.h"
#include "ops/base/hash.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

/* Files of the folder by name, ended by NULL; a tenth is held back unless there is a file for it.
 */
static Corpus corpus_of(const char *const *name, const char *validation, double held_back)
{
    char path[3][400];
    const char *at[3];
    CorpusFiles files_of = { .path = at, .held_back = held_back };

    for (; files_of.n < 3 && name[files_of.n]; files_of.n++)
        at[files_of.n] = strcpy(path[files_of.n], in_folder(name[files_of.n]));
    files_of.validation_path = validation ? in_folder(validation) : NULL;
    return corpus_read(files_of);
}

/* A file of n bytes that count up from `first`. */
static void put_bytes(const char *name, unsigned char first, size_t n)
{
    unsigned char *at = xmalloc(n);

    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(first + i);
    put(in_folder(name), at, n);
    free(at);
}

static void check_counts_up(Bytes b, unsigned char first, size_t n)
{
    ck_assert_uint_eq(b.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(b.at[i], (unsigned char)(first + i));
}

START_TEST(files_are_read_one_after_the_other_and_split_at_the_byte)
{
    put_bytes("a", 0, 100), put_bytes("b", 100, 856), put_bytes("c", 956 % 256, 47);
    Corpus c = corpus_of((const char *const[]){ "a", "b", "c", NULL }, NULL, 0.1);

    check_counts_up(c.train, 0, 903);
    check_counts_up(c.validation, 903 % 256, 100);
    ck_assert_double_eq(c.floor, 0);
    ck_assert_int_eq(c.files, 3);
    ck_assert_str_eq(c.file[2].path + strlen(c.file[2].path) - 2, "/c");
    ck_assert_uint_eq(c.file[1].bytes, 856);
    ck_assert_uint_eq(c.file[0].hash, hash_bytes(0, c.train.at, 100));
    corpus_free(&c);
    ck_assert_ptr_null(c.train.at);
}
END_TEST

START_TEST(a_validation_file_leaves_the_text_whole)
{
    put_bytes("a", 0, 256), put_bytes("v", 7, 300);
    Corpus c = corpus_of((const char *const[]){ "a", NULL }, "v", 0.1);

    check_counts_up(c.train, 0, 256);
    check_counts_up(c.validation, 7, 300);
    corpus_free(&c);
}
END_TEST

START_TEST(a_text_is_cut_between_characters)
{
    static const char text[] =
        "a\xe7\xba\xa2\xe6\xa5\xbc\xe6\xa2\xa6z"; /* bytes 1, 4, 7 begin three of three */
    static const size_t cut[] = { 0, 1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 11 };

    put(in_folder("utf8"), text, 11);
    for (int held = 1; held < 11; held++) {
        Corpus c = corpus_of((const char *const[]){ "utf8", NULL }, NULL, (held + 0.5) / 11);

        ck_assert_uint_eq(c.train.n, cut[11 - held]);
        ck_assert_uint_eq(c.train.n + c.validation.n, 11);
        corpus_free(&c);
    }
    put(in_folder("utf8"), "a\xf0\x9f\x98\x80z", 6); /* bytes 1 to 4 are one of four */
    for (int held = 1; held < 6; held++) {
        Corpus c = corpus_of((const char *const[]){ "utf8", NULL }, NULL, (held + 0.5) / 6);

        ck_assert_uint_eq(c.train.n, held == 1 ? 5 : 1);
        corpus_free(&c);
    }
    put(in_folder("bytes"), "\xba\xa2\xba\xa2", 4);
    Corpus c = corpus_of((const char *const[]){ "bytes", NULL }, NULL, 0.25);
    ck_assert_uint_eq(c.train.n, 3); /* no character begins before */
    corpus_free(&c);
}
END_TEST

START_TEST(a_corpus_is_recognised_and_any_change_is_detected)
{
    enum { N = 60 };
    char text[N];
    uint64_t seen[N + 3];
    int n = 0;

    for (int i = 0; i < N; i++)
        text[i] = (char)(i % 7);
    for (int i = -1; i < N; i++) {
        if (i >= 0)
            text[i] ^= 1;
        put(in_folder("t"), text, N);
        Corpus c = corpus_of((const char *const[]){ "t", NULL }, NULL, 0.5);
        seen[n++] = c.hash;
        corpus_free(&c);
        if (i >= 0)
            text[i] ^= 1;
    }
    for (int held = 1; held <= 2; held++) { /* the same text, cut elsewhere */
        put(in_folder("t"), text, N);
        Corpus c = corpus_of((const char *const[]){ "t", NULL }, NULL, 0.1 * held);
        seen[n++] = c.hash;
        corpus_free(&c);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            ck_assert(seen[i] != seen[j]);
}
END_TEST

static void read_and_split(const char *name)
{
    corpus_of((const char *const[]){ name, NULL }, NULL, 0.5);
}

static void read_and_validate_on(const char *name)
{
    corpus_of((const char *const[]){ "long", NULL }, name, 0.1);
}

static void read_behind_another(const char *name)
{
    corpus_of((const char *const[]){ "long", name, NULL }, NULL, 0.5);
}

START_TEST(texts_that_are_missing_or_empty_are_refused)
{
    put_bytes("long", 0, 100);
    put_bytes("empty", 0, 0);
    check_dies(read_and_split, "empty", EXIT_DATA, "is empty");
    check_dies(read_and_split, "missing", EXIT_IO, "No such file");
    check_dies(read_and_validate_on, "empty", EXIT_DATA, "is empty");
    check_dies(read_and_validate_on, "missing", EXIT_IO, "No such file");
    check_dies(read_behind_another, "empty", EXIT_DATA, "is empty");
    check_dies(read_behind_another, "missing", EXIT_IO, "No such file");
}
END_TEST

START_TEST(a_text_that_is_validated_on_as_well_causes_a_warning)
{
    put_bytes("long", 0, 100), put_bytes("other", 0, 100);
    ck_assert_int_eq(exit_code_of(read_and_validate_on, "other"), 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(exit_code_of(read_and_validate_on, "long"), 0);
    ck_assert_ptr_nonnull(strstr(said, "long is trained on and validated on"));
}
END_TEST

START_TEST(a_text_that_resembles_another_format_is_read_as_text)
{
    static const char *const name[] = { "page", NULL };

    put(in_folder("page"), "<html>0123456789", 16);
    Corpus c = corpus_of(name, NULL, 0.5);
    ck_assert_uint_eq(c.train.n + c.validation.n, 16);
    ck_assert_mem_eq(c.train.at, "<html>0123456789", 16);
    corpus_free(&c);
}
END_TEST

/* n tokens that count up, with not one behind them. */
static Tokens counting(size_t n)
{
    Tokens tokens = { .at = xmalloc(n * sizeof(Token)), .n = n, .bytes = n };

    for (size_t i = 0; i < n; i++)
        tokens.at[i] = (Token)i;
    return tokens;
}

static void let_go(Tokens tokens)
{
    tokens_free(&tokens);
}

enum { B = 5, T = 7, WINDOW = B * T };

static Batch rows(int n, int *id, int *target)
{
    return (Batch){ .B = n, .T = T, .id = id, .target = target };
}

START_TEST(a_batch_depends_on_its_seed_and_number_alone)
{
    Tokens text = counting(200);
    int id[20][WINDOW], target[20][WINDOW], again[WINDOW], aim[WINDOW];

    for (uint64_t number = 0; number < 20; number++)
        tokens_batch(text, 3, number, rows(B, id[number], target[number]));
    for (uint64_t number = 20; number-- > 0;) {
        tokens_batch(text, 3, number, rows(B, again, aim));
        ck_assert_mem_eq(again, id[number], sizeof again);
        ck_assert_mem_eq(aim, target[number], sizeof aim);
        ck_assert(number == 0 || memcmp(id[number], id[number - 1], sizeof again) != 0);
        tokens_batch(text, 4, number, rows(B, again, aim));
        ck_assert_mem_ne(again, id[number], sizeof again);
    }
    let_go(text);
}
END_TEST

START_TEST(a_smaller_batch_is_the_beginning_of_a_larger_one)
{
    Tokens text = counting(200);
    int id[WINDOW], target[WINDOW], one[T], aim[T];

    tokens_batch(text, 3, 9, rows(B, id, target));
    tokens_batch(text, 3, 9, rows(1, one, aim));
    ck_assert_mem_eq(one, id, sizeof one);
    let_go(text);
}
END_TEST

/* Texts of tokens that differ: a window is known by its first one. */
START_TEST(an_epoch_has_every_window_once_in_an_order_of_its_own)
{
    enum { TEXT = 200, WINDOWS = (TEXT - 1) / T - 1, EPOCHS = 3 };
    Token text[TEXT];
    int id[B][T], target[B][T], start[EPOCHS * WINDOWS + B], moved = 0, places = 0;

    for (int i = 0; i < TEXT; i++)
        text[i] = (Token)i;
    const Tokens from = { .at = text, .n = TEXT, .bytes = TEXT };
    for (int number = 0; number * B < EPOCHS * WINDOWS; number++) {
        Batch batch = { .B = B, .T = T, .id = *id, .target = *target };

        tokens_shuffled(from, 7, (uint64_t)number, batch);
        for (int b = 0; b < B; b++) {
            start[number * B + b] = id[b][0];
            for (int t = 0; t < T; t++)
                ck_assert(id[b][t] == id[b][0] + t && target[b][t] == id[b][t] + 1);
        }
    }
    for (int e = 0; e < EPOCHS; e++) {
        int seen[TEXT] = { 0 }, least = TEXT;

        for (int i = 0; i < WINDOWS; i++) {
            ck_assert_int_eq(seen[start[e * WINDOWS + i]]++, 0);
            least = start[e * WINDOWS + i] < least ? start[e * WINDOWS + i] : least;
        }
        for (int i = 0; i < WINDOWS; i++) {
            moved += start[e * WINDOWS + i] != start[i];
            ck_assert_int_eq(seen[least + i * T], 1);
        }
        ck_assert_int_le(least, 2 * T);
        places |= 1 << least;
    }
    ck_assert_int_ne(places & (places - 1), 0); /* epochs begin at more than one */
    ck_assert_int_gt(moved, WINDOWS);
}
END_TEST

START_TEST(a_text_of_one_window_is_shuffled_too)
{
    Token text[T + 1] = { 5, [T] = 8 };
    int id[B][T], target[B][T];

    tokens_shuffled((Tokens){ .at = text, .n = T + 1, .bytes = T + 1 }, 7, 9,
                    (Batch){ .B = B, .T = T, .id = *id, .target = *target });
    for (int b = 0; b < B; b++)
        ck_assert(id[b][0] == 5 && target[b][T - 1] == 8);
}
END_TEST

START_TEST(a_target_is_the_next_byte)
{
    Tokens text = counting(256);
    int id[WINDOW], target[WINDOW];

    for (uint64_t number = 0; number < 50; number++) {
        tokens_batch(text, 3, number, rows(B, id, target));
        for (int i = 0; i < WINDOW; i++) {
            ck_assert_int_eq(target[i], id[i] + 1);
            ck_assert(i % T == 0 || id[i] == target[i - 1]);
        }
    }
    let_go(text);
}
END_TEST

/* How often each place of a text of n bytes starts a window, in `batches` batches. */
static void count_starts(size_t n, int batches, int *count)
{
    Tokens text = counting(n);
    int id[WINDOW], target[WINDOW];

    for (int number = 0; number < batches; number++) {
        tokens_batch(text, 1, (uint64_t)number, rows(B, id, target));
        for (int b = 0; b < B; b++) {
            ck_assert_uint_lt((size_t)target[b * T + T - 1], n);
            count[id[b * T]]++;
        }
    }
    let_go(text);
}

START_TEST(windows_start_everywhere_equally_and_end_with_the_text)
{
    enum { BATCHES = 2000 };

    for (int starts = 1; starts <= 12; starts++) {
        int count[256] = { 0 };
        double mean = (double)(BATCHES * B) / starts;

        count_starts((size_t)(starts + T), BATCHES, count);
        for (int i = 0; i < starts; i++)
            ck_assert_double_eq_tol(count[i], mean, 1 + 5 * sqrt(mean * (1 - 1.0 / starts)));
        ck_assert_int_eq(count[starts], 0);
    }
}
END_TEST

START_TEST(windows_side_by_side_tile_the_text)
{
    for (size_t n = T + 1; n <= 5 * T; n++) {
        Tokens text = counting(n);
        size_t windows = tokens_windows(text, T);
        int id[T], target[T];

        for (size_t k = 0; k < windows; k++) {
            tokens_window(text, k, rows(1, id, target));
            for (int t = 0; t < T; t++) {
                ck_assert_int_eq(id[t], (int)k * T + t);
                ck_assert_int_eq(target[t], id[t] + 1);
            }
        }
        ck_assert_uint_lt(windows * T, n);     /* the last target is in the text, */
        ck_assert_uint_ge(windows * T + T, n); /* and another window's would not be */
        let_go(text);
    }
}
END_TEST

START_TEST(the_floor_of_stories_is_their_entropy)
{
    Corpus c = corpus_stories(5, 50000);
    double bits = stories_bits((const char *)c.validation.at, c.validation.n);

    ck_assert_uint_ge(c.train.n, 50000);
    ck_assert_uint_ge(c.validation.n, 5000);
    ck_assert_uint_lt(c.validation.n, 7000);
    ck_assert_double_eq_tol(c.floor, bits / (double)c.validation.n, 1e-12);
    corpus_free(&c);
}
END_TEST

static bool holds(Bytes text, const unsigned char *part, size_t n)
{
    for (size_t i = 0; i + n <= text.n; i++)
        if (text.at[i] == *part && memcmp(text.at + i, part, n) == 0)
            return true;
    return false;
}

START_TEST(validation_stories_are_not_trained_on)
{
    Corpus c = corpus_stories(5, 50000);
    size_t begin = 0;
    int stories = 0;

    for (size_t i = 1; i < c.validation.n; i++)
        if (c.validation.at[i] == '\n' && c.validation.at[i - 1] == '\n') {
            ck_assert(!holds(c.train, c.validation.at + begin, i - begin));
            begin = i + 1;
            stories++;
        }
    ck_assert_int_gt(stories, 5);
    corpus_free(&c);
}
END_TEST

START_TEST(stories_depend_on_their_seed)
{
    Corpus a = corpus_stories(5, 3000), b = corpus_stories(5, 3000), c = corpus_stories(6, 3000);

    ck_assert_uint_eq(a.train.n, b.train.n);
    ck_assert_mem_eq(a.train.at, b.train.at, a.train.n);
    ck_assert_mem_eq(a.validation.at, b.validation.at, a.validation.n);
    ck_assert_mem_ne(a.train.at, c.train.at, 300);
    corpus_free(&a), corpus_free(&b), corpus_free(&c);
}
END_TEST

Suite *suite_corpus(void)
{
    Suite *s = suite_create("corpus");
    TCase *t = with_folder(s, "files");

    tcase_add_test(t, files_are_read_one_after_the_other_and_split_at_the_byte);
    tcase_add_test(t, a_validation_file_leaves_the_text_whole);
    tcase_add_test(t, a_text_is_cut_between_characters);
    tcase_add_test(t, a_corpus_is_recognised_and_any_change_is_detected);
    tcase_add_test(t, texts_that_are_missing_or_empty_are_refused);
    tcase_add_test(t, a_text_that_is_validated_on_as_well_causes_a_warning);
    tcase_add_test(t, a_text_that_resembles_another_format_is_read_as_text);
    t = group(s, "batches");
    tcase_add_test(t, a_batch_depends_on_its_seed_and_number_alone);
    tcase_add_test(t, a_smaller_batch_is_the_beginning_of_a_larger_one);
    tcase_add_test(t, an_epoch_has_every_window_once_in_an_order_of_its_own);
    tcase_add_test(t, a_text_of_one_window_is_shuffled_too);
    tcase_add_test(t, a_target_is_the_next_byte);
    tcase_add_test(t, windows_start_everywhere_equally_and_end_with_the_text);
    tcase_add_test(t, windows_side_by_side_tile_the_text);
    tcase_add_test(t, the_floor_of_stories_is_their_entropy);
    tcase_add_test(t, validation_stories_are_not_trained_on);
    tcase_add_test(t, stories_depend_on_their_seed);
    return s;
}
