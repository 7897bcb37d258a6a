/* The fixed directions omega of Performer. */
#ifndef OPS_ATTENTION_ENGINE_DIRECTIONS_H
#define OPS_ATTENTION_ENGINE_DIRECTIONS_H

#include "ops/base/random.h"
#include "ops/tape.h"

/* Fills omega (H, m, D); see directions.c. */
void directions_draw(Tensor *omega, Random random);

#endif
