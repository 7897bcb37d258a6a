/* The training loop. */
#ifndef TRAINING_TRAIN_H
#define TRAINING_TRAIN_H

#include "model/model.h"
#include "training/evaluate.h"
#include "training/optimiser.h"
#include "training/run.h"
#include "training/schedule.h"
#include "training/source.h"

#include <signal.h>

typedef struct {
    int batch, accumulation; /* sequences at once, and batches per update */
    int steps, stop_at;      /* the run stops after this one, if not 0 */
    const int *length;       /* every batch has one of these lengths */
    int lengths;             /* and the same number of tokens; 0: all as long as the context */
    Schedule schedule;
    Optimiser optimiser; /* its first line */
    double clip;         /* 0: never */
    int eval_interval, eval_iters, log_interval;
    double max_seconds; /* 0: no limit */
    double peak;        /* operations per second of the machine */
} TrainOptions;

typedef struct {
    Evaluation last; /* of the last weights, on all of the validation text */
    double best;     /* the lowest loss of the evaluations during training */
    int best_step, steps;
    bool interrupted;
    double seconds, step_seconds; /* the whole loop; the median step */
} TrainResult;

typedef struct {
    Tape *tape;
    Model *model;
    const Source *source;
    Run *run;
    const Saved *from; /* to resume; NULL: a new run */
    const volatile sig_atomic_t *stop;
} Training;

/*
 * Trains until the steps are done, the time is over or *stop is set; logs to the
 * run, prints progress on stderr, and leaves model.safetensors and
 * best.safetensors. Dies with EXIT_FAILED if gradients stay not finite.
 *
 * An evaluation is due every eval_interval steps, and after the last. An interruption
 * adds none, so a run that is interrupted and resumed, at any step, leaves the same
 * files as one that is not.
 */
TrainResult train(const Training *t, const TrainOptions *o);

#endif
