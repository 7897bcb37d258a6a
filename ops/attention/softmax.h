/* The softmax of a row, for others that have one: its weighting, and the factor of its scores. */
#ifndef OPS_ATTENTION_SOFTMAX_H
#define OPS_ATTENTION_SOFTMAX_H

#include "ops/attention/engine/pairs.h"

extern const Weighting weighting_softmax;

/* tau of a row that sees n keys; `base` is n0, 0: BASE. */
real softmax_scale(Scale scale, int base, int D, int n);

#endif
