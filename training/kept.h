/* What a run that is resumed keeps of log.jsonl, and the curves of its losses. */
#ifndef TRAINING_KEPT_H
#define TRAINING_KEPT_H

#include "training/saved.h"

/* Losses by step. */
typedef struct {
    double *x, *y;
    int n, room;
} LossCurve;

typedef struct {
    LossCurve train, validation;
} LossCurves;

/* Adds a point if there is a curve of that split. */
void curves_add(LossCurves *c, const char *split, int step, double loss);
void curves_free(LossCurves *c);

/* What a run had used up at the last line of its log that says so; nothing: none does. */
typedef struct {
    int step;
    double tokens, seconds;
} Spent;

/*
 * Moves the lines that a run with that progress has logged to the front of the log, adds their
 * points to the curves, and returns the bytes of these lines. Lines of later steps, those written
 * at the end of the run, and anything that is not a line of this program's log are dropped.
 */
size_t kept_lines(char *log, size_t bytes, Progress p, LossCurves *curves, Spent *spent);

#endif
