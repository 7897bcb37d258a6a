/* Tensors in files: what is written is read back, and nothing else is. Headers: test_headers.c. */
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tensors.h"
#include "tests/tests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example of the format's description. */
#define GOLDEN_HEADER                                                                              \
    "{\"__metadata__\":{\"format\":\"pt\"},"                                                       \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"                           \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}} "
static const char golden[] = "\x90\0\0\0\0\0\0\0" GOLDEN_HEADER
                             "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40"
                             "\0\0\x80\xbf\0\0\x80\x3f";
enum { GOLDEN = sizeof golden - 1, GOLDEN_DATA = 8 + sizeof GOLDEN_HEADER - 1 };

static const float golden_a[] = { 0, 1, 2, 3, 4, 5 }, golden_b[] = { -1, 1 };
static const Entry golden_entry[] = {
    { "b", DTYPE_F32, 1, { 2 }, golden_b, sizeof golden_b },
    { "a", DTYPE_F32, 2, { 2, 3 }, golden_a, sizeof golden_a },
};

static void write_golden(const char *path)
{
    safetensors_write(path, (Contents){ .entry = golden_entry, .entries = 2 });
}

START_TEST(the_golden_file_is_written_to_the_byte)
{
    char path[400];

    strcpy(path, in_folder("golden.safetensors"));
    write_golden(path);
    check_file(path, golden, GOLDEN);
    write_golden(path);
    check_file(path, golden, GOLDEN);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

static const char odd[] =
    "quote \" slash / back \\ tab \t line \n \x01\x1f\x7f \xc3\xa9 \xe2\x82\xac "
    "\xf0\x9f\x98\x80 {[:,]}";

static void check_entry(const Safetensors *s, const Entry *want)
{
    const Entry *e = safetensors_find(s, want->name);

    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->dtype, want->dtype);
    ck_assert_int_eq(e->ndim, want->ndim);
    for (int d = 0; d < e->ndim; d++)
        ck_assert_uint_eq(e->dim[d], want->dim[d]);
    ck_assert_uint_eq(e->bytes, want->bytes);
    ck_assert_mem_eq(e->data, want->data, e->bytes);
}

