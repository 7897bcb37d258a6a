/* What a run of a given time trains, and for how many updates: ./train --minutes. */
#ifndef TRAINING_PLAN_H
#define TRAINING_PLAN_H

#include "ops/base/text.h"

typedef struct {
    int layers, heads, width, context, batch;
} PlanSize;

typedef struct {
    double seconds, bytes;   /* of the run, and of its text */
    double train, held_back; /* tokens */
    PlanSize given;          /* what the user has chosen; 0: is not given */
    int steps;               /* the same, of the updates */
    double dropout;          /* and of the dropout; NaN: is not given */
    int mechanisms;          /* each needs a layer */
    double batches;          /* of an update, in the mean */
    double share;            /* of the tokens of a text that are predicted when it is read */
    int evaluations;         /* rows of one are `some` batches; 0: all */
    double some;
    /* The seconds of an update of that size, on this machine. */
    double (*clock)(void *ctx, PlanSize size);
    void *ctx;
} PlanWanted;

typedef struct {
    PlanSize size;
    int steps, in_time, useful; /* updates: the fewer of those in the time and those that help, or
                                   those that are given */
    double step_seconds, epochs, dropout;
} Plan;

/* Of the sizes that there are; it needs only `given`. */
PlanSize plan_smallest(const PlanWanted *w);

/* Calls `clock` for the smallest size, and for those that seem to fit. */
Plan plan_run(const PlanWanted *w);

/* Subtracts the updates that would fit into these seconds. */
void plan_shorten(const PlanWanted *w, Plan *p, double seconds);

/* The i-th line of its reasons. */
enum { PLAN_REASONS = 2 };
Text plan_reason(const PlanWanted *w, const Plan *p, int i);

#endif
