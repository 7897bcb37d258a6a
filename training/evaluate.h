/* The loss on text that was not trained on. */
#ifndef TRAINING_EVALUATE_H
#define TRAINING_EVALUATE_H

#include "data/corpus.h"
#include "model/model.h"

/*
 * Nats a token over at most `windows` windows of the model's context, spread
 * evenly over those that lie side by side in the text; 0: all of them. The same
 * windows every time, B at once; the tape is reset.
 */
double evaluate(Tape *tape, const Model *model, Bytes text, int B, size_t windows);

#endif
