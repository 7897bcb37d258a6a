/*
 * Progress on standard error: on a terminal one line that is rewritten and never wraps, anywhere
 * else a line each.
 */
#ifndef TRAINING_DISPLAY_H
#define TRAINING_DISPLAY_H

#include "ops/base/text.h"
#include "training/run.h"

/* 42s, 1m50s, 2h05m, 1d02h */
Text display_time(double seconds);

/* A step of `steps`; `share`: of the machine's peak, or NaN; `left`: seconds until the end. */
void display_step(const LogLine *line, int steps, double share, double left);

void display_validation(const LogLine *line, bool best);

#endif
