/*
 * The hash mixes in eight bytes, a little-endian word, at a time:
 *
 *     h <- mix(h + golden ^ word)
 *
 * Since mix is one to one, different words never give the same h: a change within
 * one word is always detected. The length comes first, so that zeros at the end count.
 */
#include "ops/base/hash.h"

#include "ops/base/random.h"

#include <string.h>

static uint64_t word_of(const unsigned char *at, size_t n)
{
    uint64_t word = 0;

    for (size_t b = 0; b < n; b++)
        word |= (uint64_t)at[b] << 8 * b;
    return word;
}

static uint64_t mix_in(uint64_t h, uint64_t word)
{
    return random_mix((h + 0x9e3779b97f4a7c15) ^ word);
}

uint64_t hash_bytes(uint64_t before, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t h = mix_in(before, n);
    size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8)
        h = mix_in(h, word_of(at + i, 8));
    return whole < n ? mix_in(h, word_of(at + whole, n - whole)) : h;
}

uint64_t hash_string(uint64_t before, const char *string)
{
    return hash_bytes(before, string, strlen(string));
}
