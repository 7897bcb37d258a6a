/* 64-bit hashes, to identify bytes and to detect changes. */
#ifndef OPS_BASE_HASH_H
#define OPS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* `before` is the hash of the preceding bytes, or 0. Not cryptographic. */
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t n);
uint64_t hash_string(uint64_t before, const char *string);

#endif
