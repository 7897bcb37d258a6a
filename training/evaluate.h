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
    double f1; /* of a class per sequence: answers_f1(); NaN: undefined */
} Evaluation;

/* (V): how often each answer was right, was given, or both. */
typedef struct {
    int V;
    double *asked, *said, *both;
} Answers;

Answers answers_new(Arena *mem, int V);
void answers_add(Answers *a, int asked, int said);

/* Macro-F1: the mean over the answers that occur of F1 = 2 both / (asked + said), the harmonic mean
 * of precision both / said and recall both / asked. */
double answers_f1(const Answers *a);

/* The loss of each target, and what the model says there, unless `said` is NULL; 0 and -1 without a
 * target. The tape is not reset. */
void evaluate_answers(Tape *tape, const Model *model, Batch batch, real *loss, int *said);

/* A row with the loss of each of its targets, and what the model says there; -1 without a target.
 */
typedef struct {
    Batch row;
    const real *loss;
    const int *said;
} Answer;

/* Rows that are held back, each as long as the model's context. */
typedef struct {
    const Source *source;
    int B;       /* at once */
    size_t rows; /* at most this many, spread evenly over all of them; 0: all */
    void (*see)(void *ctx, const Answer *answer); /* called for each, in order */
    void *ctx;
    const volatile sig_atomic_t *stop; /* if set meanwhile, it ends early; NULL: never */
} Reading;

/* The same rows every time, with the same answers for any B; resets the tape. */
void evaluate_each(Tape *tape, const Model *model, const Reading *r);

/* Their means; `see` and `ctx` are its own. If *stop is set meanwhile, they are meaningless. */
Evaluation evaluate(Tape *tape, const Model *model, Reading r);

#endif
