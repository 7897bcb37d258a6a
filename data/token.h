/* Text as bytes, and the tokens that it becomes. */
#ifndef DATA_TOKEN_H
#define DATA_TOKEN_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *at;
    size_t n;
} Bytes;

typedef uint16_t Token;
enum { TOKENS_MAX = 1 << 16 };

#endif
