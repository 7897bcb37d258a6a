/* The loss and accuracy of a model on held-back data. */
#ifndef TRAINING_EVALUATE_H
#define TRAINING_EVALUATE_H

#include "model/model.h"
#include "training/source.h"

#include <signal.h>

typedef struct {
    double loss;     /* nats per target */
    double accuracy; /* the share of targets to which the model gives the highest probability; NaN:
                        undefined */
    double targets;
} Evaluation;

/*
 * Over at most `rows` of the held-back rows, each as long as the model's context,
 * spread evenly over all of them; 0: all. The same rows every time, B at once; resets
 * the tape.
 */
Evaluation evaluate(Tape *tape, const Model *model, const Source *source, int B, size_t rows);

/* The same, but if *stop is set meanwhile it ends soon, with no meaning. */
Evaluation evaluate_until(Tape *tape, const Model *model, const Source *source, int B, size_t rows,
                          const volatile sig_atomic_t *stop);

#endif
