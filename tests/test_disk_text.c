/* Texts that stay on disk give the same corpus, tokens and batches as in memory. */
#include "data/corpus.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 3, B = 3, T = 5000 };

/* Files of the folder, in memory or on disk. */
typedef struct {
    char path[FILES + 1][400];
    const char *at[FILES];
    CorpusFiles files;
} Texts;

static void put_pattern(const char *path, size_t n)
{
    unsigned char *at = xmalloc(n);

    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(i * i / 7 + n);
    put(path, at, n);
    free(at);
}

/* Files of that many bytes, and one more to validate on if `validation` is not 0. */
static void put_texts(Texts *x, const size_t bytes[FILES], size_t validation)
{
    x->files = (CorpusFiles){ .path = x->at, .held_back = 0.3, .may_stay = true };
    for (int i = 0; i <= FILES; i++) {
        const size_t n = i < FILES ? bytes[i] : validation;

        strcpy(x->path[i], in_folder(text_format("text%d", i).at));
        if (n == 0)
            continue;
        put_pattern(x->path[i], n);
        if (i < FILES)
            x->at[x->files.n++] = x->path[i];
        else
            x->files.validation_path = x->path[i];
    }
}

static void check_same_batches(Tokens here, Tokens there)
{
    static int id[2][B * T], target[2][B * T];
    Batch batch[2];

    ck_assert_uint_eq(here.n, there.n);
    ck_assert_uint_eq(here.bytes, there.bytes);
    ck_assert_ptr_null(there.at);
    for (int i = 0; i < 2; i++)
        batch[i] = (Batch){ .B = B, .T = T, .id = id[i], .target = target[i] };
    for (uint64_t number = 0; number < 9; number++) {
        const size_t k = number % tokens_windows(here, T);

        memset(id, 0, sizeof id), memset(target, 0, sizeof target);
        if (number % 3 == 0)
            tokens_batch(here, 5, number, batch[0]), tokens_batch(there, 5, number, batch[1]);
        else if (number % 3 == 1)
            tokens_shuffled(here, 5, number, batch[0]), tokens_shuffled(there, 5, number, batch[1]);
        else
            tokens_window(here, k, batch_row(batch[0], 1)),
                tokens_window(there, k, batch_row(batch[1], 1));
        ck_assert_mem_eq(id[0], id[1], sizeof *id);
        ck_assert_mem_eq(target[0], target[1], sizeof *target);
    }
}

static void check_same_tokens(const Corpus *in_memory, const Corpus *on_disk)
{
    Tokenizer *t = tokenizer_learn("byte", in_memory->train);
    Tokens here[2], there[2];

    for (int part = 0; part < 2; part++) {
        here[part] = corpus_tokens(in_memory, part ? &in_memory->validation : &in_memory->train, t);
        there[part] = corpus_tokens(on_disk, part ? &on_disk->validation : &on_disk->train, t);
        check_same_batches(here[part], there[part]);
        Tokens read = tokens_into_memory(there[part]);
        ck_assert_uint_eq(read.n, here[part].n);
        ck_assert_mem_eq(read.at, here[part].at, read.n * sizeof *read.at);
        tokens_free(&read), tokens_free(&here[part]), tokens_free(&there[part]);
    }
    tokenizer_free(t);
}

static void check_same(const size_t bytes[FILES], size_t validation)
{
    Texts x = { .path = { "" } };

    put_texts(&x, bytes, validation);
    Corpus in_memory = corpus_read(x.files);
    ck_assert_ptr_null(in_memory.disk);
    x.files.most = in_memory.train.n + in_memory.validation.n - 1;
    Corpus on_disk = corpus_read(x.files);
    ck_assert_ptr_nonnull(on_disk.disk);
    ck_assert_ptr_null(on_disk.train.at);
    ck_assert_uint_eq(on_disk.hash, in_memory.hash);
    ck_assert_uint_eq(on_disk.train.n, in_memory.train.n);
    ck_assert_uint_eq(on_disk.validation.n, in_memory.validation.n);
    ck_assert_int_eq(on_disk.files, in_memory.files);
    for (int i = 0; i < on_disk.files; i++) {
        ck_assert_str_eq(on_disk.file[i].path, in_memory.file[i].path);
        ck_assert_uint_eq(on_disk.file[i].bytes, in_memory.file[i].bytes);
        ck_assert_uint_eq(on_disk.file[i].hash, in_memory.file[i].hash);
    }
    check_same_tokens(&in_memory, &on_disk);
    corpus_free(&in_memory), corpus_free(&on_disk);
    files(true);
}

START_TEST(a_text_on_disk_is_the_same_corpus)
{
    check_same((const size_t[]){ 50000, 0, 0 }, 0);
    check_same((const size_t[]){ 20011, 3, 17000 }, 0);
    check_same((const size_t[]){ 70000, 30000, 0 }, 0); /* the parts are the files */
    check_same((const size_t[]){ 20011, 17001, 0 }, 16001);
    check_same((const size_t[]){ 2500013, 1, 300 }, 0); /* pieces of a hash */
}
END_TEST

