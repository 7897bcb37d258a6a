/* Files: whole ones in and out (ops/base/file.h), and tensors in them (model/safetensors.h). */
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/utf8.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    safetensors_write(path, golden_entry, 2, NULL, 0);
}

static void check_contents(const char *path, const void *want, size_t bytes)
{
    size_t got;
    unsigned char *file = file_read(path, &got);

    ck_assert_uint_eq(got, bytes);
    ck_assert_mem_eq(file, want, bytes);
    ck_assert_uint_eq(file[got], 0);
    free(file);
}

/* Parses a copy that has not one byte to spare. */
static char why[SAFETENSORS_WHY];

static Safetensors *parse(const void *at, size_t bytes)
{
    unsigned char *copy = xmalloc(bytes);

    memcpy(copy, at, bytes);
    strcpy(why, "nothing");
    return safetensors_parse(copy, bytes, why);
}

/* Valid, and then all that a reader relies on holds; or not valid. */
static bool parses(const void *at, size_t bytes)
{
    Safetensors *s = parse(at, bytes);
    size_t sum = 0;

    if (!s)
        return false;
    for (int i = 0; i < s->entries; i++) {
        const Entry *e = &s->entry[i];
        const unsigned char *data = e->data;
        size_t product = dtype_size(e->dtype);

        ck_assert_int_le(e->ndim, ENTRY_RANK_MAX);
        for (int d = 0; d < e->ndim; d++)
            product *= e->dim[d];
        ck_assert_uint_eq(product, e->bytes);
        ck_assert(data >= s->file + 8 && data + e->bytes <= s->file + bytes);
        ck_assert(i == 0 || strcmp(e[-1].name, e->name) < 0);
        ck_assert_ptr_eq(safetensors_find(s, e->name), e);
        sum += e->bytes;
    }
    ck_assert_uint_lt(sum, bytes);
    safetensors_free(s);
    return true;
}

