/*
 * Prints tokens on a terminal as they arrive. A token may end in the middle of a
 * character: at any time all complete characters have been printed, and never half
 * of one.
 */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H

#include "data/token.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Starts as { .out = file }. Invalid UTF-8 becomes U+FFFD, one for each longest prefix of
 * a character, or with `skip` nothing. Control characters except \n and \t, and those that
 * change the direction of writing, become '?', since a terminal would obey them. `raw`:
 * bytes are printed unchanged; `one_line`: \n is a space.
 */
typedef struct {
    FILE *out;
    bool raw, one_line, skip;
    bool failed; /* a stream in memory says so only where it is written */
    int held;    /* bytes of an incomplete character */
    unsigned char at[4];
} Stream;

/* Both flush their output; false: it could not be written, and errno says why. */
bool stream_write(Stream *s, Bytes bytes);
bool stream_end(Stream *s); /* an incomplete character is invalid */

#endif
