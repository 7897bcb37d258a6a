#include "tests/tensors.h"

#include "ops/base/error.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

char why[SAFETENSORS_WHY];

Safetensors *parse(const void *at, size_t bytes)
{
    unsigned char *copy = xmalloc(bytes);

    memcpy(copy, at, bytes);
    strcpy(why, "nothing");
    return safetensors_parse(copy, bytes, why);
}

bool parses(const void *at, size_t bytes)
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
