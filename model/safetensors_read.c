/*
 * The reader. Its JSON is a subset, scanned by one function for each kind of
 * value: objects three deep at most, strings, arrays of whole numbers, which are
 * exact up to 2^53. A scan function returns false when it has written down why,
 * and all return at once. Memory is bounded by the file's size and ENTRIES_MAX,
 * time by n log n.
 */
#include "model/safetensors.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/json.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)1 << 53) /* every JSON reader has these numbers exactly */
enum { LENGTH_BYTES = 8, HEADER_MAX = 100000000 };

typedef struct {
    JsonScan json;        /* the header, from */
    unsigned char *start; /* on */
    unsigned char *data;  /* follows it, and has */
    size_t bytes;
    Safetensors *into;
    bool has_meta;
    unsigned fields; /* those that the tensor at hand has had, and its range */
    size_t range[2];
    char *why;
} Scan;

__attribute__((format(printf, 2, 3))) static bool fail(Scan *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->why, SAFETENSORS_WHY, fmt, ap);
    va_end(ap);
    return false;
}

static bool expected(Scan *s, const char *what)
{
    return fail(s, "has no %s at byte %zu of its header", what, (size_t)(s->json.at - s->start));
}

static bool accept(Scan *s, char c)
{
    return json_accept(&s->json, c);
}

static bool scan_string(Scan *s, const char **string)
{
    return json_scan_string(&s->json, string) || expected(s, s->json.missing);
}

/* An array of `most` whole numbers or fewer. */
static bool scan_numbers(Scan *s, size_t *number, int most, int *n)
{
    *n = 0;
    if (!accept(s, '['))
        return expected(s, "'['");
    if (accept(s, ']'))
        return true;
    while (*n < most) {
        size_t x = 0;

        json_skip_space(&s->json);
        const unsigned char *first = s->json.at;
        for (; s->json.at < s->json.end && *s->json.at >= '0' && *s->json.at <= '9' && x <= LARGEST;
             s->json.at++)
            x = 10 * x + (*s->json.at - '0');
        if (s->json.at == first || (*first == '0' && s->json.at - first > 1) || x > LARGEST)
            return expected(s, "plain whole number up to 2^53");
        number[(*n)++] = x;
        if (!accept(s, ','))
            return accept(s, ']') || expected(s, "',' or ']'");
    }
    return fail(s, "has more than %d numbers in a row in its header", most);
}

/* Has `member` read the value of each key. */
static bool scan_object(Scan *s, bool (*member)(Scan *s, const char *key))
{
    if (!accept(s, '{'))
        return expected(s, "'{'");
    if (accept(s, '}'))
        return true;
    do {
        const char *key;

        if (!scan_string(s, &key))
            return false;
        if (!*key || strlen(key) > NAME_MAX_BYTES)
            return expected(s, "name of 1 to 1024 bytes");
        if (!accept(s, ':'))
            return expected(s, "':'");
        if (!member(s, key))
            return false;
    } while (accept(s, ','));
    return accept(s, '}') || expected(s, "',' or '}'");
}

/* Room for one more than n: called for n = 1, 2, 3, ... it doubles the room when it is full. */
static void *grown(void *p, int n, size_t size)
{
    return n & (n - 1) ? p : xrealloc(p, 2 * (size_t)n * size);
}

static bool meta_member(Scan *s, const char *key)
{
    Safetensors *into = s->into;
    const char *value;

    if (!scan_string(s, &value))
        return false;
    into->meta[into->metas++] = (Meta){ key, value };
    into->meta = grown(into->meta, into->metas, sizeof *into->meta);
    return true;
}

static bool scan_dtype(Scan *s, Entry *e)
{
    const char *name;

    if (!scan_string(s, &name))
        return false;
    e->dtype = dtype_find(name);
    return e->dtype != DTYPES ||
           fail(s, "has tensor %.60s in %.20s; F32, F64, I32, I64 or U8 do", e->name, name);
}

static bool tensor_field(Scan *s, const char *key)
{
    static const char *const field[] = { "dtype", "shape", "data_offsets" };
    Entry *e = &s->into->entry[s->into->entries];
    int f = 0, numbers = 0;

    while (f < 3 && strcmp(key, field[f]) != 0)
        f++;
    if (f == 3)
        return fail(s, "has an unknown field %.40s in tensor %.60s", key, e->name);
    if (s->fields & 1u << f)
        return fail(s, "has two fields %s in tensor %.60s", key, e->name);
    s->fields |= 1u << f;
    if (f == 0)
        return scan_dtype(s, e);
    if (f == 1)
        return scan_numbers(s, e->dim, ENTRY_RANK_MAX, &e->ndim);
    return scan_numbers(s, s->range, 2, &numbers) &&
           (numbers == 2 || fail(s, "has not two offsets for tensor %.60s", e->name));
}

/* The shape and the range say the same about a tensor that has something, all in the file. */
static bool check_tensor(Scan *s, Entry *e)
{
    const size_t begin = s->range[0], end = s->range[1];
    size_t want = dtype_size(e->dtype);

    for (int d = 0; d < e->ndim; d++)
        if (__builtin_mul_overflow(want, e->dim[d], &want))
            return fail(s, "has tensor %.60s with a shape too large to be true", e->name);
    if (!want)
        return fail(s, "has the empty tensor %.60s, as no model here does", e->name);
    if (begin > end || end > s->bytes)
        return fail(s, "has tensor %.60s at %zu to %zu of %zu bytes: cut off, or damaged", e->name,
                    begin, end, s->bytes);
    if (end - begin != want)
        return fail(s, "has tensor %.60s of %zu bytes with a shape for %zu", e->name, end - begin,
                    want);
    e->data = s->data + begin;
    e->bytes = want;
    return true;
}

