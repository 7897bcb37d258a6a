/*
 * The optimisers, and the gradient's norm. Each parameter that is trained has one
 * or two moments, arrays of its own size, and nothing else is remembered but the
 * number of steps:
 *
 *     AdamW    m, v        Muon    momentum      for the matrices of the blocks, and
 *                                  m, v          for the rest, which AdamW moves
 */
#ifndef TRAINING_OPTIMISER_H
#define TRAINING_OPTIMISER_H

#include "model/config_size.h"
#include "ops/params.h"

typedef enum { OPTIMISER_ADAMW, OPTIMISER_MUON } OptimiserKind;

extern const char *const optimiser_names[]; /* in their order, ended by NULL */

/* The first two lines are for the caller to fill in, before optimiser_init(). */
typedef struct {
    OptimiserKind kind;
    double beta1, beta2, epsilon, momentum, decay; /* momentum is Muon's, betas are AdamW's */

    int step; /* updates made so far */
    Params *params;
    real *state; /* the moments, parameter by parameter */
    void *scratch;
} Optimiser;

void optimiser_init(Optimiser *o, Params *params, Arena *mem);

/* Numbers that it takes for such a model, beside weights and gradients. An estimate. */
double optimiser_numbers(OptimiserKind kind, const Config *c);

/* One update with gradients times `scale`; afterwards no parameter has a gradient. */
void optimiser_step(Optimiser *o, Pool *pool, double rate, double scale);

typedef struct {
    const char *name; /* "m", "v", "momentum" */
    real *at;
    size_t n;
} Moment;

/*
 * The moments of a parameter and how many there are; none if it is fixed. Whoever
 * keeps them, the weights and `step` can go on from there to the same bits.
 */
int optimiser_moments(const Optimiser *o, const Param *p, Moment out[2]);

/* sqrt of the sum of squares of all gradients, in double. */
double gradient_norm(Pool *pool, Arena *mem, const Params *params);

#endif
