/*
 * Numbers things 0, 1, 2, ... in the order of their first appearance. A thing is bytes
 * that stay where they are, or a key: Bytes at NULL, whose n is the key.
 *
 *     thing   [ 7 ][ 3 ][ 9 ]                            number 1 is the key 3
 *     slot    [ 0 ][ 3 ][ 0 ][ 1 ][ 2 ][ 0 ][ 0 ][ 0 ]   numbers + 1; 0: free
 *
 * The search for a thing starts at the slot of its hash and ends at the thing or at a
 * free slot (linear probing). At least half of the slots are free, so it is short.
 */
#ifndef DATA_NUMBERING_H
#define DATA_NUMBERING_H

#include "data/token.h"

#include <stdbool.h>

#define UNNUMBERED UINT32_MAX

/* Starts as { 0 }. */
typedef struct {
    Bytes *thing;
    uint32_t n, *slot, slots;
} Numbers;

static inline Bytes key_of(uint32_t key)
{
    return (Bytes){ NULL, key };
}

uint32_t numbers_add(Numbers *numbers, Bytes thing);        /* its number; that of a new one is n */
uint32_t numbers_find(const Numbers *numbers, Bytes thing); /* or UNNUMBERED */
void numbers_free(Numbers *numbers);

bool bytes_same(Bytes a, Bytes b);
uint64_t bytes_hash(Bytes b);

#endif
