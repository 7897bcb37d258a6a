#include "ops/base/json.h"

#include "ops/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 200 }; /* of a string that is shown */

/* In a copy of the text, which is written over: strings are decoded where they lie. */
typedef struct {
    unsigned char *at, *end;
    const char *missing; /* what is expected at `at`, after a failure */
    Arena *mem;
    int depth;
} Reader;

static bool missing(Reader *r, const char *what)
{
    r->missing = what;
    return false;
}

static void skip_space(Reader *r)
{
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4))
        r->at++;
}

static bool accept(Reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != (unsigned char)c)
        return false;
    r->at++;
    return true;
}

/* uXXXX */
static bool scan_hex(Reader *r, uint32_t *code)
{
    static const char digits[] = "0123456789abcdef";

    *code = 0;
    if (r->end - r->at < 5 || *r->at++ != 'u')
        return missing(r, "known escape");
    for (int i = 0; i < 4; i++, r->at++) {
        const char *digit = memchr(digits, *r->at < 'a' ? *r->at | 0x20 : *r->at, 16);

        if (!digit || *r->at < '0')
            return missing(r, "hexadecimal digit");
        *code = *code << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* After a backslash. */
static bool scan_escape(Reader *r, uint32_t *code)
{
    static const char letter[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at < r->end ? memchr(letter, *r->at, sizeof letter - 1) : NULL;
    uint32_t low = 0;

    if (known) {
        r->at++;
        *code = (uint32_t)meaning[known - letter];
        return true;
    }
    if (!scan_hex(r, code))
        return false;
    if (*code >= 0xd800 && *code < 0xdc00 && r->at < r->end && *r->at == '\\') {
        r->at++;
        if (!scan_hex(r, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            *code = 0x10000 + ((*code & 0x3ff) << 10 | (low & 0x3ff));
    }
    if (*code == 0 || (*code >= 0xd800 && *code < 0xe000))
        return missing(r, "character behind \\u");
    return true;
}

/* Decoding in place never needs more room. */
static bool scan_string(Reader *r, const char **string)
{
    unsigned char *to;
    uint32_t code;

    if (!accept(r, '"'))
        return missing(r, "string");
    *string = (const char *)(to = r->at);
    while (r->at < r->end && *r->at != '"') {
        const int length = utf8_decode(r->at, (size_t)(r->end - r->at), &code);

        if (!length || code < 0x20)
            return missing(r, "UTF-8 without control characters");
        r->at += length;
        if (code == '\\' && !scan_escape(r, &code))
            return false;
        to += utf8_encode(to, code);
    }
    if (r->at == r->end)
        return missing(r, "end of the string");
    r->at++;
    *to = 0;
    return true;
}

static bool pass_digits(Reader *r)
{
    const unsigned char *first = r->at;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    if (r->at == first)
        return missing(r, "digit");
    return true;
}

static bool pass_one_of(Reader *r, const char *characters)
{
    const bool there = r->at < r->end && *r->at && strchr(characters, *r->at);

    r->at += there;
    return there;
}

/* The byte after it is 0 while strtod() reads; the byte at r->end belongs to the text, too. */
static bool scan_number(Reader *r, Json *j)
{
    unsigned char *first = r->at;

    pass_one_of(r, "-");
    if (!pass_one_of(r, "0") && !pass_digits(r))
        return false;
    if (pass_one_of(r, ".") && !pass_digits(r))
        return false;
    if (pass_one_of(r, "eE")) {
        pass_one_of(r, "+-");
        if (!pass_digits(r))
            return false;
    }
    const unsigned char behind = *r->at;
    *r->at = 0;
    j->number = strtod((const char *)first, NULL);
    j->digits = strspn((const char *)first, "0123456789") == (size_t)(r->at - first);
    if (j->digits && j->number >= 0x1p53)
        j->string = arena_string(r->mem, (const char *)first);
    *r->at = behind;
    if (!isfinite(j->number))
        return missing(r, "number in the range of a double");
    return true;
}

static Json *read_value(Reader *r, const char *name);

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const Json *const *)a)->name, (*(const Json *const *)b)->name);
}

static bool names_differ(Reader *r, const Json *object)
{
    const size_t n = (size_t)object->count;
    const Json **all = arena_take(r->mem, (n + 1) * sizeof *all);
    bool differ = true;
    size_t i = 0;

    for (const Json *j = object->first; j; j = j->next)
        all[i++] = j;
    qsort(all, n, sizeof *all, by_name);
    for (i = 1; i < n; i++)
        differ &= by_name(&all[i - 1], &all[i]) != 0;
    arena_give(r->mem, all, (n + 1) * sizeof *all);
    if (!differ)
        return missing(r, "unique name of a member");
    return true;
}

/* The elements or members, and the closing bracket. */
static bool read_inside(Reader *r, Json *of)
{
    const bool object = of->kind == JSON_OBJECT;
    Json **end = &of->first;

    if (accept(r, object ? '}' : ']'))
        return true;
    do {
        const char *name = NULL;

        if (object && !scan_string(r, &name))
            return false;
        if (object && !accept(r, ':'))
            return missing(r, "':'");
        Json *value = read_value(r, name);
        if (!value)
            return false;
        *end = value;
        end = &value->next;
        of->count++;
    } while (accept(r, ','));
    if (!accept(r, object ? '}' : ']'))
        return missing(r, object ? "',' or '}'" : "',' or ']'");
    return !object || names_differ(r, of);
}

static bool read_word(Reader *r, Json *j)
{
    static const struct {
        const char *word;
        JsonKind kind;
        double number;
    } all[] = { { "null", JSON_NULL, 0 }, { "true", JSON_BOOL, 1 }, { "false", JSON_BOOL, 0 } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i].word);

        if ((size_t)(r->end - r->at) < n || memcmp(r->at, all[i].word, n) != 0)
            continue;
        r->at += n;
        j->kind = all[i].kind, j->number = all[i].number;
        return true;
    }
    return missing(r, "value");
}

