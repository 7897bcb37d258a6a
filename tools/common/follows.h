/* Defaults of ./train that follow from other options. */
#ifndef TOOLS_COMMON_FOLLOWS_H
#define TOOLS_COMMON_FOLLOWS_H

#include "ops/base/json.h"
#include "training/optimiser.h"

#include <math.h>

/* Seconds for the built-in stories, and the most updates until the rate has its peak. */
enum { STORY_SECONDS = 110, WARMUP = 100 };

static inline double follows_warmup(const OptimiserKind *kind, double decay)
{
    return fmin(WARMUP, floor(decay / kind->warmup));
}

static inline double follows_eval_interval(double steps)
{
    return fmax(1, floor(steps / 10));
}

/* What an option, "min-lr" or "min_lr", is by default where the others are those of a config.json;
 * NaN: nothing that follows from them. */
double follows_from(const Json *config, const char *name);

#endif
