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

#include "model/config_size.h"
#include "model/layers.h"
#include "ops/base/batch.h"
#include "ops/base/random.h"
#include "ops/params.h"

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
 * share. Sinusoids are computed again in `mem`; a table of learned positions has room for T, or it
 * is a BUG.
 */
Model model_at(const Model *model, int T, Arena *mem);

/*
 * The model's predictions for the batch: logits (B, T, V), T at most the context, or (B, classes).
 * `dropout` numbers the step, whose masks it selects.
 */
Tensor *model_outputs(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

/* The same of tokens id (B, T) without padding; on a tape that decodes, of one more token (1, 1).
 */
Tensor *model_logits(Tape *tape, const Model *model, const int *id, int B, int T, uint64_t dropout);

/* The same logits, of one sequence, watched. */
Tensor *model_watch(Tape *tape, const Model *model, const int *id, int T, Watch watch);

/* The loss of each target of the batch, 0 where there is none. */
Tensor *model_losses(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

#endif
