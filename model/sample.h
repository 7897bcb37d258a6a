/* Text that a model writes, token by token. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "model/model.h"

/*
 * How the next token is drawn: from the model's probabilities to the power of
 * 1 / temperature (0: it is the likeliest); of the top_k likeliest tokens alone
 * (0: of all); of these, from the likeliest on, only as many as it takes for
 * top_p of their probability (1: all). Of tokens as likely, the lower comes first.
 */
typedef struct {
    double temperature;
    int top_k;
    double top_p;
    uint64_t seed;
    bool extrapolate; /* beyond the context: see below */
} Sampling;

/*
 * A model and what it has read. Beyond the trained context, a mechanism with a state of
 * constant size goes on. One that keeps all keys would attend over distances that it has
 * never seen, so the sampler drops the first half of the context whenever it is full and
 * reads the other half again, unless it is to extrapolate. Learned and sinusoidal
 * positions end with the context: there it always does.
 */
typedef struct Sampler Sampler;

/* For at most so many tokens, read and written, in a sample. */
Sampler *sampler_new(const Model *model, Pool *pool, Sampling how, int tokens);
void sampler_free(Sampler *s);

/* Forgets all tokens. The draws of a sample depend on the seed, its number, and the position. */
void sampler_begin(Sampler *s, uint64_t number);

void sampler_read(Sampler *s, int token);

/* The token to follow those that were read, of which there is at least one; to be read as well. */
int sampler_draw(const Sampler *s);

/* The likeliest of V tokens; of several the first. */
int sample_likeliest(const real *logits, int V);

/* The token that u, in [0, 1), stands for. `room` is for V candidates. A logit that is NaN is never
 * drawn. */
typedef struct {
    double weight;
    int token;
} Candidate;
int sample_draw(Sampling how, const real *logits, int V, double u, Candidate *room);

#endif
