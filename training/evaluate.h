/* How good a model is on what it was not trained on. */
#ifndef TRAINING_EVALUATE_H
#define TRAINING_EVALUATE_H

#include "model/model.h"
#include "training/source.h"

typedef struct {
    double loss;     /* nats a target */
    double accuracy; /* the share of targets that are the likeliest answer; NaN: not counted */
    double targets;
} Evaluation;

/*
 * Over at most `rows` of the rows that are held back, of the model's context,
 * spread evenly over all of them; 0: all of them. The same rows every time, B at
 * once; the tape is reset.
 */
Evaluation evaluate(Tape *tape, const Model *model, const Source *source, int B, size_t rows);

#endif
