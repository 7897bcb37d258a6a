/* The weights of a block. What the layer or the configuration does without is NULL. */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include "ops/attention.h"

typedef struct {
    Tensor *gain, *bias; /* bias: LayerNorm only */
} NormWeights;

typedef struct {
    Tensor *w, *b; /* b may be NULL */
} DenseWeights;

typedef struct {
    Tensor *gamma, *beta;
} ScaleWeights;

/* A gated unit; see model/gated.c. The operands that it makes of z have a scale and an offset each.
 */
typedef struct {
    NormWeights norm;
    DenseWeights u, v, z, o; /* u: with a gate only */
    ScaleWeights scale[OPERANDS_MAX];
} Unit;

typedef struct {
    NormWeights attention_norm, ffn_norm;
    DenseWeights q, k, v, o;
    DenseWeights out_gate;       /* with that setting only */
    Tensor *own[OPERANDS_MAX];   /* operands of the mechanism that are parameters */
    DenseWeights up, gate, down; /* gate: SwiGLU only */
    Unit unit[2];                /* instead of all the above */
} Block;

#endif