static bool header_member(Scan *s, const char *key)
{
    Safetensors *into = s->into;
    Entry *e = &into->entry[into->entries];

    if (strcmp(key, "__metadata__") == 0) {
        if (s->has_meta)
            return fail(s, "has two __metadata__");
        s->has_meta = true;
        return scan_object(s, meta_member);
    }
    if (into->entries == ENTRIES_MAX)
        return fail(s, "has more than %d tensors", ENTRIES_MAX);
    *e = (Entry){ .name = key };
    s->fields = 0;
    if (!scan_object(s, tensor_field))
        return false;
    if (s->fields != 7)
        return fail(s, "has tensor %.60s without its dtype, shape or data_offsets", key);
    if (!check_tensor(s, e))
        return false;
    into->entries++;
    into->entry = grown(into->entry, into->entries, sizeof *into->entry);
    return true;
}

static int by_data(const void *a, const void *b)
{
    const Entry *x = a, *y = b;

    return (x->data > y->data) - (x->data < y->data);
}

/* For Entry and for Meta, which both start with their name. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One tensor starts where another ends, from the first byte to the last. */
static bool check_ranges(Scan *s)
{
    const unsigned char *end = s->data;
    const Safetensors *into = s->into;

    qsort(into->entry, (size_t)into->entries, sizeof *into->entry, by_data);
    for (int i = 0; i < into->entries; i++) {
        if (into->entry[i].data != end)
            return fail(s, "has a hole or an overlap at tensor %.60s", into->entry[i].name);
        end += into->entry[i].bytes;
    }
    if (end != s->data + s->bytes)
        return fail(s, "has %zu bytes behind its last tensor", s->bytes - (size_t)(end - s->data));
    return true;
}

static bool check_names(Scan *s, void *table, int n, size_t size)
{
    const char *at = table;

    qsort(table, (size_t)n, size, by_name);
    for (int i = 1; i < n; i++, at += size)
        if (by_name(at, at + size) == 0)
            return fail(s, "has two %.60s", *(const char *const *)(const void *)at);
    return true;
}

/* For a file that is something else altogether. */
static bool foreign(Scan *s, size_t bytes)
{
    const unsigned char *file = s->into->file;
    const char *like = file_looks_like(file, bytes);
    size_t text = 0, large = 0;

    while (text < bytes && text < 64 && (file[text] >= 0x20 || memchr("\t\r\n", file[text], 3)))
        text++;
    for (size_t i = 0; i < LENGTH_BYTES && i < bytes; i++)
        large = large << 8 | file[i];
    if (!like && text && (text == bytes || text == 64))
        like = "text";
    else if (!like && large && large < bytes)
        like = "big-endian numbers";
    return fail(s, "(%zu bytes) is no safetensors file, or was cut off%s%s", bytes,
                like ? "; it looks like " : "", like ? like : "");
}

static bool scan_file(Scan *s, size_t bytes)
{
    unsigned char *file = s->into->file;
    size_t length = 0;

    if (bytes < LENGTH_BYTES)
        return foreign(s, bytes);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (size_t)file[i] << 8 * i;
    if (length < 2 || length > HEADER_MAX || length > bytes - LENGTH_BYTES ||
        file[LENGTH_BYTES] != '{')
        return foreign(s, bytes);
    s->start = s->json.at = file + LENGTH_BYTES;
    s->json.end = s->data = s->start + length;
    s->bytes = bytes - LENGTH_BYTES - length;
    if (!scan_object(s, header_member))
        return false;
    while (s->json.at < s->json.end && *s->json.at == ' ')
        s->json.at++;
    if (s->json.at < s->json.end)
        return expected(s, "end, or space,");
    return check_ranges(s) &&
           check_names(s, s->into->entry, s->into->entries, sizeof *s->into->entry) &&
           check_names(s, s->into->meta, s->into->metas, sizeof *s->into->meta);
}

static void to_our_order(Entry *e)
{
    const void *ours = file_order(e->data, e->bytes, dtype_size(e->dtype));

    if (ours != e->data) {
        memcpy((void *)(uintptr_t)e->data, ours, e->bytes);
        free((void *)(uintptr_t)ours);
    }
}

Safetensors *safetensors_parse(unsigned char *file, size_t bytes, char why[SAFETENSORS_WHY])
{
    Safetensors *s = xmalloc(sizeof *s);

    *s = (Safetensors){ 0, xmalloc(sizeof *s->entry), 0, xmalloc(sizeof *s->meta), file };
    if (!scan_file(&(Scan){ .into = s, .why = why }, bytes)) {
        safetensors_free(s);
        return NULL;
    }
    for (int i = 0; i < s->entries; i++)
        to_our_order(&s->entry[i]);
    return s;
}

Safetensors *safetensors_read(const char *path)
{
    size_t bytes;
    unsigned char *file = file_read(path, &bytes);
    char why[SAFETENSORS_WHY];
    Safetensors *s = safetensors_parse(file, bytes, why);

    if (!s)
        die(EXIT_DATA, "%.180s %s", path, why);
    return s;
}

void safetensors_free(Safetensors *s)
{
    free(s->file);
    free(s->entry);
    free(s->meta);
    free(s);
}

const Entry *safetensors_find(const Safetensors *s, const char *name)
{
    return bsearch(&name, s->entry, (size_t)s->entries, sizeof *s->entry, by_name);
}

const char *safetensors_meta(const Safetensors *s, const char *key)
{
    const Meta *m = bsearch(&key, s->meta, (size_t)s->metas, sizeof *s->meta, by_name);

    return m ? m->value : NULL;
}
