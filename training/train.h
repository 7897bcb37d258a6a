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
    const int *size;         /* sequences at once in equal parts of the run, at most `batch`; */
    int sizes;               /* how many parts; 0: always `batch` */
    const int *length;       /* every batch has one of these lengths, */
    int lengths;             /* and as many tokens as at the context; 0: all have its length */
    bool in_turn;            /* each length for an equal part of the run; else it is drawn */
    int steps, stop_at;      /* the run stops after this one, if not 0 */
    Schedule schedule;
    Optimiser optimiser; /* its first line */
    double clip;         /* 0: never */
    double spike;        /* what skips_add() takes for one; 0: nothing */
    int eval_interval, eval_iters, log_interval;
    double max_seconds;  /* 0: no limit */
    double save_seconds; /* a checkpoint at least this often; 0: only with evaluations */
    double peak;         /* operations per second of the machine; NaN: unknown */
} TrainOptions;

/* Why a run ended. Those before STOP_STEPS have no result yet. */
typedef enum {
    STOP_NOT,
    STOP_ASKED,    /* by a signal */
    STOP_AT,       /* the step it was to stop at */
    STOP_DIVERGED, /* too many gradients, or weights or moments, are not finite */
    STOP_STEPS,    /* all steps are done */
    STOP_TIME,     /* the limit would be exceeded */
} Stop;

typedef struct {
    Stop why;
    Evaluation last; /* of the last weights; of a run with a time limit perhaps not on all rows, */
    bool whole;      /* or else on all of them */
    Evaluation test; /* the same, on the test data; no targets: there is none */
    bool whole_test;
    double best;                  /* the loss of the best weights, run_best() */
    int best_step, steps, before; /* before: the steps that an earlier part of the run had done */
    int skipped;                  /* updates of the whole run */
    Text failure;                 /* STOP_DIVERGED: why */
    int saved;                    /* the step of the last checkpoint; 0: there is none */
    double seconds, step_seconds; /* the whole loop; the median step */
} TrainResult;

typedef struct {
    Tape *tape;
    Model *model;
    const Source *source, *test; /* test: data that no choice depends on; NULL: none */
    Run *run;
    const Saved *from; /* to resume; NULL: a new run */
    const volatile sig_atomic_t *stop;
} Training;

/*
 * Trains until the steps are done, the time is over, *stop is set or the run has failed (skips.h);
 * logs to the run, prints progress on stderr, and leaves model.safetensors and best.safetensors.
 * Weights or moments that are not finite are never saved.
 *
 * An evaluation is due every eval_interval steps, and after the last. An interruption adds none,
 * so a run that is interrupted or killed, and resumed, at any step, leaves the same files as one
 * that is not. The evaluation at the end adds none either, but if the run continues, weights that
 * it found to be the best stay that until others are better. A signal takes effect before the end
 * of a batch. A time limit includes the evaluations at the end.
 */
TrainResult train(const Training *t, const TrainOptions *o);

/* Of a batch, by its number in the run: its rows, if they were as long as the context; its length.
 */
int batches_rows(const TrainOptions *o, uint64_t number);
int batches_length(const TrainOptions *o, int context, uint64_t seed, uint64_t number);

/* The tokens of the first updates. */
double batches_tokens(const TrainOptions *o, int context, int steps);

/* The tokens of a run at that step, of which some are spent: they may have had other batches. */
double batches_until(const TrainOptions *o, int context, Spent spent, int step);

/* The tokens of the mean update after this one, divided by those of the next. */
double batches_growth(const TrainOptions *o, int step);

/* How long that would take, by a few steps: it changes the weights, and writes nothing. */
typedef struct {
    double seconds, step_seconds;
} Estimate;
Estimate train_estimate(const Training *t, const TrainOptions *o);

#endif