static bool read_kind(Reader *r, Json *j)
{
    skip_space(r);
    const char c = r->at < r->end ? (char)*r->at : 0;

    if (c == '"') {
        j->kind = JSON_STRING;
        return scan_string(r, &j->string);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        j->kind = JSON_NUMBER;
        return scan_number(r, j);
    }
    if (c != '{' && c != '[')
        return read_word(r, j);
    if (r->depth == JSON_DEPTH)
        return missing(r, "end of the nesting");
    j->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
    r->at++;
    r->depth++;
    const bool read = read_inside(r, j);
    r->depth--;
    return read;
}

static Json *read_value(Reader *r, const char *name)
{
    Json *j = arena_take(r->mem, sizeof *j);

    *j = (Json){ .name = name };
    return read_kind(r, j) ? j : NULL;
}

const Json *json_read(Arena *mem, const char *text, size_t n, Text *why)
{
    unsigned char *copy = arena_take(mem, n + 1);
    Reader r = { .at = copy, .end = copy + n, .mem = mem };

    memcpy(copy, text, n);
    copy[n] = 0;
    const Json *j = read_value(&r, NULL);

    skip_space(&r);
    if (j && r.at == r.end)
        return j;
    *why = (Text){ 0 };
    text_add(why, "has no %s at byte %zu", j ? "end" : r.missing, (size_t)(r.at - copy));
    return NULL;
}

const Json *json_find(const Json *object, const char *name)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const Json *j = object->first; j; j = j->next)
        if (strcmp(j->name, name) == 0)
            return j;
    return NULL;
}

double json_number(const Json *object, const char *name)
{
    const Json *j = json_find(object, name);

    return j && j->kind == JSON_NUMBER ? j->number : (double)NAN;
}

const char *json_string(const Json *object, const char *name)
{
    const Json *j = json_find(object, name);

    return j && j->kind == JSON_STRING ? j->string : NULL;
}

Text json_text(const Json *value)
{
    Text text = { 0 };

    if (!value)
        return text;
    if (value->kind == JSON_STRING)
        text = text_cut(value->string, TEXT_MOST);
    else if (value->kind == JSON_NUMBER)
        text = text_number(value->number);
    else if (value->kind == JSON_BOOL)
        text_add(&text, "%s", value->number > 0 ? "yes" : "no");
    for (const Json *j = value->first; j; j = j->next)
        text_add(&text, "%s%s", text.n ? " " : "", json_text(j).at);
    return text;
}
