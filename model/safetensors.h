/*
 * Named tensors in one file, in the format of Hugging Face:
 *
 *     8 bytes   N, little-endian
 *     N bytes   {"__metadata__":{"format":"pt"},                      JSON, padded with
 *                "a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}    spaces
 *     the rest  the tensors' numbers: little-endian, row-major, no holes
 *
 * Files are untrusted: safetensors_read() checks everything before it returns. It is stricter than
 * the format, and refuses empty tensors, types other than those below, more than 8 dimensions,
 * additional fields, names that are empty or longer than 1024 bytes, \u0000 in strings, and more
 * than 131072 tensors.
 */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include "ops/base/arena.h"

/* In the format's order; the writer sorts by type, the last first. */
typedef enum {
    DTYPE_BOOL,
    DTYPE_U8,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_I32,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_I64,
    DTYPES
} Dtype;

enum { ENTRY_RANK_MAX = 8, ENTRIES_MAX = 1 << 17, NAME_MAX_BYTES = 1024 };
enum { LENGTH_BYTES = 8, HEADER_MAX = 100000000 }; /* the header's length and the most it may be */

/* No dimension is 0; a single number has no dimensions. */
typedef struct {
    const char *name;
    Dtype dtype;
    int ndim;
    size_t dim[ENTRY_RANK_MAX];
    const void *data; /* in a file that was read: unaligned, so use memcpy() */
    size_t bytes;
} Entry;

typedef struct {
    const char *key, *value;
} Meta;

const char *dtype_name(Dtype dtype); /* "F32" */
size_t dtype_size(Dtype dtype);      /* in bytes */
Dtype dtype_find(const char *name);  /* DTYPES if unknown */

/* For qsort() and bsearch(), of Entry and of Meta: both start with their name. */
int safetensors_by_name(const void *a, const void *b);

/* What a file is to have. */
typedef struct {
    const Entry *entry;
    int entries;
    const Meta *meta;
    int metas;
    const char *as; /* the name under which the file that is replaced is kept; NULL: it is not */
} Contents;

/*
 * Writes the file atomically, with file_replace_keeping(). The order of the entries does not
 * matter; that of the metadata is kept, after "format", which is added. Bytes in strings that are
 * not UTF-8 become U+FFFD.
 */
void safetensors_write(const char *path, Contents c);

/* A valid file; both tables are sorted by name (strcmp). */
typedef struct {
    int entries;
    Entry *entry;
    int metas;
    Meta *meta;
    unsigned char *file; /* all of it, the numbers included */
    Arena *mem;          /* of the tables and strings */
} Safetensors;

/* Dies with EXIT_IO if the file cannot be read, with EXIT_DATA if it is not valid. */
Safetensors *safetensors_read(const char *path);
void safetensors_free(Safetensors *s);

/*
 * The same for a file in memory, which is taken over (it came from malloc). NULL if it is not
 * valid; `why` then says so, as the end of a sentence that starts with the file's name.
 */
enum { SAFETENSORS_WHY = 200 };
Safetensors *safetensors_parse(unsigned char *file, size_t bytes, char why[SAFETENSORS_WHY]);

const Entry *safetensors_find(const Safetensors *s, const char *name); /* NULL if none */
const char *safetensors_meta(const Safetensors *s, const char *key);   /* NULL if none */

#endif
