/*
 * Runs a model token by token. The output after each token is the last row of model_logits() over
 * all tokens so far; but instead of reading these again, the layers keep what they need in the
 * tape's states (ops/decoding.h), whose size is constant for linear attention and grows with the
 * tokens for exact attention. RoPE, sinusoids and all mechanisms allow any position; cosformer.c
 * describes positions beyond its horizon.
 */
#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include "model/model.h"

typedef struct Decoder Decoder;

/*
 * For `sequences` at a time, which are always at the same position, and at most this many tokens in
 * each; learned positions end with the context. The model must be causal. Dies if
 * the mechanism cannot decode (EXIT_USAGE), or if the states need more memory than the machine has
 * (EXIT_MEMORY).
 */
Decoder *decoder_new(const Model *model, Pool *pool, int positions, int sequences);
void decoder_free(Decoder *d);

/*
 * A token for each sequence: the logits (sequences, V) of the tokens after these, valid until the
 * next call. The weights are read once for all sequences, whose bits do not depend on the others.
 * After the second call it no longer calls malloc().
 */
const real *decoder_step(Decoder *d, const int *token);

/*
 * The same for n tokens, as after the last of them. Layers multiply all rows of many tokens at
 * once, and mixes of the first ones, up to the context, are computed as in training: a prompt takes
 * about the time of a forward pass. The logits differ by rounding from those of steps.
 *
 * They are the next tokens of all sequences, which have read the same so far; or each sequence
 * reads its own, where those of one are `apart` from those of the one before.
 */
const real *decoder_read(Decoder *d, const int *token, int n);
const real *decoder_read_each(Decoder *d, const int *token, int n, int apart);

/* Forgets all tokens of all sequences. */
void decoder_reset(Decoder *d);

/* The memory that it holds besides the model, in bytes. */
size_t decoder_held(const Decoder *d);

#endif
