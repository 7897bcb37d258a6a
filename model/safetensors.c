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

enum { PADDED_TO = 8 };

static const struct {
    const char *name;
    size_t size;
} dtypes[DTYPES] = {
    [DTYPE_BOOL] = { "BOOL", 1 }, [DTYPE_U8] = { "U8", 1 },   [DTYPE_F16] = { "F16", 2 },
    [DTYPE_BF16] = { "BF16", 2 }, [DTYPE_I32] = { "I32", 4 }, [DTYPE_F32] = { "F32", 4 },
    [DTYPE_F64] = { "F64", 8 },   [DTYPE_I64] = { "I64", 8 },
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

int safetensors_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(const void *table, int n, size_t size)
{
    char *sorted = memcpy(xmalloc((size_t)n * size), table, (size_t)n * size), *at = sorted;

    qsort(sorted, (size_t)n, size, safetensors_by_name);
    for (int i = 0; i < n; i++, at += size) {
        const char *name = *(const char *const *)(const void *)at;

        if (!*name || strlen(name) > NAME_MAX_BYTES ||
            (i && safetensors_by_name(at - size, at) == 0))
            BUG("a name of %zu bytes, or two %s", strlen(name), name);
    }
    free(sorted);
}

/* Sorts the entries into the order of the file. */
static void check_and_sort(Entry *entry, int n)
{
    if (n > ENTRIES_MAX)
        BUG("%d tensors", n);
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_size(entry[i].dtype);

        if (entry[i].ndim < 0 || entry[i].ndim > ENTRY_RANK_MAX)
            BUG("%s: %d dimensions", entry[i].name, entry[i].ndim);
        for (int d = 0; d < entry[i].ndim; d++)
            bytes *= entry[i].dim[d];
        if (!bytes || bytes != entry[i].bytes || !strcmp(entry[i].name, "__metadata__"))
            BUG("%s: %zu bytes for a shape of %zu", entry[i].name, entry[i].bytes, bytes);
    }
    check_names(entry, n, sizeof *entry);
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

static void put_header(FILE *to, void *contents)
{
    const Contents *h = contents;
    size_t begin = 0;

    fputs("{\"__metadata__\":{", to);
    for (int i = 0; i < h->metas; i++) {
        fputs(i ? "," : "", to);
        text_json(h->meta[i].key, to);
        putc(':', to);
        text_json(h->meta[i].value, to);
    }
    putc('}', to);
    for (int i = 0; i < h->entries; begin += h->entry[i++].bytes)
        put_entry(to, &h->entry[i], begin);
    putc('}', to);
}

void safetensors_write(const char *path, Contents c)
{
    static const char spaces[PADDED_TO] = "       ";
    const int n = c.entries;
    Entry *sorted = xmalloc((size_t)n * sizeof *sorted);
    Meta *all = xmalloc(((size_t)c.metas + 1) * sizeof *all);
    Piece *piece = xmalloc(((size_t)n + 3) * sizeof *piece);
    unsigned char prefix[LENGTH_BYTES];
    size_t length;

    for (int i = 0; i < n; i++)
        sorted[i] = c.entry[i];
    check_and_sort(sorted, n);
    all[0] = (Meta){ "format", "pt" };
    for (int i = 0; i < c.metas; i++)
        all[i + 1] = c.meta[i];
    check_names(all, c.metas + 1, sizeof *all);
    char *header =
        print_to_memory(put_header, &(Contents){ sorted, n, all, c.metas + 1, NULL }, &length);
    const size_t padded = (length + PADDED_TO - 1) / PADDED_TO * PADDED_TO;
    if (padded > HEADER_MAX)
        BUG("a header of %zu bytes", length);
    for (int i = 0; i < LENGTH_BYTES; i++)
        prefix[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    piece[0] = (Piece){ prefix, sizeof prefix };
    piece[1] = (Piece){ header, length };
    piece[2] = (Piece){ spaces, padded - length };
    for (int i = 0; i < n; i++)
        piece[i + 3] =
            (Piece){ file_order(sorted[i].data, sorted[i].bytes, dtype_size(sorted[i].dtype)),
                     sorted[i].bytes };
    file_replace_keeping(path, c.as, piece, n + 3);
    for (int i = 0; i < n; i++)
        if (piece[i + 3].at != sorted[i].data)
            free((void *)(uintptr_t)piece[i + 3].at);
    free(header);
    free(piece);
    free(all);
    free(sorted);
}
