/*
 * A model that reads one token after another. Its output after each is the last row of
 * model_logits() over all of them; but instead of reading all of them again, the layers
 * keep what they need in the tape's states (ops/decoding.h): of constant size for linear
 * attention, growing with the tokens for exact attention. RoPE and the mechanisms take
 * any position; cosformer.c says what it does beyond its horizon.
 */
#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include "model/model.h"

typedef struct Decoder Decoder;

/*
 * For at most this many tokens; learned and sinusoidal positions end with the context. The
 * model must be causal. Dies (EXIT_USAGE) where its mechanism cannot decode, and (EXIT_MEMORY)
 * where the states would take more memory than the machine has.
 */
Decoder *decoder_new(const Model *model, Pool *pool, int positions);
void decoder_free(Decoder *d);

/* The logits (V) of the token after this one, valid until the next call. From the third call on it
 * does not call malloc. */
const real *decoder_step(Decoder *d, int token);

/* The next token is the first again. */
void decoder_reset(Decoder *d);

/* The bytes of memory that it holds, beside the model. */
size_t decoder_held(const Decoder *d);

#endif
