/* One step of Muon, for one matrix. */
#ifndef TRAINING_MUON_H
#define TRAINING_MUON_H

#include "ops/base/pool.h"
#include "ops/base/real.h"

typedef struct {
    real *w, *m; /* the matrix and its momentum, row by row */
    const real *g;
    int rows, cols;
    double scale; /* of g */
    double momentum, rate, decay;
} Muon;

/* The bytes of scratch for a matrix of that size. */
size_t muon_scratch(int rows, int cols);

/* Moves w and m by the gradient times `scale`. What the scratch holds is anything. */
void muon_step(Pool *pool, const Muon *u, void *scratch);

#endif
