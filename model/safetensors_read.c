/*
 * The reader: the header as JSON, and then tensor by tensor. Memory is bounded by the file's size,
 * time by n log n.
 */
#include "model/safetensors.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most commas of a tensor, which has 8 dimensions, and the most members of the metadata. */
enum { ENTRY_COMMAS = 11, META_MOST = 1 << 16 };

typedef struct {
    Safetensors *into;
    unsigned char *data; /* follows the header, and has */
    size_t bytes;
    char *why;
} Reader;

__attribute__((format(printf, 2, 3))) static bool fail(Reader *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(r->why, SAFETENSORS_WHY, fmt, ap);
    va_end(ap);
    return false;
}

static bool check_name(Reader *r, const char *name)
{
    if (!*name || strlen(name) > NAME_MAX_BYTES)
        return fail(r, "has a name that is not 1 to %d bytes long: '%.40s'", NAME_MAX_BYTES, name);
    return true;
}

/* Numbers below 2^SIZE_BITS are exact in a double, and fit into a size_t. */
enum { SIZE_BITS = sizeof(size_t) < 8 ? 32 : 53 };

/* An array of at most `most` numbers. */
static bool read_numbers(Reader *r, const Json *array, size_t *number, int most)
{
    if (array->count > most)
        return fail(r, "has an array of more than %d numbers in its header", most);
    for (const Json *j = array->first; j; j = j->next) {
        if (j->kind != JSON_NUMBER || !j->digits || j->number >= ldexp(1, SIZE_BITS))
            return fail(r, "has a value in %s that is not a plain whole number below 2^%d",
                        array->name, SIZE_BITS);
        *number++ = (size_t)j->number;
    }
    return true;
}

/* Checks that the tensor is not empty, lies in the file, and has as many bytes as its shape. */
static bool check_tensor(Reader *r, Entry *e, const size_t range[2])
{
    const size_t begin = range[0], end = range[1];
    size_t want = dtype_size(e->dtype);

    for (int d = 0; d < e->ndim; d++)
        if (__builtin_mul_overflow(want, e->dim[d], &want))
            return fail(r, "has tensor %.60s with an impossibly large shape", e->name);
    if (!want)
        return fail(r, "has the empty tensor %.60s, which is not supported", e->name);
    if (begin > end || end > r->bytes)
        return fail(r, "has tensor %.60s at %zu to %zu of %zu bytes: truncated or damaged", e->name,
                    begin, end, r->bytes);
    if (end - begin != want)
        return fail(r, "has tensor %.60s of %zu bytes with a shape for %zu", e->name, end - begin,
                    want);
    e->data = r->data + begin;
    e->bytes = want;
    return true;
}

static bool read_tensor(Reader *r, const Json *j, Entry *e)
{
    const char *dtype = json_string(j, "dtype");
    const Json *shape = json_find(j, "shape"), *offsets = json_find(j, "data_offsets");
    size_t range[2];

    if (!check_name(r, j->name))
        return false;
    if (!dtype || !shape || !offsets || shape->kind != JSON_ARRAY || offsets->kind != JSON_ARRAY ||
        j->count != 3)
        return fail(r, "has tensor %.60s with fields other than dtype, shape and data_offsets",
                    j->name);
    *e = (Entry){ .name = j->name, .dtype = dtype_find(dtype), .ndim = shape->count };
    if (e->dtype == DTYPES)
        return fail(
            r,
            "has tensor %.60s of type '%.20s', which is not F16, BF16, F32, F64, I32, I64, U8 or BOOL",
            e->name, dtype);
    if (offsets->count != 2)
        return fail(r, "does not have exactly two offsets for tensor %.60s", e->name);
    return read_numbers(r, shape, e->dim, ENTRY_RANK_MAX) && read_numbers(r, offsets, range, 2) &&
           check_tensor(r, e, range);
}

static bool read_meta(Reader *r, const Json *meta)
{
    Safetensors *into = r->into;

    if (meta->kind != JSON_OBJECT)
        return fail(r, "has a __metadata__ that is not an object");
    for (const Json *j = meta->first; j; j = j->next) {
        if (!check_name(r, j->name))
            return false;
        if (j->kind != JSON_STRING)
            return fail(r, "has no string for %.60s in its __metadata__", j->name);
        into->meta[into->metas++] = (Meta){ j->name, j->string };
    }
    return true;
}

static int by_data(const void *a, const void *b)
{
    const Entry *x = a, *y = b;

    return (x->data > y->data) - (x->data < y->data);
}

