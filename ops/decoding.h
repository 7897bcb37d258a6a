/*
 * State that lasts from one position to the next. A decoding tape runs a model on the next
 * positions of a sequence, usually one; an op that depends on earlier positions (an attention, a
 * convolution) asks the tape for memory, and finds there what it stored at the position before.
 *
 * Pieces are assigned by call order: the k-th call of tape_state() in a step gets the k-th piece,
 * so every step must make the same calls. tape_reset() begins the next step.
 *
 * Several sequences have a state each, one after the other. A step is that of one sequence, or of
 * all at once.
 */
#ifndef OPS_DECODING_H
#define OPS_DECODING_H

#include "ops/tape.h"

Decoding *decoding_new(int most, int sequences);
void decoding_free(Decoding *d);

/* Restarts at position 0: sets all pieces to zero. */
void decoding_reset(Decoding *d);

/* Gives all sequences the state of the first. */
void decoding_share(Decoding *d);

/* The total size of all pieces in bytes. */
size_t decoding_held(const Decoding *d);

/*
 * The next piece, of n numbers: zeros at position 0, then as the previous position left it. It is
 * that of sequence b; those of the following ones are behind it.
 */
real *tape_state(Tape *tape, size_t n);

#endif
