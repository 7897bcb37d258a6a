/*
 * What the layers of a block are written with: how their parameters are made,
 * and what a pass through the model does with them. The frames, one file each,
 * are the layers around a mix; a block of most has a feed-forward layer as well.
 */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include "model/decode.h"
#include "model/model.h"
#include "ops/ops.h"

/*
 * Makes the parameters of a block, under names that begin with `block`.
 *
 * Matrices start with variance 1 / (3 inputs), so that a norm's output of size 1
 * comes out near 1; the two that add to the residual stream start smaller, by the
 * square root of how many add to it, so that the stream's size does not grow with
 * the depth.
 */
typedef struct {
    Params *params;
    const Config *config;
    const char *block;  /* "blocks.3." */
    const Block *first; /* whose weights others may share; NULL for block 0 itself */
} Maker;

enum { PARAM_NAME = 96 };
const char *make_name(const Maker *m, const char *name, char buffer[PARAM_NAME]);
DenseWeights make_dense(const Maker *m, const char *name, int out, int in, double gain);
NormWeights make_norm(const Maker *m, const char *name);
double make_add_gain(const Maker *m); /* of the matrices that add to the stream */

/* Once through the model. */
typedef struct {
    Tape *tape;
    const Config *config;
    MixSize size;
    const int *length; /* of each sequence; NULL: no padding */
    uint64_t step;     /* of dropout */
    int drops;         /* masks drawn so far */
    Watch watch;
    int from;         /* the position of the first token */
    Decoder *decoder; /* which remembers the tokens before it; NULL: there are none */
} Pass;

/* Tokens (B, T) to logits (B, T, V). */
Tensor *pass_logits(Pass *p, const Model *model, const int *id, int B, int T);

Tensor *pass_norm(Pass *p, Tensor *x, NormWeights n);
Tensor *pass_dense(Pass *p, Tensor *x, DenseWeights d);
Tensor *pass_heads(Pass *p, Tensor *x, DenseWeights d); /* the same, as (B, T, H, D or E) */
Tensor *pass_drop(Pass *p, Tensor *x);

/* o of the mix, as (B, T, H E); its settings are those of the configuration. */
Tensor *pass_mix(Pass *p, Mix in);

/* The same of the decoder's token: o (1, 1, H, E) of its next mix. */
Tensor *decoder_mix(Decoder *d, const Mix *in);

/* x + f(h) W^T + b: what closes a layer. */
Tensor *pass_add(Pass *p, Tensor *x, Tensor *h, DenseWeights d, const Activation *f);

/* A kind of layer around a mix. */
typedef struct {
    void (*make)(Block *b, const Maker *m);
    Tensor *(*run)(Pass *p, const Block *b, Tensor *x);
    bool feed_forward; /* it is followed by such a layer */
} Layer;

extern const Layer layer_heads, layer_pooled, layer_gated;

#endif
