/*
 * Numbers things 0, 1, 2, ... in the order of their first appearance. A thing is a
 * 32-bit key, or bytes that stay where they are.
 *
 *     key     [ 7 ][ 3 ][ 9 ]                            number 1 is the key 3
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

/* Both start as { 0 }. */
typedef struct {
    uint32_t *key, n;
    uint32_t *slot, slots;
} KeyNumbers;

typedef struct {
    Bytes *bytes;
    uint32_t n;
    uint32_t *slot, slots;
} BytesNumbers;

uint32_t key_number(KeyNumbers *k, uint32_t key);     /* a new key gets the number n */
uint32_t key_find(const KeyNumbers *k, uint32_t key); /* or UNNUMBERED */
void key_free(KeyNumbers *k);

uint32_t bytes_number(BytesNumbers *b, Bytes bytes);
uint32_t bytes_find(const BytesNumbers *b, Bytes bytes);
void bytes_free(BytesNumbers *b);

bool bytes_same(Bytes a, Bytes b);
uint64_t bytes_hash(Bytes b);

#endif
