/* The JSON reader: what it takes, what that says, and what it refuses. */
#include "ops/base/json.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

static Arena *mem;
static Text why;

static void mem_open(void)
{
    mem = arena_new();
}

static void mem_close(void)
{
    arena_free(mem);
}

/* From a block of just that size, so that a sanitizer sees a byte read too many. */
static const Json *read_bytes(const char *text, size_t n)
{
    char *exact = malloc(n ? n : 1);

    memcpy(exact, text, n);
    const Json *j = json_read(mem, exact, n, &why);
    free(exact);
    return j;
}

static const Json *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

/* Strings are known by their bytes, numbers by all their digits, the kinds by their letters. */
static void spell(Text *to, const Json *j)
{
    if (j->name)
        text_add(to, "%s=", j->name);
    if (j->kind == JSON_STRING)
        text_add(to, "'%s'", j->string);
    else if (j->kind == JSON_NUMBER)
        text_add(to, "%s", text_number(j->number).at);
    else if (j->kind == JSON_BOOL || j->kind == JSON_NULL)
        text_add(to, j->kind == JSON_NULL ? "N" : j->number > 0 ? "T" : "F");
    else
        text_add(to, j->kind == JSON_ARRAY ? "%d[" : "%d{", j->count);
    for (const Json *i = j->first; i; i = i->next) {
        spell(to, i);
        text_add(to, i->next ? "," : "");
    }
    if (j->kind == JSON_ARRAY || j->kind == JSON_OBJECT)
        text_add(to, j->kind == JSON_ARRAY ? "]" : "}");
}

static const struct {
    const char *text, *says;
} good[] = {
    { "null", "N" },
    { " true ", "T" },
    { "false", "F" },
    { "[]", "0[]" },
    { "{}", "0{}" },
    { "\t\r\n {\n} \n", "0{}" },
    { "[1,[2,[]],{}]", "3[1,2[2,0[]],0{}]" },
    { "{\"a\":1,\"b\":[true,null],\"\":\"x\"}", "3{a=1,b=2[T,N],='x'}" },
    { "{\"a\":{\"a\":{\"a\":0}}}", "1{a=1{a=1{a=0}}}" },
    { "{\"b\":1,\"a\":2,\"aa\":3}", "3{b=1,a=2,aa=3}" },
    { "\"\"", "''" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t'" },
    { "\"\\u0041\\u00e9\\u20AC\"", "'A\xc3\xa9\xe2\x82\xac'" },
    { "\"\\ud83d\\ude00\"", "'\xf0\x9f\x98\x80'" },
    { "\"\\uDBFF\\uDFFF\"", "'\xf4\x8f\xbf\xbf'" },
    { "\"\xf0\x9f\x98\x80\xc2\x80\x7f\"", "'\xf0\x9f\x98\x80\xc2\x80\x7f'" },
    { "0", "0" },
    { "-0", "-0" },
    { "-1.5e-3", "-0.0015" },
    { "1E+2", "100" },
    { "0.1", "0.1" },
    { "0e0", "0" },
    { "9007199254740993", "9007199254740992" },
    { "1e308", "1e+308" },
    { "5e-324", "5e-324" },
    { "1e-999", "0" },
    { "[1]", "1[1]" },
};

START_TEST(valid_json_is_read)
{
    for (int i = 0; i < COUNT(good); i++) {
        const Json *j = read_text(good[i].text);
        Text says = { 0 };

        ck_assert_msg(j != NULL, "%s %s", good[i].text, why.at);
        spell(&says, j);
        ck_assert_str_eq(says.at, good[i].says);
    }
}
END_TEST

static const char *const bad[] = {
    "",
    " ",
    "nul",
    "nulls",
    "True",
    "NaN",
    "Infinity",
    "-Infinity",
    "-",
    "+1",
    ".5",
    "1.",
    "01",
    "-01",
    "00",
    "1e",
    "1e+",
    "1.e1",
    "0x10",
    "1 2",
    "1,",
    ",1",
    "1e999",
    "-1e309",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1;2]",
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\"=1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1]",
    "[1}",
    "\"",
    "\"a",
    "\"\\\"",
    "'a'",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\U0041\"",
    "\"\t\"",
    "\"\n\"",
    "\"\x01\"",
    "\"\x0f\"",
    "\"\x10\"",
    "\"\x1b[m\"",
    "\"\x1f\"",
    "// c",
    "[1]/**/",
    "\xef\xbb\xbf{}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"b\":{},\"a\":1}",
    "{\"a\":1,\"\\u0061\":2}",
    "[{\"\":1,\"\":1}]",
    /* no character, half of one, one written too long */
    "\"\\u0000\"",
    "\"\\u00\x14\x11\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\ud800\"",
    "\"\\ud800x\"",
    "\"\\udfff\\ud800\"",
    "\"\\ud800\\n\"",
    "\"\xff\"",
    "\"\x80\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x80\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf0\x80\x80\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf8\x88\x80\x80\x80\"",
    "\"\xe2\x82\"",
    "\"\xc3\"",
    "\xc3\xa9",
};

