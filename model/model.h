/*
 * A transformer with pre-norm blocks:
 *
 *     x = embedding(tokens)
 *     x = x + attention(norm(x))     \  for each      or two gated units
 *     x = x + ffn(norm(x))           /  block
 *     logits = norm(x) head^T
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "model/config.h"
#include "ops/base/batch.h"
#include "ops/base/random.h"
#include "ops/params.h"

typedef struct {
    Tensor *gain, *bias; /* bias: LayerNorm only */
} NormWeights;

typedef struct {
    Tensor *w, *b; /* b may be NULL */
} DenseWeights;

typedef struct {
    Tensor *gamma, *beta;
} ScaleWeights;

/* A gated unit; see model/gated.c. */
typedef struct {
    NormWeights norm;
    DenseWeights u, v, z, o; /* u: with a gate only */
    ScaleWeights q, k;
    bool linear; /* ql and kl are there */
    ScaleWeights ql, kl;
} Unit;

/* What is not there, as the frame or the configuration does without, is NULL. */
typedef struct {
    NormWeights attention_norm, ffn_norm;
    DenseWeights q, k, v, o;
    Tensor *omega;                    /* Performer */
    Tensor *pool_q, *pool_k, *concat; /* Fastformer; one vector of pool_q, or one a head */
    DenseWeights up, gate, down;      /* gate: SwiGLU only */
    Unit unit[2];                     /* instead of all the above */
} Block;

typedef struct {
    Config config;
    Params params;
    Tensor *embedding, *position;
    real *sinusoids; /* (context, width) for POSITION_SINUSOIDAL */
    Block *blocks;
    NormWeights norm;
    Tensor *head;
} Model;

/* Parameters in `mem`, drawn from `seed`. */
void model_init(Model *model, Config config, Arena *mem, uint64_t seed);

/*
 * The same model with a context of T, for as long as `mem` and the parameters last, which they
 * share. Sinusoids are made anew in `mem`; a table of learned positions has room for T, or it is a
 * BUG.
 */
Model model_at(const Model *model, int T, Arena *mem);

/* What the model says of the batch: logits (B, T, V), T at most the context, or (B, classes).
 * `dropout` parts the masks of a step. */
Tensor *model_outputs(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

/* The same of tokens id (B, T) without padding. */
Tensor *model_logits(Tape *tape, const Model *model, const int *id, int B, int T, uint64_t dropout);

/* Who is shown the mixes of a pass, in their order, and may look until `see` is over. */
typedef struct {
    void (*see)(void *ctx, const Mix *in); /* NULL: nobody */
    void *ctx;
} Watch;

/* The same logits, watched. */
Tensor *model_watch(Tape *tape, const Model *model, const int *id, int T, Watch watch);

/* The loss of each target of the batch, 0 where nothing is asked. */
Tensor *model_losses(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

#endif
