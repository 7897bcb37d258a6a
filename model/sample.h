/* Generates text with a model, token by token. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "model/model.h"

/*
 * How the next token is drawn: from the model's probabilities to the power of 1 / temperature (0:
 * always the most likely token), from the top_k most likely tokens (0: from all), of these from the
 * fewest whose total probability is top_p (1: all), and of these from those at least min_p times as
 * likely as the most likely one. Of equally likely tokens the lower comes first.
 */
typedef struct {
    double temperature;
    int top_k;
    double top_p, min_p;
    uint64_t seed;
    bool extrapolate; /* beyond the context: see below */
} Sampling;

/*
 * A model and the tokens it has read, of several samples of the same length. Beyond the trained
 * context, a mechanism whose state has constant size continues. One that keeps all keys would
 * attend over distances that it has never seen, so the sampler drops the first half of the context
 * whenever it is full and reads the other half again, unless it is to extrapolate. So it does with
 * sinusoidal positions, and always with learned ones, which end with the context.
 */
typedef struct Sampler Sampler;

/* Draws `samples` at a time, of at most `tokens` tokens each, including the prompt. */
Sampler *sampler_new(const Model *model, Pool *pool, Sampling how, int tokens, int samples);
void sampler_free(Sampler *s);

/*
 * Forgets all tokens. The samples have this number and those that follow it; the draws of each
 * depend only on the seed, its number and the position.
 */
void sampler_begin(Sampler *s, uint64_t number);

/* The next n tokens of all samples, before their first step; a long prompt is faster at once than
 * token by token. */
void sampler_read(Sampler *s, const int *token, int n);

/* A token for each sample. */
void sampler_step(Sampler *s, const int *token);

/* Draws the next token of a sample, which is not yet read; at least one must have been read. */
int sampler_draw(const Sampler *s, int sample);

/* The most likely of V tokens; the first if there are several. */
int sample_likeliest(const real *logits, int V);

/* The token selected by u in [0, 1). `room` holds V candidates. A NaN logit is never drawn. */
typedef struct {
    double weight;
    int token;
} Candidate;
int sample_draw(Sampling how, const real *logits, int V, double u, Candidate *room);

#endif