/* Checks that the tensors cover all bytes without gaps or overlaps. */
static bool check_ranges(Reader *r)
{
    const unsigned char *end = r->data;
    const Safetensors *into = r->into;

    qsort(into->entry, (size_t)into->entries, sizeof *into->entry, by_data);
    for (int i = 0; i < into->entries; i++) {
        if (into->entry[i].data != end)
            return fail(r, "has a hole or an overlap at tensor %.60s", into->entry[i].name);
        end += into->entry[i].bytes;
    }
    if (end != r->data + r->bytes)
        return fail(r, "has %zu bytes after its last tensor", r->bytes - (size_t)(end - r->data));
    return true;
}

/* A message for a file of another format. */
static bool foreign(Reader *r, size_t bytes)
{
    const unsigned char *file = r->into->file;
    const char *like = file_looks_like(file, bytes);
    size_t text = 0;
    uint64_t large = 0;

    while (text < bytes && text < 64 && (file[text] >= 0x20 || memchr("\t\r\n", file[text], 3)))
        text++;
    for (size_t i = 0; i < LENGTH_BYTES && i < bytes; i++)
        large = large << 8 | file[i];
    if (!like && text && (text == bytes || text == 64))
        like = "text";
    else if (!like && large && large < bytes)
        like = "big-endian numbers";
    return fail(r, "(%zu bytes) is not a safetensors file, or is truncated%s%s", bytes,
                like ? "; it looks like " : "", like ? like : "");
}

/*
 * Counts braces and commas outside strings before anything is parsed: a value takes up to 64 bytes
 * of memory, so a list of numbers would take many times its own size before it is refused.
 */
static bool check_values(Reader *r, const char *header, size_t length)
{
    size_t braces = 0, commas = 0;
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        const char c = header[i];

        i += quoted && c == '\\'; /* and what it escapes */
        quoted ^= c == '"';
        braces += !quoted && c == '{';
        commas += !quoted && c == ',';
    }
    if (braces > ENTRIES_MAX + 2)
        return fail(r, "has more than %d tensors", ENTRIES_MAX);
    if (commas > ENTRY_COMMAS * braces + META_MOST)
        return fail(r, "has a header with too many values");
    return true;
}

static bool read_header(Reader *r, const char *header, size_t length)
{
    Safetensors *into = r->into;
    Text why;

    if (!check_values(r, header, length))
        return false;
    const Json *all = json_read(into->mem, header, length, &why);
    const Json *meta = json_find(all, "__metadata__");

    if (!all)
        return fail(r, "%s of its header", why.at);
    if (all->count - (meta != NULL) > ENTRIES_MAX)
        return fail(r, "has more than %d tensors", ENTRIES_MAX);
    into->meta = arena_take(into->mem, (meta ? (size_t)meta->count : 0) * sizeof *into->meta);
    into->entry = arena_take(into->mem, (size_t)all->count * sizeof *into->entry);
    if (meta && !read_meta(r, meta))
        return false;
    for (const Json *j = all->first; j; j = j->next)
        if (j != meta && !read_tensor(r, j, &into->entry[into->entries++]))
            return false;
    return check_ranges(r);
}

static bool read_file(Reader *r, size_t bytes)
{
    unsigned char *file = r->into->file;
    uint64_t length = 0;

    if (bytes < LENGTH_BYTES)
        return foreign(r, bytes);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)file[i] << 8 * i;
    if (length < 2 || length > HEADER_MAX || length > bytes - LENGTH_BYTES ||
        file[LENGTH_BYTES] != '{')
        return foreign(r, bytes);
    r->data = file + LENGTH_BYTES + length;
    r->bytes = bytes - LENGTH_BYTES - (size_t)length;
    return read_header(r, (const char *)file + LENGTH_BYTES, (size_t)length);
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

    *s = (Safetensors){ .mem = arena_new(), .file = file };
    if (!read_file(&(Reader){ .into = s, .why = why }, bytes)) {
        safetensors_free(s);
        return NULL;
    }
    qsort(s->entry, (size_t)s->entries, sizeof *s->entry, safetensors_by_name);
    qsort(s->meta, (size_t)s->metas, sizeof *s->meta, safetensors_by_name);
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
    arena_free(s->mem);
    free(s);
}

const Entry *safetensors_find(const Safetensors *s, const char *name)
{
    return bsearch(&name, s->entry, (size_t)s->entries, sizeof *s->entry, safetensors_by_name);
}

const char *safetensors_meta(const Safetensors *s, const char *key)
{
    const Meta *m = bsearch(&key, s->meta, (size_t)s->metas, sizeof *s->meta, safetensors_by_name);

    return m ? m->value : NULL;
}
