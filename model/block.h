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

/* A gated unit, see model/gated.c, with a scale and an offset for each operand computed from z. */
typedef struct {
    NormWeights norm;
    DenseWeights u, v, z, o; /* u: only with a gate */
    ScaleWeights scale[OPERANDS_MAX];
    Tensor *own[OPERANDS_MAX]; /* the mechanism's operands that are parameters */
} Unit;

typedef struct {
    NormWeights attention_norm, ffn_norm;
    DenseWeights q, k, v, o;
    DenseWeights out_gate;       /* with that setting only */
    Tensor *own[OPERANDS_MAX];   /* the mechanism's operands that are parameters */
    DenseWeights up, gate, down; /* gate: only for SwiGLU */
    Unit unit[2];                /* instead of all the above */
} Block;

#endif
