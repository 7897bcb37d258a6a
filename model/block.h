/* The weights of a block. Those that the layer or configuration does not use are NULL. */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include "ops/attention.h"

typedef struct {
    Tensor *gain, *bias; /* bias: only for LayerNorm */
} NormWeights;

typedef struct {
    Tensor *w, *b; /* b may be NULL */
} DenseWeights;

typedef struct {
    Tensor *gamma, *beta;
} ScaleWeights;

/* An operand that the layer computes (Operand.from): W, or W2 and W1; b; A. */
typedef struct {
    Tensor *w1, *w, *b, *A;
} Computed;

/* What surrounds a mix: see model/around.c. */
typedef struct {
    Tensor *conv[3], *gain[2]; /* in the order of make_around(); of the norms of q and k */
    Computed computed[OPERANDS_MAX];
} Around;

/* A gated unit, see model/gated.c, with a scale and an offset for each operand computed from z. */
typedef struct {
    NormWeights norm;
    DenseWeights u, v, z, o; /* u: only with a gate */
    Tensor *value_embed;     /* (V, H E), with --value-embedding only */
    ScaleWeights scale[OPERANDS_MAX];
    Tensor *own[OPERANDS_MAX]; /* the mechanism's operands that are parameters */
    Around around;
} Unit;

typedef struct {
    Tensor *from_x, *from_x0; /* --shortcut: a number each */
    NormWeights attention_norm, ffn_norm;
    DenseWeights q, k, v, o;
    DenseWeights out_gate;     /* with that setting only */
    Tensor *value_embed;       /* as in a unit */
    Tensor *out_norm, *skip;   /* the gain of --out-norm all; a number for each head */
    Tensor *own[OPERANDS_MAX]; /* the mechanism's operands that are parameters */
    Around around;
    DenseWeights up, gate, down; /* gate: only for SwiGLU */
    Unit unit[2];                /* instead of all the above */
} Block;

#endif
