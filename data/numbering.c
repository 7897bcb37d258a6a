#include "data/numbering.h"

#include "ops/base/error.h"
#include "ops/base/random.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };
_Static_assert((uint32_t)0 - 1 == UNNUMBERED, "a free slot, less one");

bool bytes_same(Bytes a, Bytes b)
{
    return a.n == b.n && (a.at == b.at || memcmp(a.at, b.at, a.n) == 0);
}

/* FNV-1a (Fowler, Noll and Vo), mixed because its low bits are weak. */
uint64_t bytes_hash(Bytes b)
{
    uint64_t h = b.at ? 0xcbf29ce484222325 : b.n;

    for (size_t i = 0; b.at && i < b.n; i++)
        h = (h ^ b.at[i]) * 0x100000001b3;
    return random_mix(h);
}

/* The slot of a thing, or the free one where it belongs. */
static uint32_t slot_of(const Numbers *t, Bytes thing)
{
    uint32_t i = (uint32_t)bytes_hash(thing);

    for (i &= t->slots - 1; t->slot[i] && !bytes_same(t->thing[t->slot[i] - 1], thing);)
        i = (i + 1) & (t->slots - 1);
    return i;
}

uint32_t numbers_find(const Numbers *t, Bytes thing)
{
    return t->n ? t->slot[slot_of(t, thing)] - 1 : UNNUMBERED;
}

static void grow(Numbers *t)
{
    t->slots = t->slots ? 2 * t->slots : FIRST_SLOTS;
    t->slot = xrealloc(t->slot, t->slots * sizeof *t->slot);
    memset(t->slot, 0, t->slots * sizeof *t->slot);
    t->thing = xrealloc(t->thing, t->slots / 2 * sizeof *t->thing);
    for (uint32_t i = 0; i < t->n; i++)
        t->slot[slot_of(t, t->thing[i])] = i + 1;
}

uint32_t numbers_add(Numbers *t, Bytes thing)
{
    if (2 * t->n == t->slots)
        grow(t);
    uint32_t *slot = &t->slot[slot_of(t, thing)];
    if (!*slot) {
        t->thing[t->n++] = thing;
        *slot = t->n;
    }
    return *slot - 1;
}

void numbers_free(Numbers *t)
{
    free(t->thing);
    free(t->slot);
    *t = (Numbers){ 0 };
}
