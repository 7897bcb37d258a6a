/*
 * Tokens as text on a terminal, while they come. A token may end in the middle
 * of a character: what is printed at any time is all the characters that are
 * complete, and never half of one.
 */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H

#include "data/token.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Starts as { .out = file }. Bytes that are no UTF-8 become U+FFFD, each longest
 * beginning of a character one; control characters but for \n and \t become '?',
 * for a terminal obeys them. `raw`: the bytes as they are, at once; `one_line`: \n is a space.
 */
typedef struct {
    FILE *out;
    bool raw, one_line;
    int held; /* bytes of the character that is not complete */
    unsigned char at[4];
} Stream;

/* Both flush what they print; false: it could not be written, and errno says why. */
bool stream_write(Stream *s, Bytes bytes);
bool stream_end(Stream *s); /* a character that never became complete is U+FFFD */

#endif
