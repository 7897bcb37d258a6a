/*
 * The log of a run as TensorBoard reads it: `tensorboard --logdir runs` shows
 * the curves of all runs while they train.
 *
 * A folder may have several such files, one for each time the run was started or
 * resumed; TensorBoard reads them in the order of their names, which begin with the
 * time of their creation in seconds.
 */
#ifndef TRAINING_TENSORBOARD_H
#define TRAINING_TENSORBOARD_H

#include <stdint.h>

typedef struct Tensorboard Tensorboard;

/* The step of an event, and its time in seconds since 1970. */
typedef struct {
    int64_t step;
    double wall;
} Instant;

Instant instant_now(int64_t step);

typedef struct {
    const char *tag; /* "train/loss": the part before '/' groups the curves */
    double value;    /* NaN is kept: TensorBoard marks it */
} Scalar;

/*
 * Creates a file in the folder. A resumed run has start.step >= 0, the first step
 * that it will log: TensorBoard then drops what older files say about that step and
 * later ones. A new run has -1.
 *
 * Each call writes its event with one write(). Dies (EXIT_IO) if that fails.
 */
Tensorboard *tensorboard_open(const char *folder, Instant start);

/* A point of each of n >= 1 curves. */
void tensorboard_scalars(Tensorboard *t, Instant at, const Scalar *scalar, int n);

/* A text, in Markdown. */
void tensorboard_text(Tensorboard *t, Instant at, const char *tag, const char *text);

void tensorboard_close(Tensorboard *t);

#endif
