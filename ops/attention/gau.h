/* The square of a relu, for others that weigh so: max(s, 0)^2 over a number of the row. */
#ifndef OPS_ATTENTION_GAU_H
#define OPS_ATTENTION_GAU_H

#include "ops/attention/engine/pairs.h"

extern const Weighting weighting_square;

#endif
