/* A growing array of bytes. Starts as { 0 }; free(b.at) at the end. */
#ifndef OPS_BASE_BUFFER_H
#define OPS_BASE_BUFFER_H

#include <stddef.h>

typedef struct {
    unsigned char *at;
    size_t n, room;
} Buffer;

void buffer_add(Buffer *b, const void *bytes, size_t n);

#endif
