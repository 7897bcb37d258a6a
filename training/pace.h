/*
 * How long the parts of a run take, and what follows: when it will end, and when it has to stop
 * for all of it to fit into a time limit.
 *
 *     a run = steps, with an evaluation on `some` rows every `interval` of them, and at the end
 *             an evaluation on `all` rows, of which a run with a limit takes what a tenth of it
 *             is enough for, but at least `some`; and the same of the test data
 */
#ifndef TRAINING_PACE_H
#define TRAINING_PACE_H

#include <stdbool.h>

enum { PACE_STEPS = 4096 };

typedef struct {
    double seconds, n;
} PaceMean;

typedef struct {
    int steps, interval;
    double batch;     /* rows of a step */
    double some, all; /* rows of an evaluation, */
    double test;      /* and of the test data; 0: none */
    double limit;     /* seconds; 0: none */

    /* measured so far */
    int count;               /* steps, */
    double step[PACE_STEPS]; /* and the seconds of the last ones */
    PaceMean rows, saves;    /* of evaluations; of checkpoints */
} Pace;

void pace_step(Pace *p, double seconds);
void pace_mean(PaceMean *m, double n, double seconds);

double pace_median_step(const Pace *p);
double pace_median(double *x, int n); /* which it sorts; 0 of none */

/* The rows of the last evaluation, and of that on the test data, if it begins now. */
double pace_last_rows(const Pace *p, double elapsed);
double pace_test_rows(const Pace *p, double elapsed);

/* Seconds from after `step` to the end of the run; `elapsed`: since its start. */
double pace_left(const Pace *p, int step, double elapsed);

/* Whether there is no time for one more step. */
bool pace_is_over(const Pace *p, int step, double elapsed);

#endif
