/*
 * What lasts from one position to the next. A tape that decodes runs a model over one
 * position at a time; whatever needs to know of earlier positions (an attention, a
 * convolution) asks the tape for a piece of memory, and finds there what it left.
 *
 * Pieces belong to callers by order: the k-th call of tape_state() in a step gets the
 * k-th piece, so a step must make the same calls each time. tape_reset() begins the
 * next step.
 */
#ifndef OPS_DECODING_H
#define OPS_DECODING_H

#include "ops/tape.h"

Decoding *decoding_new(int most);
void decoding_free(Decoding *d);

/* The next position is the first again: all pieces become zeros. */
void decoding_reset(Decoding *d);

/* The bytes of all pieces. */
size_t decoding_held(const Decoding *d);

/* The next piece, n numbers: zeros at position 0, later what they were left at. */
real *tape_state(Tape *tape, size_t n);

#endif
