/* What bytes are, in 64 bits: to know them again, and to notice that one has changed. */
#ifndef OPS_BASE_HASH_H
#define OPS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* `before` is the hash of what came before, or 0. No protection from anyone who wants to fool it.
 */
uint64_t hash_bytes(uint64_t before, const void *bytes, size_t n);
uint64_t hash_string(uint64_t before, const char *string);

#endif
