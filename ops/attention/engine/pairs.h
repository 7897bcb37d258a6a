/*
 * The op for mechanisms that weigh pairs (tiles.h): what is left of one is the
 * weighting, and tau_i and c_i of a row that sees n keys.
 */
#ifndef OPS_ATTENTION_ENGINE_PAIRS_H
#define OPS_ATTENTION_ENGINE_PAIRS_H

#include "ops/attention/engine/tiles.h"

typedef struct {
    const Weighting *weighting;
    real (*scale)(Settings set, int D, int n);
    real (*divisor)(Settings set, int n); /* NULL where the weighting averages */
    int chunk;                            /* see View */
} Tiling;

/* The op, for such a mechanism; its decoding, from a cache of keys and values; and their sizes. */
Tensor *pairs_mix(Tape *tape, Mix in, Tiling how);
void pairs_step(Step s, Tiling how);
size_t pairs_state(MixSize size, int chunk);
double pairs_cost(MixSize size, int chunk);
MixMemory pairs_memory(MixSize size, int chunk);

#endif
