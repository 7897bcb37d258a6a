/* How good a model is on text that was not trained on. */
#ifndef TRAINING_EVALUATE_H
#define TRAINING_EVALUATE_H

#include "data/corpus.h"
#include "model/model.h"

typedef struct {
    double loss;     /* nats a target */
    double accuracy; /* of TASK_MLM: the share of masked tokens that are the likeliest; else NaN */
} Evaluation;

/*
 * Over at most `windows` windows of the model's context, spread evenly over
 * those that lie side by side in the text; 0: all of them. The same windows
 * every time, with the same tokens masked, B at once; the tape is reset.
 */
Evaluation evaluate(Tape *tape, const Model *model, Bytes text, int B, size_t windows);

#endif
