/*
 * A model that is given one token after the other. What it says after each is
 * the last row of model_logits() over all of them; but instead of all of them it
 * reads the states of the mixes: of constant size for linear attention, growing
 * with the tokens for exact attention. See model/decode.c for what happens
 * beyond the context.
 */
#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include "model/model.h"

typedef struct Decoder Decoder;

/*
 * For at most so many tokens; learned and sinusoidal positions end with the
 * context. The model sees one side only: no other can be decoded. Dies
 * (EXIT_MEMORY) where the states would take more than the machine has.
 */
Decoder *decoder_new(const Model *model, Pool *pool, int positions);
void decoder_free(Decoder *d);

/* The logits (V) of the token after this one, until the next call. From the third on none calls
 * malloc. */
const real *decoder_step(Decoder *d, int token);

/* The next token is the first again. */
void decoder_reset(Decoder *d);

/* The bytes of memory that it holds, beside the model. */
size_t decoder_held(const Decoder *d);

#endif
