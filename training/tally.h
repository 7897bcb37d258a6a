/*
 * Right and wrong answers on held-back rows, at any length: accuracy, and what to compare it with.
 */
#ifndef TRAINING_TALLY_H
#define TRAINING_TALLY_H

#include "training/evaluate.h"
#include "training/perplexity.h"

typedef struct {
    Score targets; /* their losses, and how many are right */
    Score rows;    /* the share of right answers of each */
    double exact;  /* rows without a wrong one */
    Answers answers;
} Tally;

/* On at most `rows` rows, 0: all; the numbers are in `mem`. The model's context is their length. */
Tally tally_take(Tape *tape, const Model *model, const Source *source, size_t rows, Arena *mem);

double tally_accuracy(const Tally *t); /* the share of right targets */
double tally_error(const Tally *t);    /* its standard error, as if rows were independent */
double tally_exact(const Tally *t);    /* the share of rows without a wrong answer */
double tally_guess(const Tally *t);    /* the accuracy of always giving the most frequent answer */
double tally_f1(const Tally *t);       /* answers_f1() */

#endif
