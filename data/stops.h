/*
 * Stop strings: text goes on to a stream up to where one of them begins. Bytes that may be
 * the beginning of one wait until more are known.
 */
#ifndef DATA_STOPS_H
#define DATA_STOPS_H

#include "data/stream.h"
#include "ops/base/buffer.h"

typedef struct {
    const char *const *text; /* none is empty */
    int n;
    Stream *out;
    bool met; /* one of them: nothing else is printed */
    Buffer held;
} Stops;

/* False: as stream_write(). */
bool stops_write(Stops *s, Bytes bytes);
bool stops_end(Stops *s); /* what waited is printed, unless a stop string was met */

void stops_free(Stops *s);

#endif