START_TEST(the_golden_file_is_written_to_the_byte)
{
    char path[400];

    strcpy(path, in_folder("golden.safetensors"));
    write_golden(path);
    check_contents(path, golden, GOLDEN);
    write_golden(path);
    check_contents(path, golden, GOLDEN);
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

START_TEST(what_was_written_is_read_back)
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
    safetensors_write(path, entry, COUNT(entry), meta, COUNT(meta));
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
    safetensors_write(path, NULL, 0, NULL, 0);
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
    safetensors_write(path, golden_entry, 2, meta, 1);
    Safetensors *s = safetensors_read(path);
    ck_assert_str_eq(safetensors_meta(s, "path"), "caf\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    safetensors_free(s);
}
END_TEST

static void write_twice_the_same(const char *path)
{
    safetensors_write(path, (Entry[]){ golden_entry[0], golden_entry[0] }, 2, NULL, 0);
}

static void write_another_size(const char *path)
{
    Entry e = golden_entry[0];

    e.dim[0] = 3;
    safetensors_write(path, &e, 1, NULL, 0);
}

static void write_format_again(const char *path)
{
    safetensors_write(path, golden_entry, 2, &(Meta){ "format", "tf" }, 1);
}

START_TEST(a_program_that_writes_nonsense_is_stopped)
{
    const char *path = in_folder("nonsense");

    ck_assert_int_eq(exit_code_of(write_twice_the_same, path), -SIGABRT);
    ck_assert_int_eq(exit_code_of(write_another_size, path), -SIGABRT);
    ck_assert_int_eq(exit_code_of(write_format_again, path), -SIGABRT);
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

START_TEST(what_is_appended_or_put_in_front_is_rejected)
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

typedef struct {
    const char *header;
    size_t length;
    int data; /* so many bytes follow */
    const char *words;
} Bad;

#define BAD(header, data, words)                                                                   \
    {                                                                                              \
        header, sizeof(header) - 1, data, words                                                    \
    }
#define A(fields) "{\"a\":{" fields "}}"
#define U8 "\"dtype\":\"U8\","
#define F32 "\"dtype\":\"F32\","
#define SHAPE4 "\"shape\":[4],"
#define AT4 "\"data_offsets\":[0,4]"
#define T(name, from, to)                                                                          \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" from "," to "]}"

#define NAME_IS(name, words) BAD("{" T(name, "0", "2") "}", 2, words)
#define DTYPE_IS(dtype, words) BAD(A("\"dtype\":" dtype "," SHAPE4 AT4), 4, words)
#define SHAPE_IS(shape, words) BAD(A(U8 "\"shape\":" shape "," AT4), 4, words)
#define RANGE_IS(range, data, words) BAD(A(U8 SHAPE4 "\"data_offsets\":" range), data, words)
#define META_IS(meta, words) BAD("{\"__metadata__\":" meta "}", 0, words)

static const Bad bad[] = {
    /* what is no JSON */
    BAD("", 4, "no safetensors"),
    BAD("\xef\xbb\xbf" A(U8 SHAPE4 AT4), 4, "no safetensors"),
    BAD(" " A(U8 SHAPE4 AT4), 4, "no safetensors"),
    BAD("[]", 0, "no safetensors"),
    BAD("null", 0, "no safetensors"),
    BAD("{", 0, "no safetensors"),
    BAD("{}x", 0, "no end"),
    BAD("{}\n", 0, "no end"),
    BAD("{}{}", 0, "no end"),
    BAD("{}\0\0", 0, "no end"),
    BAD(A(U8 SHAPE4 AT4) "\0\0\0", 4, "no end"),
    BAD("{1:2}", 0, "no string"),
    BAD("{a:2}", 0, "no string"),
    BAD("{'a':2}", 0, "no string"),
    BAD("{\"a\"}", 0, "no ':'"),
    BAD("{\"a\":}", 0, "no '{'"),
    BAD("{\"a\":1}", 0, "no '{'"),
    BAD("{\"a\":null}", 0, "no '{'"),
    BAD("{\"a\":[]}", 0, "no '{'"),
    BAD("{\"a\":{\"a\":{}}}", 0, "unknown field"),
    BAD("{\"1\":1,", 0, "no '{'"),
    BAD("{" T("a", "0", "2") ",}", 2, "no string"),
    BAD("{," T("a", "0", "2") "}", 2, "no string"),
    BAD("{" T("a", "0", "2") T("b", "2", "4") "}", 4, "no ','"),
    BAD("{" T("a", "0", "2") "/**/}", 2, "no ','"),
    BAD("{//\n" T("a", "0", "2") "}", 2, "no string"),
    BAD("{" T("a", "0", "2"), 2, "no ','"),
    BAD("{" T("a", "0", "2") "]", 2, "no ','"),
    /* strings */
    BAD("{\"a", 0, "no end of the string"),
    BAD("{\"a\\", 0, "no known escape"),
    BAD("{\"a\\\"", 0, "no end of the string"),
    NAME_IS("", "no name of 1"),
    NAME_IS("\\x", "no known escape"),
    NAME_IS("\\'", "no known escape"),
    NAME_IS("\\\0", "no known escape"),
    NAME_IS("\\u00", "no hexadecimal"),
    NAME_IS("\\u00g0", "no hexadecimal"),
    NAME_IS("\\u00\x10\x11", "no hexadecimal"),
    BAD("{\"\\u00", 0, "no known escape"),
    NAME_IS("\\u0000", "no character"),
    NAME_IS("\\ud800", "no character"),
    NAME_IS("\\udc00", "no character"),
    NAME_IS("\\ud800\\u0041", "no character"),
    NAME_IS("\\ud800\\n", "no known escape"),
    NAME_IS("\\udc00\\ud800", "no character"),
    NAME_IS("\xff", "no UTF-8"),
    NAME_IS("\xc0\x80", "no UTF-8"),
    NAME_IS("\xe0\x9f\xbf", "no UTF-8"),
    NAME_IS("\xed\xa0\x80", "no UTF-8"),
    NAME_IS("\xf4\x90\x80\x80", "no UTF-8"),
    NAME_IS("\xe2\x82", "no UTF-8"),
    BAD("{\"\xe2\x82", 0, "no UTF-8"),
    NAME_IS("a\nb", "no UTF-8 without control"),
    NAME_IS("a\0b", "no UTF-8 without control"),
    /* the three fields */
    BAD(A(""), 0, "without its"),
    BAD(A(U8 "\"shape\":[4]"), 4, "without its"),
    BAD(A(U8 AT4), 4, "without its"),
    BAD(A(SHAPE4 AT4), 4, "without its"),
    BAD(A(U8 SHAPE4 AT4 ",\"x\":1"), 4, "unknown field x"),
    BAD(A(U8 SHAPE4 AT4 ",\"Shape\":[4]"), 4, "unknown field Shape"),
    BAD(A(U8 U8 SHAPE4 AT4), 4, "two fields dtype"),
    BAD(A(U8 SHAPE4 SHAPE4 AT4), 4, "two fields shape"),
    BAD(A(U8 SHAPE4 AT4 "," AT4), 4, "two fields data_offsets"),
    BAD(A(U8 SHAPE4 AT4 ",\"d\\u0074ype\":\"U8\""), 4, "two fields dtype"),
    /* types */
    DTYPE_IS("\"u8\"", "a in u8;"),
    DTYPE_IS("\"\"", "a in ;"),
    DTYPE_IS("\"U8 \"", "a in U8 ;"),
    DTYPE_IS("\"F4\"", "a in F4;"),
    BAD(A("\"dtype\":\"BF16\",\"shape\":[2]," AT4), 4, "a in BF16; F32"),
    BAD(A("\"dtype\":\"F16\",\"shape\":[2]," AT4), 4, "a in F16; F32"),
    DTYPE_IS("8", "no string"),
    DTYPE_IS("null", "no string"),
    DTYPE_IS("[\"U8\"]", "no string"),
    /* shapes */
    SHAPE_IS("4", "no '['"),
    SHAPE_IS("[4", "no plain whole"),
    SHAPE_IS("[4,]", "no plain whole"),
    SHAPE_IS("[,4]", "no plain whole"),
    SHAPE_IS("[4 4]", "no ',' or ']'"),
    SHAPE_IS("[\"4\"]", "no plain whole"),
    SHAPE_IS("[[4]]", "no plain whole"),
    SHAPE_IS("[4.0]", "no ',' or ']'"),
    SHAPE_IS("[4e0]", "no ',' or ']'"),
    SHAPE_IS("[0x4]", "no ',' or ']'"),
    SHAPE_IS("[04]", "no plain whole"),
    SHAPE_IS("[+4]", "no plain whole"),
    SHAPE_IS("[-4]", "no plain whole"),
    SHAPE_IS("[-1,-4]", "no plain whole"),
    SHAPE_IS("[NaN]", "no plain whole"),
    SHAPE_IS("[1,1,1,1,1,1,1,1,4]", "more than 8"),
    SHAPE_IS("[9007199254740993]", "no plain whole number up to 2^53"),
    SHAPE_IS("[18446744073709551620]", "no plain whole number up to 2^53"),
    SHAPE_IS("[4294967296,4294967296]", "too large"),
    SHAPE_IS("[4194305,4194305,211106198978564]", "too large"),
    BAD(A(F32 "\"shape\":[4611686018427387904]," AT4), 4, "no plain whole number up to 2^53"),
    BAD(A(F32 "\"shape\":[2147483648,2147483649]," AT4), 4, "too large"),
    BAD(A(U8 "\"shape\":[4294967296,4294967296,0],"
             "\"data_offsets\":[0,0]"),
        0, "too large"),
    BAD(A(U8 "\"shape\":[0],"
             "\"data_offsets\":[0,0]"),
        0, "empty tensor a"),
    BAD(A(U8 "\"shape\":[0,4294967296,4294967296],"
             "\"data_offsets\":[0,0]"),
        0, "empty tensor a"),
    SHAPE_IS("[5]", "4 bytes with a shape for 5"),
    BAD(A(F32 "\"shape\":[4]," AT4), 4, "4 bytes with a shape for 16"),
    SHAPE_IS("[]", "4 bytes with a shape for 1"),
    /* ranges */
    RANGE_IS("4", 4, "no '['"),
    RANGE_IS("[]", 4, "not two offsets"),
    RANGE_IS("[4]", 4, "not two offsets"),
    RANGE_IS("[0,4,4]", 4, "more than 2"),
    RANGE_IS("[0,4.0]", 4, "no ',' or ']'"),
    RANGE_IS("[0,0.4e1]", 4, "no ',' or ']'"),
    RANGE_IS("[\"0\",\"4\"]", 4, "no plain whole"),
    RANGE_IS("[-4,0]", 4, "no plain whole"),
    RANGE_IS("[-0,4]", 4, "no plain whole"),
    RANGE_IS("[4,0]", 4, "4 to 0 of 4"),
    RANGE_IS("[0,4]", 3, "0 to 4 of 3"),
    RANGE_IS("[0,4]", 5, "1 bytes behind"),
    RANGE_IS("[1,5]", 5, "a hole or an overlap at tensor a"),
    RANGE_IS("[0,18446744073709551616]", 4, "no plain whole"),
    RANGE_IS("[9007199254740988,9007199254740992]", 4, "of 4 bytes"),
    BAD("{" T("a", "0", "2") "," T("b", "1", "3") "}", 3, "overlap at tensor b"),
    BAD("{" T("a", "0", "2") "," T("b", "0", "2") "}", 2, "overlap at tensor"),
    BAD("{" T("a", "0", "2") "," T("b", "3", "5") "}", 5, "hole or an overlap at tensor b"),
    BAD("{" T("b", "3", "5") "," T("a", "0", "2") "}", 5, "hole or an overlap at tensor b"),
    BAD("{" T("a", "0", "2") "," T("b", "2", "4") "}", 5, "1 bytes behind"),
    BAD("{}", 1, "1 bytes behind"),
    /* names that come twice, and metadata */
    BAD("{" T("a", "0", "2") "," T("a", "2", "4") "}", 4, "has two a"),
    BAD("{" T("a", "0", "2") "," T("b", "2", "4") "," T("a", "4", "6") "}", 6, "has two a"),
    BAD("{" T("a", "0", "2") "," T("\\u0061", "2", "4") "}", 4, "has two a"),
    BAD("{" T("\xc3\xa9", "0", "2") "," T("\\u00E9", "2", "4") "}", 4, "has two"),
    META_IS("{},\"__metadata__\":{}", "two __metadata__"),
    META_IS("{},\"\\u005f_metadata__\":{}", "two __metadata__"),
    META_IS("{\"x\":\"1\",\"y\":\"2\",\"x\":\"1\"}", "has two x"),
    META_IS("{\"x\":\"1\",\"\\u0078\":\"2\"}", "has two x"),
    META_IS("{\"x\":1}", "no string"),
    META_IS("{\"x\":{}}", "no string"),
    META_IS("{\"x\":null}", "no string"),
    META_IS("{\"\":\"x\"}", "no name of 1"),
    META_IS("[]", "no '{'"),
    META_IS("\"pt\"", "no '{'"),
    META_IS("null", "no '{'"),
};

/* A file of that header and so many bytes of data; the caller's to free. */
static unsigned char *file_of(const char *header, size_t length, size_t data, size_t *bytes)
{
    unsigned char *file = xmalloc(*bytes = 8 + length + data);

    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> 8 * i);
    memcpy(file + 8, header, length);
    memset(file + 8 + length, 1, data);
    return file;
}

START_TEST(bad_headers_are_rejected_and_the_cause_is_named)
{
    for (int i = 0; i < COUNT(bad); i++) {
        size_t bytes;
        unsigned char *file = file_of(bad[i].header, bad[i].length, (size_t)bad[i].data, &bytes);

        ck_assert_msg(!parses(file, bytes), "row %d: %s", i, bad[i].header);
        ck_assert_msg(strstr(why, bad[i].words) != NULL, "row %d: %s: %s", i, bad[i].header, why);
        free(file);
    }
}
END_TEST

START_TEST(good_headers_of_other_hands_are_read)
{
    static const Bad good[] = {
        BAD(A(U8 SHAPE4 AT4), 4, "a"),
        BAD(A(AT4 "," U8 "\"shape\":[4]"), 4, "a"),
        BAD("{ \"a\" : { " U8 "\n\t\"shape\" : [ 2 , 2 ] ,\r\n \"data_offsets\":[ 0 , 4 ] } }  ", 4,
            "a"),
        BAD(A("\"dtype\":\"I32\",\"shape\":[]," AT4), 4, "a"),
        BAD(A(U8 "\"shape\":[1,1,1,1,1,1,1,4]," AT4), 4, "a"),
        BAD("{" T("b", "2", "4") "," T("a", "0", "2") ",\"__metadata__\":{}}", 4, "b"),
        BAD("{" T("\\ud83d\\ude00\\u00e9\\/\\\"", "0", "2") "}", 2, "\xf0\x9f\x98\x80\xc3\xa9/\""),
    };

    for (int i = 0; i < COUNT(good); i++) {
        size_t bytes;
        unsigned char *file = file_of(good[i].header, good[i].length, (size_t)good[i].data, &bytes);

        ck_assert_msg(parses(file, bytes), "row %d: %s", i, why);
        Safetensors *s = parse(file, bytes);
        ck_assert_ptr_nonnull(safetensors_find(s, good[i].words));
        safetensors_free(s);
        free(file);
    }
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

/* Seconds that parsing takes for n times `format`, filled with i, i and i + 1. */
static double seconds_for(int n, const char *start, const char *format, bool valid)
{
    char *header = NULL;
    size_t length, bytes;
    FILE *to = open_memstream(&header, &length);

    fputs(start, to);
    for (int i = 0; i < n; i++) {
        char piece[200];

        snprintf(piece, sizeof piece, "%s", format);
        for (char *c = piece; *c; c++)
            if (*c == '#')
                fprintf(to, "%d", i);
            else if (*c == '$')
                fprintf(to, "%d", i + 1);
            else if (*c != ',' || c[1] || i < n - 1)
                putc(*c, to);
    }
    putc('}', to);
    fclose(to);
    unsigned char *file = file_of(header, length, (size_t)n, &bytes);
    const clock_t before = clock();
    Safetensors *s = safetensors_parse(file, bytes, why);
    const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    ck_assert_msg((s != NULL) == valid, "%s", why);
    if (s)
        safetensors_free(s);
    free(header);
    return seconds;
}

/*
 * Eight times as much takes less than thirty times as long, where a square would take 64 times:
 * how fast the machine is does not matter. Three tries, as it may be busy.
 */
static bool grows_slowly(int n, const char *start, const char *format, bool valid)
{
    static const double unseen = 0.02; /* seconds */

    for (int try = 0; try < 3; try++) {
        double small = seconds_for(n / 8, start, format, valid);

        if (seconds_for(n, start, format, valid) < 30 * small + unseen)
            return true;
    }
    return false;
}

START_TEST(a_huge_header_takes_no_long_time)
{
    static const char tensor[] = "\"t#\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[#,$]},";
    static const char equal[] = "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[#,$]},";

    ck_assert(grows_slowly(100000, "{", tensor, true));
    ck_assert(grows_slowly(100000, "{", equal, false));
    ck_assert(grows_slowly(1200000, "{", tensor, false));
    ck_assert(grows_slowly(100000, "{", "{\"a\":", false));
    ck_assert(grows_slowly(100000, "{\"a\":", "{\"dtype\":", false));
    ck_assert(grows_slowly(100000, "{\"a\":{\"shape\":", "[", false));
    ck_assert(grows_slowly(100000, "{\"a\":{\"shape\":[", "1,", false));
    ck_assert(grows_slowly(1000000, "{\"", "x", false));
    ck_assert(grows_slowly(1000000, "{\"__metadata__\":{", "\"#\":\"\",", false));
}
END_TEST

START_TEST(names_have_at_most_1024_bytes)
{
    char header[1300], name[NAME_MAX_BYTES + 2];

    for (size_t n = NAME_MAX_BYTES; n <= NAME_MAX_BYTES + 1; n++) {
        size_t bytes;

        memset(name, 'n', n);
        name[n] = 0;
        snprintf(header, sizeof header, "{\"%s\":{" U8 SHAPE4 AT4 "}}", name);
        unsigned char *file = file_of(header, strlen(header), 4, &bytes);
        ck_assert(parses(file, bytes) == (n == NAME_MAX_BYTES));
        free(file);
    }
}
END_TEST

static void read_tensors(const char *path)
{
    safetensors_free(safetensors_read(path));
}

static void read_whole(const char *path)
{
    size_t bytes;

    free(file_read(path, &bytes));
}

START_TEST(a_file_of_another_kind_is_called_by_its_name)
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
        { "\1\2\3", "no safetensors" },
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

START_TEST(what_is_no_regular_file_is_refused_at_once)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[400];
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    check_dies(read_whole, "", EXIT_IO, "cannot open ''");
    check_dies(read_whole, in_folder("missing"), EXIT_IO, "No such file");
    check_dies(read_whole, folder, EXIT_IO, "is a directory, not a regular file");
    check_dies(read_whole, "/dev/zero", EXIT_IO, "is a device");
    ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
    check_dies(read_whole, in_folder("fifo"), EXIT_IO, "is a FIFO");
    strcpy(path, in_folder("socket"));
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    check_dies(read_whole, path, EXIT_IO, "is a socket");
    close(fd);
    strcpy(path, in_folder("loop"));
    ck_assert_int_eq(symlink(path, path), 0);
    check_dies(read_whole, path, EXIT_IO, "cannot open");
}
END_TEST

START_TEST(a_file_larger_than_half_of_memory_is_refused_with_the_figure)
{
    char path[400];

    strcpy(path, in_folder("sparse"));
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    const int made = ftruncate(fd, (off_t)1 << 42);
    close(fd);
    if (made == 0)
        check_dies(read_whole, path, EXIT_DATA, "4398.0 GB");
}
END_TEST

START_TEST(a_file_is_read_whole)
{
    static const size_t size[] = { 0, 1, 65535, 65536, 65537, 3000000 };
    char path[400], *text = xmalloc(3000000);

    for (int i = 0; i < 3000000; i++)
        text[i] = (char)(i * 31 % 251);
    strcpy(path, in_folder("whole"));
    for (int i = 0; i < COUNT(size); i++) {
        put(path, text, size[i]);
        check_contents(path, text, size[i]);
    }
    free(text);
}
END_TEST

START_TEST(a_file_that_tells_no_size_is_read_to_its_end)
{
    size_t bytes;

    if (access("/proc/self/maps", R_OK) == 0) {
        unsigned char *maps = file_read("/proc/self/maps", &bytes);

        ck_assert_uint_gt(bytes, 100);
        ck_assert_uint_eq(maps[bytes - 1], '\n');
        free(maps);
    }
}
END_TEST

/* Reads a pipe that gives a byte at a time and sometimes nothing yet. */
START_TEST(standard_input_is_read_to_its_end)
{
    int pipes[2], status;
    size_t bytes;

    fflush(NULL);
    ck_assert_int_eq(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[0], STDIN_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        unsigned char *got = file_read("-", &bytes);
        bool same = bytes == 100000;
        for (size_t i = 0; same && i < bytes; i++)
            same = got[i] == (unsigned char)(i % 251);
        free(got);
        _exit(!same);
    }
    close(pipes[0]);
    for (int i = 0; i < 100000; i++) {
        unsigned char c = (unsigned char)(i % 251);

        if (i % 10000 == 0)
            poll(NULL, 0, 2);
        ck_assert_int_eq(write(pipes[1], &c, 1), 1);
    }
    close(pipes[1]);
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

START_TEST(a_file_may_shrink_and_grow_while_it_is_read)
{
    char path[400], *text = xmalloc(1 << 20);

    memset(text, 'x', 1 << 20);
    strcpy(path, in_folder("alive"));
    put(path, text, 1 << 20);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(path, O_WRONLY);

        for (unsigned i = 0; i < 1000000; i++)
            if (ftruncate(fd, (off_t)(i * 7919 % (2 << 20))))
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 100; i++) {
        size_t bytes;
        unsigned char *got = file_read(path, &bytes);

        ck_assert_uint_le(bytes, 2 << 20);
        for (size_t k = 0; k < bytes; k += 1000)
            ck_assert(got[k] == 'x' || got[k] == 0);
        ck_assert_uint_eq(got[bytes], 0);
        free(got);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(text);
}
END_TEST

static rlim_t limit;

static void write_within_a_limit(const char *path)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
    write_golden(path);
}

START_TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    char path[400];

    strcpy(path, in_folder("model"));
    put(path, "old", 3);
    for (limit = 0; limit < GOLDEN; limit++) {
        check_dies(write_within_a_limit, path, EXIT_IO, "untouched");
        check_contents(path, "old", 3);
        ck_assert_int_eq(files(false), 1);
    }
    ck_assert_int_eq(exit_code_of(write_within_a_limit, path), 0);
    check_contents(path, golden, GOLDEN);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

START_TEST(where_no_file_can_be_the_write_says_so)
{
    char path[400];

    check_dies(write_golden, in_folder("no/model"), EXIT_IO, "No such file");
    check_dies(write_golden, in_folder("model/"), EXIT_IO, "names no file");
    check_dies(write_golden, folder, EXIT_IO, "is a directory");
    check_dies(write_golden, "", EXIT_IO, "names no file");
    check_dies(write_golden, "/dev/full", EXIT_IO, "is a device");
    put(in_folder("file"), "old", 3);
    check_dies(write_golden, in_folder("file/model"), EXIT_IO, "Not a directory");
    memset(path, 'n', 300);
    path[300] = 0;
    check_dies(write_golden, path, EXIT_IO, "name");
    ck_assert_int_eq(files(false), 1);
}
END_TEST

START_TEST(a_temporary_file_of_a_dead_process_is_no_obstacle)
{
    char name[100];

    snprintf(name, sizeof name, ".model.%ld.tmp", (long)getpid());
    put(in_folder(name), "torn", 4);
    write_golden(in_folder("model"));
    check_contents(in_folder("model"), golden, GOLDEN);
    ck_assert_int_eq(files(false), 1);
}
END_TEST

START_TEST(a_symbolic_link_is_replaced_and_its_target_kept)
{
    char target[400];

    strcpy(target, in_folder("target"));
    put(target, "old", 3);
    ck_assert_int_eq(symlink(target, in_folder("link")), 0);
    write_golden(in_folder("link"));
    check_contents(target, "old", 3);
    check_contents(in_folder("link"), golden, GOLDEN);
}
END_TEST

START_TEST(every_character_survives_utf8)
{
    unsigned char at[4];
    uint32_t back;

    for (uint32_t code = 0; code <= 0x110000; code++) {
        const int length = utf8_encode(at, code);
        const bool valid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);

        ck_assert_int_eq(utf8_decode(at, (size_t)length, &back), valid ? length : 0);
        ck_assert(!valid || back == code);
        ck_assert(length == 1 || utf8_decode(at, (size_t)length - 1, &back) == 0);
    }
}
END_TEST

