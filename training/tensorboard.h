/*
 * The log of a run as TensorBoard reads it: `tensorboard --logdir runs` shows
 * the curves of all runs while they train.
 *
 * A folder may have several such files, one for each time that the run was
 * started; TensorBoard reads them in the order of their names, which begin with
 * the second of their making.
 */
#ifndef TRAINING_TENSORBOARD_H
#define TRAINING_TENSORBOARD_H

#include <stdint.h>

typedef struct Tensorboard Tensorboard;

/* When something was: the step, and the seconds since 1970. */
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
 * A new file in the folder. A run that goes on has start.step >= 0, the first
 * step that it will log: TensorBoard then forgets what the files before said of
 * that step and of later ones. A new run has -1.
 *
 * Whatever is written is in the file when the function returns, by one write()
 * for each. A file that cannot be written is the end (EXIT_IO).
 */
Tensorboard *tensorboard_open(const char *folder, Instant start);

/* n curves at once, one or more. */
void tensorboard_scalars(Tensorboard *t, Instant at, const Scalar *scalar, int n);

/* A text, in Markdown. */
void tensorboard_text(Tensorboard *t, Instant at, const char *tag, const char *text);

void tensorboard_close(Tensorboard *t);

#endif
