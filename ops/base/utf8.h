/* UTF-8, strictly: no overlong forms, no surrogates, nothing above 10FFFF. */
#ifndef OPS_BASE_UTF8_H
#define OPS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_MOST = 4 };

/*
 * The character at s, where n >= 1 bytes are: its length, 1 to UTF8_MOST; 0 if there is none.
 * Decoding never looks beyond a byte 0, so in a C string n may be UTF8_MOST.
 */
int utf8_decode(const unsigned char *s, size_t n, uint32_t *code);

/* Writes a character of at most 4 bytes; its length. */
int utf8_encode(unsigned char *to, uint32_t code);

#endif
