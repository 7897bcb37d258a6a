#include "tests/hashes.h"

#include "ops/base/hash.h"

#include <stdio.h>
#include <string.h>

/* What checkpoint.h says a hash is of. */
static uint64_t hash_of(const Entry *e)
{
    uint64_t h = hash_string(hash_string(0, e->name), dtype_name(e->dtype)), dim[ENTRY_RANK_MAX];

    for (int i = 0; i < e->ndim; i++)
        dim[i] = e->dim[i];
    h = hash_numbers(h, dim, (size_t)e->ndim * 8, 8);
    return hash_numbers(h, e->data, e->bytes, dtype_size(e->dtype));
}

static const char *digits(Arena *mem, uint64_t hash)
{
    char *text = arena_take(mem, 17);

    snprintf(text, 17, "%016llx", (unsigned long long)hash);
    return text;
}

void hashes_set(Safetensors *s, const char *key, const char *value)
{
    for (int i = 0; i < s->metas; i++)
        if (strcmp(s->meta[i].key, key) == 0)
            s->meta[i].value = value;
}

void hashes_renew(Safetensors *s, Arena *mem)
{
    uint64_t sum = 0;
    char key[NAME_MAX_BYTES + 16];

    for (int i = 0; i < s->entries; i++) {
        snprintf(key, sizeof key, "attnc.hash.%s", s->entry[i].name);
        hashes_set(s, key, digits(mem, hash_of(&s->entry[i])));
    }
    for (int i = 0; i < s->metas; i++)
        if (strncmp(s->meta[i].key, "attnc.", 6) == 0 && strcmp(s->meta[i].key, "attnc.hash") != 0)
            sum += hash_string(hash_string(0, s->meta[i].key), s->meta[i].value);
    hashes_set(s, "attnc.hash", digits(mem, sum));
}
