/*
 * The layers that go around a mix. Each is a row that says what a block of it consists
 * of, how it runs, and what it costs; the row of a mechanism names its layer.
 */
#ifndef MODEL_LAYER_H
#define MODEL_LAYER_H

#include "model/block.h"
#include "model/config.h"

struct Maker; /* model/layers.h */
struct Pass;

typedef struct {
    const char *name;
    int mixes;         /* per block */
    bool feed_forward; /* it is followed by such a layer */
    bool one_head;     /* of the width of all */

    void (*make)(Block *b, const struct Maker *m);
    Tensor *(*run)(struct Pass *p, const Block *b, Tensor *x);

    /* H and E of a mix; and D where no setting says otherwise. */
    void (*size)(const Config *c, MixSize *size);
    /* Numbers in the matrices that a token is multiplied with before and after one mix. */
    double (*projections)(const Config *c, const MixSize *size);
    /* The same of all blocks, as parameters: those that are shared count once. */
    double (*parameters)(const Config *c, const MixSize *size);
    /* Numbers per token that a block keeps for its backward pass, and that this takes at most. */
    double (*kept)(const Config *c, const MixSize *size);
    double (*back)(const Config *c, const MixSize *size);
} Layer;

/* All layers; the one that a mechanism names. */
extern const Layer layer_heads, layer_pooled, layer_gated;
const Layer *layer_of(const Attention *a);

#endif
