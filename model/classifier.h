/* The end of a model that predicts one class for a whole sequence, up to its head. */
#ifndef MODEL_CLASSIFIER_H
#define MODEL_CLASSIFIER_H

#include "model/layers.h"

typedef struct {
    Tensor *query;                 /* for POOL_ATTENTION, or NULL */
    DenseWeights compare, combine; /* for PAIRS_TOWERS */
} Classifier;

void classifier_make(Classifier *classifier, const Maker *m);

/* The input of the head, for each sequence, or pair of them, of x (B, T, C); and the function that
 * the head applies to it first, or NULL. */
Tensor *classifier_run(Pass *p, const Classifier *classifier, Tensor *x);
const Activation *classifier_activation(const Config *c);

#endif
