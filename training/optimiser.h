/* AdamW, the gradient's norm, and the schedule of the learning rate. */
#ifndef TRAINING_OPTIMISER_H
#define TRAINING_OPTIMISER_H

#include "ops/params.h"

typedef struct {
    double rate, least; /* the highest learning rate, and the one at the end */
    int warmup, decay;  /* steps to the highest; step from which on it is the least, if later */
} Schedule;

/* The learning rate of a step, counted from 1: a line up, then half a cosine down. */
double schedule_rate(const Schedule *s, int step);

typedef struct {
    Params *params;
    double beta1, beta2, epsilon, decay;
    int step;    /* updates made so far */
    real *m, *v; /* of all parameters that are trained, one after the other */
} Optimiser;

typedef struct {
    const char *name;
    real *at;
    size_t n;
} Moment;
int optimiser_moments(const Optimiser *o, const Param *p, Moment out[2]);

void optimiser_init(Optimiser *a, Params *params, Arena *mem);

/* sqrt of the sum of squares of all gradients, in double. */
double gradient_norm(Pool *pool, Arena *mem, const Params *params);

/* One update with gradients times `scale`; afterwards no parameter has a gradient. */
void optimiser_step(Optimiser *a, Pool *pool, double rate, double scale);

#endif
