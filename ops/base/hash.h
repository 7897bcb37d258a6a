/* Numbers that identify bytes, and detect changes: a hash of 64 bits, and a checksum. */
#ifndef OPS_BASE_HASH_H
#define OPS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* `before` is the hash of the preceding bytes, or 0. Not cryptographic. */
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t n);
uint64_t hash_string(uint64_t before, const char *string);

/* The same for n bytes that come in pieces: begin, more for each piece, end. */
typedef struct {
    uint64_t h, word; /* the last `held` bytes, not yet mixed in */
    size_t held;
} Hash;
Hash hash_begin(uint64_t before, size_t n);
void hash_more(Hash *hash, const void *bytes, size_t n);
uint64_t hash_end(Hash hash);

/* Of numbers of `width` bytes each, as they are in files: little-endian on every processor. */
uint64_t hash_numbers(uint64_t before, const void *numbers, size_t bytes, size_t width);

/* CRC-32C (Castagnoli), as iSCSI, ext4 and TensorBoard have it; of "123456789" it is e3069283. */
uint32_t hash_crc32c(const void *at, size_t bytes);

#endif
