#include "data/numbering.h"

#include "ops/base/error.h"
#include "ops/base/random.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };
_Static_assert((uint32_t)0 - 1 == UNNUMBERED, "a free slot, less one");

bool bytes_same(Bytes a, Bytes b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* FNV-1a (Fowler, Noll and Vo), mixed because its low bits are weak. */
uint64_t bytes_hash(Bytes b)
{
    uint64_t h = 0xcbf29ce484222325;

    for (size_t i = 0; i < b.n; i++)
        h = (h ^ b.at[i]) * 0x100000001b3;
    return random_mix(h);
}

static uint32_t more_slots(uint32_t **slot, uint32_t slots)
{
    slots = slots ? 2 * slots : FIRST_SLOTS;
    *slot = xrealloc(*slot, slots * sizeof **slot);
    memset(*slot, 0, slots * sizeof **slot);
    return slots;
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t key_slot(const KeyNumbers *k, uint32_t key)
{
    uint32_t i = (uint32_t)random_mix(key);

    for (i &= k->slots - 1; k->slot[i] && k->key[k->slot[i] - 1] != key;)
        i = (i + 1) & (k->slots - 1);
    return i;
}

uint32_t key_find(const KeyNumbers *k, uint32_t key)
{
    return k->n ? k->slot[key_slot(k, key)] - 1 : UNNUMBERED;
}

uint32_t key_number(KeyNumbers *k, uint32_t key)
{
    if (2 * k->n == k->slots) {
        k->slots = more_slots(&k->slot, k->slots);
        k->key = xrealloc(k->key, k->slots / 2 * sizeof *k->key);
        for (uint32_t i = 0; i < k->n; i++)
            k->slot[key_slot(k, k->key[i])] = i + 1;
    }
    uint32_t i = key_slot(k, key);
    if (!k->slot[i]) {
        k->key[k->n++] = key;
        k->slot[i] = k->n;
    }
    return k->slot[i] - 1;
}

void key_free(KeyNumbers *k)
{
    free(k->key);
    free(k->slot);
    *k = (KeyNumbers){ 0 };
}

static uint32_t bytes_slot(const BytesNumbers *b, Bytes bytes)
{
    uint32_t i = (uint32_t)bytes_hash(bytes);

    for (i &= b->slots - 1; b->slot[i] && !bytes_same(b->bytes[b->slot[i] - 1], bytes);)
        i = (i + 1) & (b->slots - 1);
    return i;
}

uint32_t bytes_find(const BytesNumbers *b, Bytes bytes)
{
    return b->n ? b->slot[bytes_slot(b, bytes)] - 1 : UNNUMBERED;
}

uint32_t bytes_number(BytesNumbers *b, Bytes bytes)
{
    if (2 * b->n == b->slots) {
        b->slots = more_slots(&b->slot, b->slots);
        b->bytes = xrealloc(b->bytes, b->slots / 2 * sizeof *b->bytes);
        for (uint32_t i = 0; i < b->n; i++)
            b->slot[bytes_slot(b, b->bytes[i])] = i + 1;
    }
    uint32_t i = bytes_slot(b, bytes);
    if (!b->slot[i]) {
        b->bytes[b->n++] = bytes;
        b->slot[i] = b->n;
    }
    return b->slot[i] - 1;
}

void bytes_free(BytesNumbers *b)
{
    free(b->bytes);
    free(b->slot);
    *b = (BytesNumbers){ 0 };
}
