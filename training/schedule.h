/* The learning rate of every step. */
#ifndef TRAINING_SCHEDULE_H
#define TRAINING_SCHEDULE_H

typedef enum { SCHEDULE_COSINE, SCHEDULE_WSD, SCHEDULE_CONSTANT } ScheduleKind;

extern const char *const schedule_names[]; /* in their order, ended by NULL */

typedef struct {
    double rate, least; /* the highest learning rate, and the one at the end */
    int warmup, decay;  /* the step with the highest; the one from which on it is the least */
    ScheduleKind kind;
    double cooldown; /* of wsd: the share of `decay` in which it falls */
} Schedule;

/* The learning rate of a step, counted from 1. The warm-up has its way if `decay` is before it. */
double schedule_rate(const Schedule *s, int step);

#endif
