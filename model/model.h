/*
 * A transformer with pre-norm blocks:
 *
 *     x = embedding(tokens)
 *     x = x + attention(norm(x))     \  for each      or two gated units
 *     x = x + ffn(norm(x))           /  block
 *     logits = norm(x) head^T
 *
 * Both residual additions may be left out, or the feed-forward layer of all blocks. If all
 * predictions are made from the last position (--task compression), with h_T = norm(x) there and
 * the sines and cosines s_t of a position,
 *
 *     x_t = h_T + s_t;   x_t = x_t + ffn(norm(x_t));   logits_t = x_t head^T
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "model/classifier.h"
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
    Block last; /* if config.from_last, with a feed-forward layer alone */
    Classifier classifier;
    Tensor *head;
} Model;

/* Parameters in `mem`, drawn from `seed`. */
void model_init(Model *model, Config config, Arena *mem, uint64_t seed);

/* The same for weights that are about to be read: matrices have no numbers yet. */
void model_init_undrawn(Model *model, Config config, Arena *mem);

/*
 * Before the update after `update`: with --redraw N, and if N divides `update`, draws the fixed
 * operands again, by the seed and `update` alone.
 */
void model_redraw(Model *model, uint64_t seed, int update);

/*
 * The same model, sharing the parameters, with a context of T. It is valid as long as `mem` and the
 * original. Sinusoids are computed again in `mem`; learned positions must cover T, or it is a BUG.
 */
Model model_at(const Model *model, int T, Arena *mem);

/*
 * The model's predictions for the batch: logits (B, T, V), T at most the context, or (B, classes).
 * A model with PAIRS_TOWERS takes a paired batch.
 * `dropout` is the number of the step, which selects the masks.
 */
Tensor *model_outputs(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

/*
 * The rows of a batch whose predictions are computed: those with a target, if the vocabulary is
 * large and at most half of the rows have one, else all. How many, their indices and targets, in
 * the memory of the step; and the model's predictions for these rows alone.
 */
typedef struct {
    int n, rows; /* rows: of the batch */
    const int *at, *target;
} Asked;
Asked model_asked(Tape *tape, const Model *model, Batch batch);
Tensor *model_answers(Tape *tape, const Model *model, Batch batch, Asked asked, uint64_t dropout);

/* The logits for tokens id (B, T) without padding. */
Tensor *model_logits(Tape *tape, const Model *model, const int *id, int B, int T, uint64_t dropout);

/* The logits (1, V) after the last of n tokens of one sequence; when decoding, of the next n. */
Tensor *model_next(Tape *tape, const Model *model, const int *id, int n);

/* The logits for one sequence, or what a classifier pools, calling `watch` for each mix and layer.
 */
Tensor *model_watch(Tape *tape, const Model *model, const int *id, int T, Watch watch);

/* The loss of each target of the batch, 0 for those that are -1. */
Tensor *model_losses(Tape *tape, const Model *model, Batch batch, uint64_t dropout);

#endif
