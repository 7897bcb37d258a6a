/* The learning rate of every step. */
#ifndef TRAINING_SCHEDULE_H
#define TRAINING_SCHEDULE_H

typedef enum { SCHEDULE_COSINE, SCHEDULE_WSD, SCHEDULE_CONSTANT } ScheduleKind;

extern const char *const schedule_names[]; /* by ScheduleKind, ended by NULL */

typedef struct {
    double rate, least; /* the peak learning rate, and the one at the end */
    int warmup, decay;  /* the step of the peak; the first step at `least` */
    ScheduleKind kind;
    double cooldown; /* wsd: the share of `decay` in which the rate falls */
} Schedule;

/* The learning rate of a step, counted from 1. Warm-up comes first if `decay` is before it. */
double schedule_rate(const Schedule *s, int step);

#endif
