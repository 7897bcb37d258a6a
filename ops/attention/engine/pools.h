/*
 * The windows and pools of poolingformer.c, and its decoding: keys and values of the last positions
 * that a window reaches are kept in a ring, and the means of pools are found again at each
 * position.
 */
#ifndef OPS_ATTENTION_ENGINE_POOLS_H
#define OPS_ATTENTION_ENGINE_POOLS_H

#include "ops/attention/engine/head.h"

/* w1, w2, kappa and xi */
typedef struct {
    int near, far, size, stride;
} Pools;

Pools pools_of(const Values *set);

/* P(i), of the first `count` pools. */
Span pools_seen(const Pools *p, bool causal, int count, int i);

size_t pools_state(const MixSize *s);
void pools_step(const Step *s);

#endif