START_TEST(invalid_json_is_refused)
{
    for (int i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(read_text(bad[i]) == NULL, "taken: %s", bad[i]);
        ck_assert_msg(strncmp(why.at, "has no ", 7) == 0 && strstr(why.at, " at byte "), "%s",
                      why.at);
    }
}
END_TEST

START_TEST(a_zero_byte_does_not_end_the_text)
{
    ck_assert_ptr_null(read_bytes("1\0", 2));
    ck_assert_ptr_null(read_bytes("\"a\0\"", 4));
    ck_assert_ptr_null(read_bytes("[1\0]", 4));
    ck_assert_ptr_null(read_bytes("{}\0", 3));
}
END_TEST

START_TEST(nothing_beyond_the_text_is_read)
{
    const Json *j = json_read(mem, "123", 2, &why);

    ck_assert_double_eq(j->number, 12);
    ck_assert_ptr_null(json_read(mem, "\"a\"", 2, &why));
    ck_assert_ptr_null(json_read(mem, "true", 3, &why));
}
END_TEST

START_TEST(errors_state_the_position)
{
    ck_assert_ptr_null(read_text("{\"a\":1,\"b\"}"));
    ck_assert_str_eq(why.at, "has no ':' at byte 10");
    ck_assert_ptr_null(read_text("[1] x"));
    ck_assert_str_eq(why.at, "has no end at byte 4");
    ck_assert_ptr_null(read_text("[1e999]"));
    ck_assert_str_eq(why.at, "has no number in the range of a double at byte 6");
}
END_TEST

static const char whole[] = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9\\ud83d\\ude00\xc3\xa9\"],"
                            "\"b\":{\"c\":[{},[]],\"d\":\"\\\"\"}}";

START_TEST(every_part_of_an_object_is_refused)
{
    ck_assert_ptr_nonnull(read_text(whole));
    for (size_t n = 0; n < strlen(whole); n++)
        ck_assert_msg(read_bytes(whole, n) == NULL, "%zu bytes are taken", n);
}
END_TEST

/* What is taken has sound strings and numbers; the sanitizers see the rest. */
static void check_sound(const Json *j)
{
    if (j->kind == JSON_STRING)
        ck_assert_uint_le(strlen(j->string), strlen(whole));
    ck_assert(isfinite(j->number));
    for (const Json *i = j->first; i; i = i->next)
        check_sound(i);
}

START_TEST(damaged_json_is_refused_or_valid)
{
    Random r = random_stream(7, RANDOM_TEST, 0);
    int taken = 0;

    for (uint64_t i = 0; i < 20000; i++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (uint64_t k = 0; k <= i % 3; k++)
            text[random_below(r, 8 * i + 2 * k, sizeof whole - 1)] =
                (char)random_below(r, 8 * i + 2 * k + 1, 256);
        const Json *j = read_bytes(text, sizeof whole - 1);
        if (j)
            check_sound(j), taken++;
        arena_reset(mem);
    }
    ck_assert_int_gt(taken, 100);
    ck_assert_int_lt(taken, 10000);
}
END_TEST

static const Json *read_nested(int depth, char open, char close)
{
    char *text = malloc(8 * (size_t)depth);
    size_t n = 0;

    for (int i = 0; i < depth; i++) {
        text[n++] = open;
        if (open == '{' && i < depth - 1)
            memcpy(text + n, "\"a\":", 4), n += 4;
    }
    for (int i = 0; i < depth; i++)
        text[n++] = close;
    const Json *j = read_bytes(text, n);
    free(text);
    return j;
}

