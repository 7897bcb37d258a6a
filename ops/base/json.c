#include "ops/base/json.h"

#include "ops/base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool json_missing(JsonScan *s, const char *what)
{
    s->missing = what;
    return false;
}

void json_skip_space(JsonScan *s)
{
    while (s->at < s->end && memchr(" \t\r\n", *s->at, 4))
        s->at++;
}

bool json_accept(JsonScan *s, char c)
{
    json_skip_space(s);
    if (s->at == s->end || *s->at != (unsigned char)c)
        return false;
    s->at++;
    return true;
}

/* uXXXX */
static bool scan_hex(JsonScan *s, uint32_t *code)
{
    static const char digits[] = "0123456789abcdef";

    *code = 0;
    if (s->end - s->at < 5 || *s->at++ != 'u')
        return json_missing(s, "known escape");
    for (int i = 0; i < 4; i++, s->at++) {
        const char *digit = memchr(digits, *s->at < 'a' ? *s->at | 0x20 : *s->at, 16);

        if (!digit || *s->at < '0')
            return json_missing(s, "hexadecimal digit");
        *code = *code << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* After a backslash. */
static bool scan_escape(JsonScan *s, uint32_t *code)
{
    static const char letter[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *known = s->at < s->end ? memchr(letter, *s->at, sizeof letter - 1) : NULL;
    uint32_t low = 0;

    if (known) {
        s->at++;
        *code = (uint32_t)meaning[known - letter];
        return true;
    }
    if (!scan_hex(s, code))
        return false;
    if (*code >= 0xd800 && *code < 0xdc00 && s->at < s->end && *s->at == '\\') {
        s->at++;
        if (!scan_hex(s, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            *code = 0x10000 + ((*code & 0x3ff) << 10 | (low & 0x3ff));
    }
    return (*code && (*code < 0xd800 || *code > 0xdfff)) || json_missing(s, "character behind \\u");
}

bool json_scan_string(JsonScan *s, const char **string)
{
    unsigned char *to;
    uint32_t code;

    if (!json_accept(s, '"'))
        return json_missing(s, "string");
    *string = (const char *)(to = s->at);
    while (s->at < s->end && *s->at != '"') {
        const int length = utf8_decode(s->at, (size_t)(s->end - s->at), &code);

        if (!length || code < 0x20)
            return json_missing(s, "UTF-8 without control characters");
        s->at += length;
        if (code == '\\' && !scan_escape(s, &code))
            return false;
        to += utf8_encode(to, code);
    }
    if (s->at == s->end)
        return json_missing(s, "end of the string");
    s->at++;
    *to = 0;
    return true;
}

static bool pass_digits(JsonScan *s)
{
    const unsigned char *first = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > first || json_missing(s, "digit");
}

static bool pass_one_of(JsonScan *s, const char *characters)
{
    const bool there = s->at < s->end && *s->at && strchr(characters, *s->at);

    s->at += there;
    return there;
}

/* The byte after it is 0 while strtod() reads; the byte at s->end belongs to the text, too. */
static bool scan_number(JsonScan *s, double *number)
{
    unsigned char *first = s->at;

    pass_one_of(s, "-");
    if (!pass_one_of(s, "0") && !pass_digits(s))
        return false;
    if (pass_one_of(s, ".") && !pass_digits(s))
        return false;
    if (pass_one_of(s, "eE")) {
        pass_one_of(s, "+-");
        if (!pass_digits(s))
            return false;
    }
    const unsigned char behind = *s->at;
    *s->at = 0;
    *number = strtod((const char *)first, NULL);
    *s->at = behind;
    return isfinite(*number) || json_missing(s, "number that a double holds");
}

typedef struct {
    JsonScan s;
    Arena *mem;
    int depth;
} Reader;

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
    return differ || json_missing(&r->s, "name that is new in its object");
}

/* The elements or members, and the closing bracket. */
static bool read_inside(Reader *r, Json *of)
{
    const bool object = of->kind == JSON_OBJECT;
    Json **end = &of->first;

    if (json_accept(&r->s, object ? '}' : ']'))
        return true;
    do {
        const char *name = NULL;

        if (object && !json_scan_string(&r->s, &name))
            return false;
        if (object && !json_accept(&r->s, ':'))
            return json_missing(&r->s, "':'");
        Json *value = read_value(r, name);
        if (!value)
            return false;
        *end = value;
        end = &value->next;
        of->count++;
    } while (json_accept(&r->s, ','));
    if (!json_accept(&r->s, object ? '}' : ']'))
        return json_missing(&r->s, object ? "',' or '}'" : "',' or ']'");
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

        if ((size_t)(r->s.end - r->s.at) < n || memcmp(r->s.at, all[i].word, n) != 0)
            continue;
        r->s.at += n;
        j->kind = all[i].kind, j->number = all[i].number;
        return true;
    }
    return json_missing(&r->s, "value");
}

static bool read_kind(Reader *r, Json *j)
{
    json_skip_space(&r->s);
    const char c = r->s.at < r->s.end ? (char)*r->s.at : 0;

    if (c == '"') {
        j->kind = JSON_STRING;
        return json_scan_string(&r->s, &j->string);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        j->kind = JSON_NUMBER;
        return scan_number(&r->s, &j->number);
    }
    if (c != '{' && c != '[')
        return read_word(r, j);
    if (r->depth == JSON_DEPTH)
        return json_missing(&r->s, "end of the nesting");
    j->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
    r->s.at++;
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
    Reader r = { .s = { .at = copy, .end = copy + n }, .mem = mem };

    memcpy(copy, text, n);
    copy[n] = 0;
    const Json *j = read_value(&r, NULL);

    json_skip_space(&r.s);
    if (j && r.s.at == r.s.end)
        return j;
    *why = (Text){ 0 };
    text_add(why, "has no %s at byte %zu", j ? "end" : r.s.missing, (size_t)(r.s.at - copy));
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
