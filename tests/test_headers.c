/* Headers of safetensors files: which are valid, the messages for others, and the time taken. */
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tensors.h"
#include "tests/tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *header;
    size_t length;
    int data; /* the number of bytes that follow */
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
    BAD("", 4, "not a safetensors"),
    BAD("\xef\xbb\xbf" A(U8 SHAPE4 AT4), 4, "not a safetensors"),
    BAD(" " A(U8 SHAPE4 AT4), 4, "not a safetensors"),
    BAD("[]", 0, "not a safetensors"),
    BAD("null", 0, "not a safetensors"),
    BAD("{", 0, "not a safetensors"),
    BAD("{}x", 0, "no end"),
    BAD("{}{}", 0, "no end"),
    BAD("{}\0\0", 0, "no end"),
    BAD(A(U8 SHAPE4 AT4) "\0\0\0", 4, "no end"),
    BAD("{1:2}", 0, "no string"),
    BAD("{a:2}", 0, "no string"),
    BAD("{'a':2}", 0, "no string"),
    BAD("{\"a\"}", 0, "no ':'"),
    BAD("{\"a\":}", 0, "no value"),
    BAD("{\"a\":1}", 0, "fields other than"),
    BAD("{\"a\":null}", 0, "fields other than"),
    BAD("{\"a\":[]}", 0, "fields other than"),
    BAD("{\"a\":{\"a\":{}}}", 0, "fields other than"),
    BAD("{\"1\":1,", 0, "no string"),
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
    NAME_IS("", "name that is not 1 to 1024"),
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
    BAD(A(""), 0, "fields other than"),
    BAD(A(U8 "\"shape\":[4]"), 4, "fields other than"),
    BAD(A(U8 AT4), 4, "fields other than"),
    BAD(A(SHAPE4 AT4), 4, "fields other than"),
    BAD(A(U8 SHAPE4 AT4 ",\"x\":1"), 4, "fields other than"),
    BAD(A(U8 SHAPE4 AT4 ",\"Shape\":[4]"), 4, "fields other than"),
    BAD(A(U8 U8 SHAPE4 AT4), 4, "no unique name"),
    BAD(A(U8 SHAPE4 SHAPE4 AT4), 4, "no unique name"),
    BAD(A(U8 SHAPE4 AT4 "," AT4), 4, "no unique name"),
    BAD(A(U8 SHAPE4 AT4 ",\"d\\u0074ype\":\"U8\""), 4, "no unique name"),
    /* types */
    DTYPE_IS("\"u8\"", "a of type 'u8', which"),
    DTYPE_IS("\"\"", "a of type '', which"),
    DTYPE_IS("\"U8 \"", "a of type 'U8 ', which"),
    DTYPE_IS("\"F4\"", "a of type 'F4', which"),
    BAD(A("\"dtype\":\"I16\",\"shape\":[2]," AT4), 4, "a of type 'I16', which is not F16"),
    BAD(A("\"dtype\":\"C64\",\"shape\":[2]," AT4), 4, "a of type 'C64', which is not F16"),
    DTYPE_IS("8", "fields other than"),
    DTYPE_IS("null", "fields other than"),
    DTYPE_IS("[\"U8\"]", "fields other than"),
    /* shapes */
    SHAPE_IS("4", "fields other than"),
    SHAPE_IS("[4", "no ',' or ']'"),
    SHAPE_IS("[4,]", "no value"),
    SHAPE_IS("[,4]", "no value"),
    SHAPE_IS("[4 4]", "no ',' or ']'"),
    SHAPE_IS("[\"4\"]", "not a plain whole"),
    SHAPE_IS("[[4]]", "not a plain whole"),
    SHAPE_IS("[4.5]", "not a plain whole"),
    SHAPE_IS("[4e]", "no digit"),
    SHAPE_IS("[0x4]", "no ',' or ']'"),
    SHAPE_IS("[04]", "no ',' or ']'"),
    SHAPE_IS("[+4]", "no value"),
    SHAPE_IS("[-4]", "not a plain whole"),
    SHAPE_IS("[-1,-4]", "not a plain whole"),
    SHAPE_IS("[NaN]", "no value"),
    SHAPE_IS("[1,1,1,1,1,1,1,1,4]", "more than 8"),
    SHAPE_IS("[4.0]", "not a plain whole number below 2^53"),
    SHAPE_IS("[4e0]", "not a plain whole number below 2^53"),
    SHAPE_IS("[-0]", "not a plain whole number below 2^53"),
    SHAPE_IS("[9007199254740992]", "not a plain whole number below 2^53"),
    SHAPE_IS("[9007199254740993]", "not a plain whole number below 2^53"),
    SHAPE_IS("[18446744073709551620]", "not a plain whole number below 2^53"),
    SHAPE_IS("[4294967296,4294967296]", "impossibly large"),
    SHAPE_IS("[4194305,4194305,211106198978564]", "impossibly large"),
    BAD(A(F32 "\"shape\":[4611686018427387904]," AT4), 4, "not a plain whole number below 2^53"),
    BAD(A(F32 "\"shape\":[2147483648,2147483649]," AT4), 4, "impossibly large"),
    BAD(A(U8 "\"shape\":[4294967296,4294967296,0],"
             "\"data_offsets\":[0,0]"),
        0, "impossibly large"),
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
    RANGE_IS("4", 4, "fields other than"),
    RANGE_IS("[]", 4, "not have exactly two offsets"),
    RANGE_IS("[4]", 4, "not have exactly two offsets"),
    RANGE_IS("[0,4,4]", 4, "not have exactly two offsets"),
    RANGE_IS("[0.5,4]", 4, "not a plain whole"),
    RANGE_IS("[\"0\",\"4\"]", 4, "not a plain whole"),
    RANGE_IS("[-4,0]", 4, "not a plain whole"),
    RANGE_IS("[4,0]", 4, "4 to 0 of 4"),
    RANGE_IS("[0,4]", 3, "0 to 4 of 3"),
    RANGE_IS("[0,4]", 5, "1 bytes after"),
    RANGE_IS("[1,5]", 5, "a hole or an overlap at tensor a"),
    RANGE_IS("[0,18446744073709551616]", 4, "not a plain whole"),
    RANGE_IS("[9007199254740987,9007199254740991]", 4, "of 4 bytes"),
    BAD("{" T("a", "0", "2") "," T("b", "1", "3") "}", 3, "overlap at tensor b"),
    BAD("{" T("a", "0", "2") "," T("b", "0", "2") "}", 2, "overlap at tensor"),
    BAD("{" T("a", "0", "2") "," T("b", "3", "5") "}", 5, "hole or an overlap at tensor b"),
    BAD("{" T("b", "3", "5") "," T("a", "0", "2") "}", 5, "hole or an overlap at tensor b"),
    BAD("{" T("a", "0", "2") "," T("b", "2", "4") "}", 5, "1 bytes after"),
    BAD("{}", 1, "1 bytes after"),
    /* names that come twice, and metadata */
    BAD("{" T("a", "0", "2") "," T("a", "2", "4") "}", 4, "no unique name"),
    BAD("{" T("a", "0", "2") "," T("b", "2", "4") "," T("a", "4", "6") "}", 6, "no unique name"),
    BAD("{" T("a", "0", "2") "," T("\\u0061", "2", "4") "}", 4, "no unique name"),
    BAD("{" T("\xc3\xa9", "0", "2") "," T("\\u00E9", "2", "4") "}", 4, "no unique name"),
    META_IS("{},\"__metadata__\":{}", "no unique name"),
    META_IS("{},\"\\u005f_metadata__\":{}", "no unique name"),
    META_IS("{\"x\":\"1\",\"y\":\"2\",\"x\":\"1\"}", "no unique name"),
    META_IS("{\"x\":\"1\",\"\\u0078\":\"2\"}", "no unique name"),
    META_IS("{\"x\":1}", "no string for x"),
    META_IS("{\"x\":{}}", "no string for x"),
    META_IS("{\"x\":null}", "no string for x"),
    META_IS("{\"\":\"x\"}", "name that is not 1 to 1024"),
    META_IS("[]", "not an object"),
    META_IS("\"pt\"", "not an object"),
    META_IS("null", "not an object"),
};

/* A file of that header and `data` bytes after it; the caller's to free. */
static unsigned char *file_of(const char *header, size_t length, size_t data, size_t *bytes)
{
    unsigned char *file = xmalloc(*bytes = 8 + length + data);

    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> 8 * i);
    memcpy(file + 8, header, length);
    memset(file + 8 + length, 1, data);
    return file;
}

START_TEST(bad_headers_are_rejected_with_the_reason)
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

START_TEST(valid_headers_of_other_writers_are_read)
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

START_TEST(a_huge_header_is_read_quickly)
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

Suite *suite_headers(void)
{
    Suite *s = suite_create("headers");
    TCase *t = with_folder(s, "headers");

    tcase_add_test(t, bad_headers_are_rejected_with_the_reason);
    tcase_add_test(t, valid_headers_of_other_writers_are_read);
    tcase_add_test(t, a_huge_header_is_read_quickly);
    tcase_add_test(t, names_have_at_most_1024_bytes);
    return s;
}
