#include "ops/base/buffer.h"

#include "ops/base/error.h"

#include <string.h>

void buffer_add(Buffer *b, const void *bytes, size_t n)
{
    if (n > b->room - b->n) {
        b->room = 2 * b->room + n;
        b->at = xrealloc(b->at, b->room);
    }
    if (n > 0)
        memcpy(b->at + b->n, bytes, n);
    b->n += n;
}