START_TEST(written_files_are_read_back)
{
    static const unsigned char u8[3] = { 1, 2, 255 };
    static const int32_t i32 = -5;
    static const double f64[2] = { 1e300, -0.0 };
    static const int64_t i64[2] = { INT64_MIN, 7 };
    static const float f32[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const Entry entry[] = {
        { "layers.10.w", DTYPE_F32, 8, { 1, 2, 1, 2, 1, 2, 1, 1 }, f32, sizeof f32 },
        { "layers.2.w", DTYPE_F32, 1, { 8 }, f32, sizeof f32 },
        { odd, DTYPE_U8, 1, { 3 }, u8, sizeof u8 },
        { "\xf0\x9f\x98\x80", DTYPE_I32, 0, { 0 }, &i32, sizeof i32 },
        { "z", DTYPE_F64, 2, { 2, 1 }, f64, sizeof f64 },
        { "__metadata", DTYPE_I64, 1, { 2 }, i64, sizeof i64 },
    };
    static const Meta meta[] = { { "attnc.config", "{\"layers\":2}" }, { odd, odd }, { "e", "" } };
    char path[400];

    strcpy(path, in_folder("round"));
    safetensors_write(path, (Contents){ entry, COUNT(entry), meta, COUNT(meta), NULL });
    Safetensors *s = safetensors_read(path);
    ck_assert_int_eq(s->entries, COUNT(entry));
    ck_assert_int_eq(s->metas, COUNT(meta) + 1);
    for (int i = 0; i < COUNT(entry); i++)
        check_entry(s, &entry[i]);
    for (int i = 0; i < COUNT(meta); i++)
        ck_assert_str_eq(safetensors_meta(s, meta[i].key), meta[i].value);
    ck_assert_str_eq(safetensors_meta(s, "format"), "pt");
    ck_assert_ptr_null(safetensors_meta(s, "forma"));
    ck_assert_ptr_null(safetensors_find(s, "layers"));
    ck_assert_uint_eq(
        ((const unsigned char *)safetensors_find(s, "__metadata")->data - s->file) % 8, 0);
    safetensors_free(s);
}
END_TEST

START_TEST(a_file_of_no_tensors_is_valid)
{
    char path[400];

    strcpy(path, in_folder("none"));
    safetensors_write(path, (Contents){ 0 });
    Safetensors *s = safetensors_read(path);
    ck_assert_int_eq(s->entries, 0);
    ck_assert_ptr_null(safetensors_find(s, "a"));
    safetensors_free(s);
    ck_assert(parses("\2\0\0\0\0\0\0\0{}", 10));
}
END_TEST

START_TEST(bytes_that_are_not_utf8_are_written_as_the_replacement_character)
{
    static const Meta meta[] = { { "path", "caf\xe9\xf0\x9f" } };
    char path[400];

    strcpy(path, in_folder("latin"));
    safetensors_write(path, (Contents){ golden_entry, 2, meta, 1, NULL });
    Safetensors *s = safetensors_read(path);
    ck_assert_str_eq(safetensors_meta(s, "path"), "caf\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    safetensors_free(s);
}
END_TEST

static void write_twice_the_same(const char *path)
{
    safetensors_write(
        path, (Contents){ .entry = (Entry[]){ golden_entry[0], golden_entry[0] }, .entries = 2 });
}

static void write_many(const char *path)
{
    Entry *many = xmalloc((ENTRIES_MAX + 1) * sizeof *many);
    char(*name)[12] = xmalloc((ENTRIES_MAX + 1) * sizeof *name);

    for (int i = 0; i <= ENTRIES_MAX; i++) {
        many[i] = golden_entry[0];
        snprintf(name[i], sizeof name[i], "%d", i);
        many[i].name = name[i];
    }
    safetensors_write(path, (Contents){ .entry = many, .entries = ENTRIES_MAX + 1 });
}

static Entry invalid;

static void write_invalid(const char *path)
{
    safetensors_write(path, (Contents){ .entry = &invalid, .entries = 1 });
}

/* With one of its parts another. */
static void check_invalid(const char *name, int ndim, size_t first, size_t bytes)
{
    invalid = golden_entry[0];
    invalid.name = name, invalid.ndim = ndim, invalid.dim[0] = first, invalid.bytes = bytes;
    ck_assert_int_eq(exit_code_of(write_invalid, in_folder("nonsense")), -SIGABRT);
}

static void write_format_again(const char *path)
{
    safetensors_write(path, (Contents){ golden_entry, 2, &(Meta){ "format", "tf" }, 1, NULL });
}

static void write_a_long_header(const char *path)
{
    const size_t n = 100000000 / strlen("\\ufffd"); /* for what is not UTF-8 */
    char *long_value = memset(xmalloc(n + 1), 0xff, n);

    long_value[n] = 0;
    safetensors_write(path, (Contents){ golden_entry, 2, &(Meta){ "text", long_value }, 1, NULL });
}

START_TEST(writing_an_invalid_file_is_a_bug)
{
    const char *path = in_folder("nonsense");
    char name[NAME_MAX_BYTES + 2];

    memset(name, 'n', sizeof name);
    name[NAME_MAX_BYTES + 1] = 0;
    check_invalid("b", 1, 3, 8);
    check_invalid("b", 1, 0, 0);
    check_invalid("b", -1, 2, 8);
    check_invalid("b", ENTRY_RANK_MAX + 1, 2, 8);
    check_invalid("", 1, 2, 8);
    check_invalid(name, 1, 2, 8);
    check_invalid("__metadata__", 1, 2, 8);
    ck_assert_int_eq(exit_code_of(write_twice_the_same, path), -SIGABRT);
    ck_assert_int_eq(exit_code_of(write_many, path), -SIGABRT);
    ck_assert_int_eq(exit_code_of(write_format_again, path), -SIGABRT);
    ck_assert_int_eq(exit_code_of(write_a_long_header, path), -SIGABRT);
    ck_assert_int_eq(files(false), 0);
}
END_TEST

START_TEST(every_truncation_is_rejected)
{
    ck_assert(parses(golden, GOLDEN));
    for (size_t n = 0; n < GOLDEN; n++)
        ck_assert_msg(!parses(golden, n), "the first %zu bytes", n);
}
END_TEST

START_TEST(appended_or_prepended_bytes_are_rejected)
{
    static const size_t more[] = { 1, 8, 4096, GOLDEN };

    for (int i = 0; i < COUNT(more); i++)
        for (int c = 0; c < 256; c += 85) {
            char file[GOLDEN + 4096];

            memset(file, c, sizeof file);
            memcpy(file, golden, GOLDEN);
            ck_assert(!parses(file, GOLDEN + more[i]));
            memset(file, c, sizeof file);
            memcpy(file + more[i], golden, GOLDEN);
            ck_assert(!parses(file, GOLDEN + more[i]));
        }
    char twice[2 * GOLDEN];
    memcpy(twice, golden, GOLDEN);
    memcpy(twice + GOLDEN, golden, GOLDEN);
    ck_assert(!parses(twice, sizeof twice));
}
END_TEST

START_TEST(a_flipped_bit_of_the_header_leaves_it_consistent_or_rejected)
{
    char file[GOLDEN];
    int accepted = 0;

    for (int i = 0; i < 8 * GOLDEN_DATA; i++) {
        memcpy(file, golden, GOLDEN);
        file[i / 8] = (char)(file[i / 8] ^ 1 << i % 8);
        if (parses(file, GOLDEN)) {
            accepted++;
            ck_assert_int_ge(i / 8, 8);
        }
    }
    ck_assert_int_lt(accepted, 8 * GOLDEN_DATA / 4); /* flips inside of names and values */
}
END_TEST

START_TEST(random_changes_never_crash_the_reader)
{
    static const char dictionary[] = "{}[]\",:\\u0019aFeE.+-_ \t\n\x80\xff\0dtypeshape";
    Random r = random_stream(11, RANDOM_TEST, 0);
    char file[GOLDEN + 16];
    uint64_t k = 0;

    for (int round = 0; round < 20000; round++) {
        size_t n = GOLDEN;

        memcpy(file, golden, GOLDEN);
        for (uint64_t changes = 1 + random_below(r, k++, 4); changes > 0; changes--) {
            const size_t at = 8 + random_below(r, k++, GOLDEN_DATA - 8);
            const char c = dictionary[random_below(r, k++, sizeof dictionary - 1)];

            if (random_below(r, k++, 3) == 0 && n < sizeof file) {
                memmove(file + at + 1, file + at, n++ - at);
                file[0]++; /* the length of the header, which goes on with the insertion */
            }
            file[at] = c;
        }
        parses(file, n);
    }
}
END_TEST

/* A file of no tensors whose header is `before`, `sign` n times, and `after`. */
static bool parses_many(const char *before, const char *sign, int n, const char *after)
{
    const size_t length = strlen(before) + strlen(sign) * (size_t)n + strlen(after);
    char *file = xmalloc(8 + length + 1), *at = file + 8 + strlen(before);

    for (int i = 0; i < 8; i++)
        file[i] = (char)((uint64_t)length >> 8 * i);
    strcpy(file + 8, before);
    for (int i = 0; i < n; i++, at += strlen(sign))
        strcpy(at, sign);
    strcpy(at, after);
    const bool is_valid = parses(file, 8 + length);
    free(file);
    return is_valid;
}

/* Before its values take many times the memory of the file; those within a string take none. */
START_TEST(a_header_of_too_many_values_is_rejected)
{
    enum { MANY = 100000 };

    ck_assert(!parses_many("{\"a\":[", "1,", MANY, "1]}"));
    ck_assert_ptr_nonnull(strstr(why, "a header with too many values"));
    ck_assert(!parses_many("{\"a\":", "{", MANY + ENTRIES_MAX, ""));
    ck_assert_ptr_nonnull(strstr(why, "tensors"));
    ck_assert(parses_many("{\"__metadata__\":{\"a\":\"", "{,", MANY + ENTRIES_MAX, "\"}}"));
    ck_assert(parses_many("{\"__metadata__\":{\"a\":\"", "\\\",", 2 * MANY, "\"}}"));
    ck_assert(parses_many("{\"__metadata__\":{\"a\":\"", "\\\\", MANY, "\"}}"));
}
END_TEST

START_TEST(a_wrong_header_length_is_rejected)
{
    static const uint64_t length[] = {
        0,
        1,
        7,
        0x8f,
        0x91,
        176,
        177,
        184,
        (uint64_t)1 << 31,
        (uint64_t)1 << 32,
        100000000,
        100000001,
        (uint64_t)1 << 63,
        UINT64_MAX - 7,
        UINT64_MAX - 6,
        UINT64_MAX,
    };
    char file[GOLDEN];

    for (int k = 0; k < COUNT(length); k++) {
        memcpy(file, golden, GOLDEN);
        for (int i = 0; i < 8; i++)
            file[i] = (char)(length[k] >> 8 * i);
        ck_assert_msg(!parses(file, GOLDEN), "length %llu", (unsigned long long)length[k]);
    }
    for (int i = 0; i < 8; i++)
        file[i] = golden[7 - i];
    ck_assert(!parses(file, GOLDEN));
    ck_assert_ptr_nonnull(strstr(why, "big-endian"));
}
END_TEST

static void read_tensors(const char *path)
{
    safetensors_free(safetensors_read(path));
}

START_TEST(other_file_formats_are_named)
{
    static const char *const kind[][2] = {
        { "<!DOCTYPE html><html><body>Not found</body></html>", "web page" },
        { "\n  <HTML lang=en>", "web page" },
        { "version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull" },
        { "GGUF\3", "GGUF" },
        { "PK\3\4 and so on", "zip archive" },
        { "\x80\2}q", "pickle" },
        { "\x93NUMPY\1", "NumPy" },
        { "\x1f\x8b\b", "gzip" },
        { "First Citizen: before we proceed any further", "text" },
        { "tiny", "text" },
        { "", "0 bytes" },
        { "\1\2\3", "not a safetensors" },
    };
    char path[400];

    strcpy(path, in_folder("new\nline"));
    for (int i = 0; i < COUNT(kind); i++) {
        put(path, kind[i][0], strlen(kind[i][0]));
        check_dies(read_tensors, path, EXIT_DATA, kind[i][1]);
        ck_assert_ptr_nonnull(strstr(said, "new?line"));
    }
}
END_TEST

START_TEST(a_tensor_file_that_is_not_there_is_an_io_error)
{
    check_dies(read_tensors, in_folder("missing"), EXIT_IO, "No such file");
    check_dies(read_tensors, folder, EXIT_IO, "is a directory, not a regular file");
}
END_TEST

Suite *suite_safetensors(void)
{
    Suite *s = suite_create("safetensors");
    TCase *t = with_folder(s, "tensors");

    tcase_add_test(t, the_golden_file_is_written_to_the_byte);
    tcase_add_test(t, written_files_are_read_back);
    tcase_add_test(t, a_file_of_no_tensors_is_valid);
    tcase_add_test(t, bytes_that_are_not_utf8_are_written_as_the_replacement_character);
    tcase_add_test(t, writing_an_invalid_file_is_a_bug);
    tcase_add_test(t, every_truncation_is_rejected);
    tcase_add_test(t, appended_or_prepended_bytes_are_rejected);
    tcase_add_test(t, a_flipped_bit_of_the_header_leaves_it_consistent_or_rejected);
    tcase_add_test(t, random_changes_never_crash_the_reader);
    tcase_add_test(t, a_header_of_too_many_values_is_rejected);
    tcase_add_test(t, a_wrong_header_length_is_rejected);
    tcase_add_test(t, other_file_formats_are_named);
    tcase_add_test(t, a_tensor_file_that_is_not_there_is_an_io_error);
    return s;
}
