/*
 * The layers that contain a mix. Each is a row: how to create its parameters, run it, and compute
 * its sizes and costs. The row of a mechanism names its layer.
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
    bool feed_forward; /* a feed-forward layer follows */
    bool one_head;     /* by default */
    bool gammas;       /* q and k are scaled by --gamma-init */
    bool groups;       /* heads may share k and v: --n-kv-head */
    int inner;         /* the width of v over all heads, as a multiple of the model's width */

    void (*make)(Block *b, const struct Maker *m);
    Tensor *(*run)(struct Pass *p, const Block *b, Tensor *x);

    /* H and E of a mix, and the default of D. */
    void (*size)(const Config *c, MixSize *size);
    /* The size of the matrices that multiply a token before and after one mix. */
    double (*projections)(const Config *c, const MixSize *size);
    /* The same for all blocks, with shared parameters counted once. */
    double (*parameters)(const Config *c, const MixSize *size);
    /* Numbers per token: what a block keeps for its backward pass, and what that pass adds. */
    double (*kept)(const Config *c, const MixSize *size);
    double (*back)(const Config *c, const MixSize *size);
} Layer;

/* All layers; the layer of a mechanism. */
extern const Layer layer_heads, layer_pooled, layer_gated;
const Layer *layer_of(const Attention *a);

/* Whether the mechanism has that flag, and it is set. */
bool has_flag(const Config *c, const char *name);

/*
 * The heads that have a q, a k and a v of their own; the others share them with their neighbours.
 * And the columns of all of these, of 'q', 'k' or 'v'.
 */
int own_heads(const Config *c, const MixSize *s, char of);
int own_columns(const Config *c, const MixSize *s, char of);

#endif
