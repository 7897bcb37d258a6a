/*
 * The hash mixes in eight bytes, a little-endian word, at a time:
 *
 *     h <- mix(h + golden ^ word)
 *
 * Since mix is one to one, different words never give the same h: a change within
 * one word is always detected. The length comes first, so that zeros at the end count.
 */
#include "ops/base/hash.h"

#include "ops/base/file.h"
#include "ops/base/random.h"

#include <stdlib.h>
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

Hash hash_begin(uint64_t before, size_t n)
{
    return (Hash){ .h = mix_in(before, n) };
}

/* Adds a few bytes to those that are held. */
static void hold(Hash *hash, const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash->word |= (uint64_t)at[i] << 8 * hash->held++;
        if (hash->held == 8)
            *hash = (Hash){ .h = mix_in(hash->h, hash->word) };
    }
}

void hash_more(Hash *hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    const size_t missing = hash->held ? 8 - hash->held : 0, first = n < missing ? n : missing;
    const size_t whole = (n - first) / 8 * 8;

    hold(hash, at, first);
    for (size_t i = first; i < first + whole; i += 8)
        hash->h = mix_in(hash->h, word_of(at + i, 8));
    hold(hash, at + first + whole, n - first - whole);
}

uint64_t hash_end(Hash hash)
{
    return hash.held ? mix_in(hash.h, hash.word) : hash.h;
}

uint64_t hash_bytes(uint64_t before, const void *bytes, size_t n)
{
    Hash hash = hash_begin(before, n);

    hash_more(&hash, bytes, n);
    return hash_end(hash);
}

uint64_t hash_numbers(uint64_t before, const void *numbers, size_t bytes, size_t width)
{
    const void *ordered = file_order(numbers, bytes, width);
    const uint64_t h = hash_bytes(before, ordered, bytes);

    if (ordered != numbers)
        free((void *)(uintptr_t)ordered);
    return h;
}

uint64_t hash_string(uint64_t before, const char *string)
{
    return hash_bytes(before, string, strlen(string));
}

/*
 * The bits of the message are the coefficients of a polynomial over the numbers
 * 0 and 1, and the checksum is its remainder after division by
 *
 *     x^32 + x^28 + x^27 + ... + 1  =  82f63b78, the lowest power in the highest bit
 *
 * A step of the division shifts one bit out and, if it was 1, takes the divisor
 * off. Four such steps depend only on the four bits shifted out, so a table of 16
 * does them at once. The first 32 bits are inverted before, and the remainder
 * after, so that zeros at either end count.
 */
static const uint32_t after_four[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t hash_crc32c(const void *at, size_t bytes)
{
    const unsigned char *byte = at;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= byte[i];
        for (int half = 0; half < 2; half++)
            crc = crc >> 4 ^ after_four[crc & 15];
    }
    return ~crc;
}
