/* The writer. Given the same entries it writes, to the byte, what the reference writes, unless a
 * string has control characters. */
#include "model/safetensors.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(size_t) == 8, "sizes in files are 64 bits");

enum { LENGTH_BYTES = 8, PADDED_TO = 8, HEADER_MAX = 100000000 };

static const struct {
    const char *name;
    size_t size;
} dtypes[DTYPES] = {
    [DTYPE_U8] = { "U8", 1 },   [DTYPE_I32] = { "I32", 4 }, [DTYPE_F32] = { "F32", 4 },
    [DTYPE_F64] = { "F64", 8 }, [DTYPE_I64] = { "I64", 8 },
};

const char *dtype_name(Dtype dtype)
{
    return dtypes[dtype].name;
}

size_t dtype_size(Dtype dtype)
{
    return dtypes[dtype].size;
}

Dtype dtype_find(const char *name)
{
    int i = 0;

    while (i < DTYPES && strcmp(name, dtypes[i].name) != 0)
        i++;
    return (Dtype)i;
}

static int by_dtype_then_name(const void *a, const void *b)
{
    const Entry *x = a, *y = b;

    return x->dtype != y->dtype ? (x->dtype < y->dtype ? 1 : -1) : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

static void check_name(const char *name)
{
    if (!*name || strlen(name) > NAME_MAX_BYTES)
        BUG("a name of %zu bytes", strlen(name));
}

/* Leaves the entries in the order of the file. */
static void check_and_sort(Entry *entry, int n)
{
    if (n > ENTRIES_MAX)
        BUG("%d tensors", n);
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_size(entry[i].dtype);

        check_name(entry[i].name);
        if (entry[i].ndim < 0 || entry[i].ndim > ENTRY_RANK_MAX)
            BUG("%s: %d dimensions", entry[i].name, entry[i].ndim);
        for (int d = 0; d < entry[i].ndim; d++)
            bytes *= entry[i].dim[d];
        if (!bytes || bytes != entry[i].bytes || !strcmp(entry[i].name, "__metadata__"))
            BUG("%s: %zu bytes for a shape of %zu", entry[i].name, entry[i].bytes, bytes);
    }
    qsort(entry, (size_t)n, sizeof *entry, by_name);
    for (int i = 1; i < n; i++)
        if (!strcmp(entry[i - 1].name, entry[i].name))
            BUG("two tensors are named %s", entry[i].name);
    qsort(entry, (size_t)n, sizeof *entry, by_dtype_then_name);
}

static void put_entry(FILE *to, const Entry *e, size_t begin)
{
    putc(',', to);
    text_json(e->name, to);
    fprintf(to, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(e->dtype));
    for (int d = 0; d < e->ndim; d++)
        fprintf(to, d ? ",%zu" : "%zu", e->dim[d]);
    fprintf(to, "],\"data_offsets\":[%zu,%zu]}", begin, begin + e->bytes);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const Meta *)a)->key, ((const Meta *)b)->key);
}

static void check_keys(const Meta *meta, int n)
{
    Meta *sorted = xmalloc(((size_t)n + 1) * sizeof *sorted);

    sorted[n] = (Meta){ "format", "pt" };
    for (int i = 0; i < n; i++) {
        check_name(meta[i].key);
        sorted[i] = meta[i];
    }
    qsort(sorted, (size_t)n + 1, sizeof *sorted, by_key);
    for (int i = 0; i < n; i++)
        if (!strcmp(sorted[i].key, sorted[i + 1].key))
            BUG("two metadata are named %s", sorted[i].key);
    free(sorted);
}

static void put_meta(FILE *to, const Meta *meta, int n)
{
    check_keys(meta, n);
    fputs("{\"__metadata__\":{\"format\":\"pt\"", to);
    for (int i = 0; i < n; i++) {
        putc(',', to);
        text_json(meta[i].key, to);
        putc(':', to);
        text_json(meta[i].value, to);
    }
    putc('}', to);
}

typedef struct {
    const Entry *entry;
    int entries;
    const Meta *meta;
    int metas;
} Header;

/* The JSON with its padding. */
static void put_header(FILE *to, void *header)
{
    const Header *h = header;
    size_t begin = 0;

    put_meta(to, h->meta, h->metas);
    for (int i = 0; i < h->entries; begin += h->entry[i++].bytes)
        put_entry(to, &h->entry[i], begin);
    putc('}', to);
    while (ftell(to) % PADDED_TO)
        putc(' ', to);
}

/* In the file's order. */
static Piece numbers(const Entry *e)
{
    return (Piece){ file_order(e->data, e->bytes, dtype_size(e->dtype)), e->bytes };
}

void safetensors_write(const char *path, const Entry *entry, int n, const Meta *meta, int metas)
{
    Entry *sorted = xmalloc((size_t)n * sizeof *sorted);
    Piece *piece = xmalloc(((size_t)n + 2) * sizeof *piece);
    unsigned char prefix[LENGTH_BYTES];
    size_t length;

    for (int i = 0; i < n; i++)
        sorted[i] = entry[i];
    check_and_sort(sorted, n);
    char *header = print_to_memory(put_header, &(Header){ sorted, n, meta, metas }, &length);
    if (length > HEADER_MAX)
        BUG("a header of %zu bytes", length);
    for (int i = 0; i < LENGTH_BYTES; i++)
        prefix[i] = (unsigned char)(length >> 8 * i);
    piece[0] = (Piece){ prefix, sizeof prefix };
    piece[1] = (Piece){ header, length };
    for (int i = 0; i < n; i++)
        piece[i + 2] = numbers(&sorted[i]);
    file_replace(path, piece, n + 2);
    for (int i = 0; i < n; i++)
        if (piece[i + 2].at != sorted[i].data)
            free((void *)(uintptr_t)piece[i + 2].at);
    free(header);
    free(piece);
    free(sorted);
}