START_TEST(a_text_on_disk_is_cut_between_characters)
{
    static const char text[] =
        "\xf0\x9f\x98\x80\xe7\xba\xa2z\xe6\xa5\xbc\xf0\x9f\x98\x80\xf0\x9f\x98\x80";
    const char *const path = in_folder("utf8");
    CorpusFiles files_of = { .path = &path, .n = 1, .may_stay = true };

    put(path, text, sizeof text - 1);
    for (size_t held = 1; held < sizeof text - 1; held++) {
        files_of.held_back = ((double)held + 0.5) / (sizeof text - 1);
        files_of.most = 0;
        Corpus in_memory = corpus_read(files_of);
        files_of.most = 3;
        Corpus on_disk = corpus_read(files_of);
        ck_assert_uint_eq(on_disk.train.n, in_memory.train.n);
        ck_assert_uint_eq(on_disk.hash, in_memory.hash);
        corpus_free(&in_memory), corpus_free(&on_disk);
    }
}
END_TEST

START_TEST(texts_of_bytes_that_are_too_large_stay_on_disk)
{
    const char *const path = in_folder("a");
    CorpusFiles files_of = { .path = &path, .n = 1, .held_back = 0.5, .may_stay = true };

    put_pattern(path, 1000);
    for (size_t most = 999; most <= 1001; most++)
        for (int may = 0; may < 2; may++) {
            files_of.most = most, files_of.may_stay = may;
            Corpus c = corpus_read(files_of);
            ck_assert_int_eq(c.disk != NULL, may && most < 1000);
            corpus_free(&c);
        }
    for (size_t most = 15; most <= 16; most++) { /* 64 times as many are too many */
        files_of.most = most, files_of.may_stay = true;
        Corpus c = corpus_read(files_of);
        ck_assert_int_eq(c.disk != NULL, most == 16);
        corpus_free(&c);
    }
}
END_TEST

static Corpus on_disk(const char *path)
{
    return corpus_read(
        (CorpusFiles){ .path = &path, .n = 1, .held_back = 0.5, .may_stay = true, .most = 100 });
}

static void read_a_byte(const Corpus *c)
{
    unsigned char byte;

    disk_text_read(c->disk, 700, 1, &byte);
    exit(EXIT_SUCCESS);
}

static void read_unchanged(const char *path)
{
    leaks_are_expected();
    put_pattern(path, 1000);
    Corpus c = on_disk(path);
    unlink(path); /* it stays open */
    read_a_byte(&c);
}

static void read_cut(const char *path)
{
    leaks_are_expected();
    put_pattern(path, 1000);
    Corpus c = on_disk(path);
    if (truncate(path, 500))
        exit(EXIT_SUCCESS);
    read_a_byte(&c);
}

static void read_touched(const char *path)
{
    leaks_are_expected();
    put_pattern(path, 1000);
    Corpus c = on_disk(path);
    const struct timespec then[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };
    if (utimensat(AT_FDCWD, path, then, 0))
        exit(EXIT_SUCCESS);
    read_a_byte(&c);
}

static void read_nothing(const char *path)
{
    leaks_are_expected();
    put_pattern(path, 1000);
    const char *const both[] = { in_folder("empty"), path };
    put(both[0], "", 0);
    corpus_read((CorpusFiles){ .path = both, .n = 2, .may_stay = true, .most = 100 });
    exit(EXIT_SUCCESS);
}

START_TEST(a_text_on_disk_must_not_change)
{
    ck_assert_int_eq(exit_code_of(read_unchanged, in_folder("text")), EXIT_SUCCESS);
    ck_assert_int_eq(exit_code_of(read_cut, in_folder("text")), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "text has changed while it was in use"));
    ck_assert_int_eq(exit_code_of(read_touched, in_folder("text")), EXIT_IO);
    ck_assert_ptr_nonnull(strstr(said, "text has changed while it was in use"));
    ck_assert_int_eq(exit_code_of(read_nothing, in_folder("text")), EXIT_DATA);
    ck_assert_ptr_nonnull(strstr(said, "is empty"));
}
END_TEST

static void read_all_of_it(const char *path)
{
    (void)path;
    tokens_into_memory((Tokens){ .n = (size_t)-1 / 2 });
}

START_TEST(more_tokens_than_fit_into_memory_are_not_read)
{
    check_dies(read_all_of_it, "", EXIT_DATA, "use fewer of its tokens (--max-tokens ");
    ck_assert_uint_eq(tokens_windows((Tokens){ .n = 0 }, 8), 0);
    ck_assert_uint_eq(tokens_windows((Tokens){ .n = 8 }, 8), 0);
    ck_assert_uint_eq(tokens_windows((Tokens){ .n = 9 }, 8), 1);
}
END_TEST

Suite *suite_disk_text(void)
{
    Suite *s = suite_create("disk_text");
    TCase *t = with_folder(s, "disk_text");

    tcase_add_test(t, a_text_on_disk_is_the_same_corpus);
    tcase_add_test(t, a_text_on_disk_is_cut_between_characters);
    tcase_add_test(t, texts_of_bytes_that_are_too_large_stay_on_disk);
    tcase_add_test(t, a_text_on_disk_must_not_change);
    tcase_add_test(t, more_tokens_than_fit_into_memory_are_not_read);
    return s;
}
