/*
 * What layers are written with: creating their parameters, and running them in a pass through the
 * model.
 */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include "model/config_size.h"
#include "model/layer.h"
#include "ops/ops.h"
#include "ops/params.h"

/*
 * Creates the parameters of a block, with names that start with `block`.
 *
 * Matrices start with variance 1 / (3 inputs), so that a norm's output of size 1 comes
 * out near 1; the two that add to the residual stream start smaller, by the square root
 * of the number of layers that add to it, so that its size does not grow with the depth. Without
 * residual connections there is no stream, and they start like the others. With OUT_ZERO they start
 * at zero: every layer passes its input on, and the first updates find out what to add to it.
 */
typedef struct Maker {
    Params *params;
    const Config *config;
    const char *block;  /* "blocks.3." */
    const Block *first; /* of this mechanism, whose weights may be shared; NULL: this is it */
} Maker;

enum { PARAM_NAME = 96 };
const char *make_name(const Maker *m, const char *name, char buffer[PARAM_NAME]);
DenseWeights make_dense(const Maker *m, const char *name, int out, int in, double gain);
NormWeights make_norm(const Maker *m, const char *name);
double make_add_gain(const Maker *m); /* of the matrices that add to the residual stream */

/* The table of --value-embedding, a vector of v's width for each token, zero at first; or NULL. */
Tensor *make_value_embed(const Maker *m, const char *name);

/*
 * The operands of the mechanism that are parameters, "<prefix><name>": normally
 * distributed with variance 1 / their last dimension, or drawn by the operand's own rule.
 */
void make_own(Tensor *own[OPERANDS_MAX], const Maker *m, const char *prefix);

/* The size of those that are trained matrices. */
double own_matrices(const Config *c);

/*
 * Creates what surrounds a mix; `conv` has a letter for each input of its convolutions, and z is as
 * wide as q. The size of its matrices, and the numbers it keeps per token.
 */
void make_around(Around *a, const Maker *m, const char *prefix, const char *conv);
double around_matrices(const Config *c, const MixSize *s);
double around_kept(const Config *c, const MixSize *s, const char *conv);

/*
 * Callbacks, or NULL: with the operands of each mix of a pass, in order, and with x, the embeddings
 * (layer 0) and the output of each block. Both are valid only during the call.
 */
typedef struct {
    void (*see)(void *ctx, const Mix *in);
    void *ctx;
    void (*layer)(void *ctx, int layer, const Tensor *x);
} Watch;

/* A forward pass through the model. */
typedef struct Pass {
    Tape *tape;
    const Config *config;
    MixSize size;
    const int *id;     /* the tokens, (B, T) */
    const int *length; /* of each sequence; NULL: no padding */
    uint64_t step;     /* for dropout */
    int drops;         /* dropout masks drawn so far */
    Watch watch;
} Pass;

Tensor *pass_norm(Pass *p, Tensor *x, NormWeights n);
Tensor *pass_dense(Pass *p, Tensor *x, DenseWeights d);
Tensor *pass_value_embed(Pass *p, Tensor *v, Tensor *table); /* v + table[id]; v without a table */
Tensor *pass_split(Pass *p, Tensor *x);                      /* x as (B, T, H, D or E) */
Tensor *pass_drop(Pass *p, Tensor *x);

/* conv(x) of x (B, T, C), or without w x; silu(conv(x)), in heads, of which x has some or all. */
Tensor *pass_conv(Pass *p, Tensor *x, Tensor *w);
Tensor *pass_input(Pass *p, Tensor *x, Tensor *w, int heads);

/* Norms q and k, and computes the operands that depend on h. */
void pass_around(Pass *p, const Around *a, Tensor *h, Mix *in);

/* A mix of this pass; the caller fills in the operands. */
Mix pass_operands(const Pass *p);

/* Computes o, as (B, T, H E). */
Tensor *pass_mix(Pass *p, const Mix *in);

/* x + y, or y without residual connections: the end of a layer; and for y = f(h) W^T + b. */
Tensor *pass_onto(Pass *p, Tensor *x, Tensor *y);
Tensor *pass_add(Pass *p, Tensor *x, Tensor *h, DenseWeights d, const Activation *f);

#endif