START_TEST(nesting_is_limited)
{
    ck_assert_ptr_nonnull(read_nested(JSON_DEPTH, '[', ']'));
    ck_assert_ptr_nonnull(read_nested(JSON_DEPTH, '{', '}'));
    ck_assert_ptr_null(read_nested(JSON_DEPTH + 1, '[', ']'));
    ck_assert_ptr_null(read_nested(JSON_DEPTH + 1, '{', '}'));
    ck_assert_ptr_null(read_nested(1000000, '[', ']'));
    /* side by side is not nested */
    ck_assert_ptr_nonnull(
        read_text("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]"));
}
END_TEST

START_TEST(long_strings_and_arrays_are_read)
{
    enum { LONG = 100000 };
    char *text = malloc(2 * LONG + 8);

    memset(text, '7', LONG);
    text[LONG] = 0;
    ck_assert_ptr_null(read_text(text));
    memcpy(text, "0.", 2);
    ck_assert_double_eq_tol(read_text(text)->number, 7. / 9, 1e-3);
    memset(text, 'x', LONG);
    text[0] = text[LONG - 1] = '"';
    ck_assert_uint_eq(strlen(read_text(text)->string), LONG - 2);
    for (int i = 0; i < LONG; i++)
        memcpy(text + 2 * i, i ? ",1" : "[1", 2);
    strcpy(text + 2 * LONG, "]");
    ck_assert_int_eq(read_text(text)->count, LONG);
    free(text);
}
END_TEST

START_TEST(members_are_found_by_name_and_kind)
{
    const Json *j = read_text("{\"n\":2,\"s\":\"x\",\"b\":true,\"z\":null}");

    ck_assert_double_eq(json_number(j, "n"), 2);
    ck_assert_str_eq(json_string(j, "s"), "x");
    ck_assert(isnan(json_number(j, "s")) && isnan(json_number(j, "b")) &&
              isnan(json_number(j, "q")));
    ck_assert_ptr_null(json_string(j, "n"));
    ck_assert_ptr_null(json_string(j, "z"));
    ck_assert_int_eq(json_find(j, "z")->kind, JSON_NULL);
    ck_assert_ptr_null(json_find(json_find(j, "n"), "n"));
    ck_assert_ptr_null(json_find(NULL, "n"));
    ck_assert_ptr_null(json_find(read_text("[1]"), "n"));
}
END_TEST

START_TEST(values_are_printed_as_text)
{
    static const struct {
        const char *json, *text;
    } value[] = { { "0.5", "0.5" },         { "true", "yes" },
                  { "false", "no" },        { "null", "" },
                  { "\"a b\"", "a b" },     { "[]", "" },
                  { "[64,128]", "64 128" }, { "[{\"a\":1,\"b\":[true]},\"c\"]", "1 yes c" } };

    for (int i = 0; i < COUNT(value); i++)
        ck_assert_str_eq(json_text(json_read(mem, value[i].json, strlen(value[i].json), &why)).at,
                         value[i].text);
    ck_assert_str_eq(json_text(NULL).at, "");
}
END_TEST

Suite *suite_json(void)
{
    Suite *s = suite_create("json");
    TCase *t = group(s, "reader");

    tcase_add_checked_fixture(t, mem_open, mem_close);
    tcase_add_test(t, valid_json_is_read);
    tcase_add_test(t, invalid_json_is_refused);
    tcase_add_test(t, a_zero_byte_does_not_end_the_text);
    tcase_add_test(t, nothing_beyond_the_text_is_read);
    tcase_add_test(t, errors_state_the_position);
    tcase_add_test(t, every_part_of_an_object_is_refused);
    tcase_add_test(t, damaged_json_is_refused_or_valid);
    tcase_add_test(t, nesting_is_limited);
    tcase_add_test(t, long_strings_and_arrays_are_read);
    tcase_add_test(t, members_are_found_by_name_and_kind);
    tcase_add_test(t, values_are_printed_as_text);
    return s;
}