Suite *suite_safetensors(void)
{
    Suite *s = suite_create("safetensors");
    TCase *t = with_folder(s, "tensors");

    tcase_add_test(t, the_golden_file_is_written_to_the_byte);
    tcase_add_test(t, what_was_written_is_read_back);
    tcase_add_test(t, a_file_of_no_tensors_is_valid);
    tcase_add_test(t, bytes_that_are_not_utf8_are_written_as_the_replacement_character);
    tcase_add_test(t, a_program_that_writes_nonsense_is_stopped);
    tcase_add_test(t, every_truncation_is_rejected);
    tcase_add_test(t, what_is_appended_or_put_in_front_is_rejected);
    tcase_add_test(t, a_flipped_bit_of_the_header_leaves_it_consistent_or_rejected);
    tcase_add_test(t, random_changes_never_crash_the_reader);
    tcase_add_test(t, bad_headers_are_rejected_and_the_cause_is_named);
    tcase_add_test(t, good_headers_of_other_hands_are_read);
    tcase_add_test(t, a_wrong_header_length_is_rejected);
    tcase_add_test(t, a_huge_header_takes_no_long_time);
    tcase_add_test(t, names_have_at_most_1024_bytes);
    tcase_add_test(t, a_file_of_another_kind_is_called_by_its_name);
    tcase_add_test(t, a_tensor_file_that_is_not_there_is_an_io_error);
    t = with_folder(s, "files");
    tcase_add_test(t, what_is_no_regular_file_is_refused_at_once);
    tcase_add_test(t, a_file_larger_than_half_of_memory_is_refused_with_the_figure);
    tcase_add_test(t, a_file_is_read_whole);
    tcase_add_test(t, a_file_that_tells_no_size_is_read_to_its_end);
    tcase_add_test(t, standard_input_is_read_to_its_end);
    tcase_add_test(t, a_file_may_shrink_and_grow_while_it_is_read);
    tcase_add_test(t, a_failed_write_leaves_the_old_file_and_nothing_else);
    tcase_add_test(t, where_no_file_can_be_the_write_says_so);
    tcase_add_test(t, a_temporary_file_of_a_dead_process_is_no_obstacle);
    tcase_add_test(t, a_symbolic_link_is_replaced_and_its_target_kept);
    tcase_add_test(t, every_character_survives_utf8);
    return s;
}
