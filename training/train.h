/* The training loop. */
#ifndef TRAINING_TRAIN_H
#define TRAINING_TRAIN_H

#include "data/corpus.h"
#include "model/model.h"
#include "training/evaluate.h"
#include "training/optimiser.h"
#include "training/run.h"

#include <signal.h>

typedef struct {
    int batch, accumulation; /* sequences at once, and times that before an update */
    int steps;
    Schedule schedule;
    double beta1, beta2, decay, clip; /* clip 0: never */
    uint64_t seed;
    int eval_interval, eval_iters, log_interval;
    double max_seconds; /* 0: no limit */
    double peak;        /* operations a second, to compare with */
} TrainOptions;

typedef struct {
    Evaluation last; /* of the last weights, on all of the validation text */
    double best;     /* the least loss of the evaluations on the way */
    int best_step, steps;
    bool interrupted;
    double seconds, step_seconds; /* the whole loop; the median step */
} TrainResult;

/*
 * Trains until the steps are done, the time is over or *stop is set; logs to the
 * run, prints progress on stderr, and leaves model.safetensors and
 * best.safetensors. Dies with EXIT_FAILED when the numbers stay not finite.
 */
TrainResult train(Tape *tape, Model *model, const Corpus *corpus, Run *run, const TrainOptions *o,
                  const volatile sig_atomic_t *stop);

#endif
