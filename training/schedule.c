/*
 * All schedules rise linearly from 0, before step 1, to the peak rate, at step
 * `warmup`. The share that is left of it is 1 there and 0 from step `decay` on:
 *
 *     rate = least + (highest - least) left(done)      done = 0 .. 1, linear
 *
 *     cosine     left = (1 + cos(pi done)) / 2         from the end of the warm-up
 *     wsd        left = 1 - sqrt(done)                 in the last steps before `decay`
 *     constant   left = 1                              and no end
 *
 * Loshchilov and Hutter, 2017 (arXiv:1608.03983) have the cosine. It needs to
 * know the length of the run from the beginning. Warm-up, stable, decay (Hu et al.,
 * 2024, arXiv:2404.06395) does not: whatever the length of the run, its steps before
 * the fall are the same. Hägele et al., 2024 (arXiv:2405.18392)
 * compare shapes of the fall: 1 - sqrt, which falls steeply at first and slowly at low
 * rates, reaches a lower loss than a linear fall; in a fifth of the steps it reaches
 * that of the cosine.
 */
#include "training/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const schedule_names[] = { "cosine", "wsd", "constant", NULL };

/* The step at which the fall begins. */
static double fall_begins(const Schedule *s)
{
    double begin = s->kind == SCHEDULE_WSD ? s->decay * (1 - s->cooldown) : 0;

    return begin > s->warmup ? begin : s->warmup;
}

double schedule_rate(const Schedule *s, int step)
{
    double begin = fall_begins(s), done = (step - begin) / (s->decay - begin);

    if (step < s->warmup)
        return s->rate * step / s->warmup;
    if (s->kind == SCHEDULE_CONSTANT)
        return s->rate;
    if (step >= s->decay)
        return s->least;
    if (step <= begin)
        return s->rate;
    if (s->kind == SCHEDULE_WSD)
        return s->least + (s->rate - s->least) * (1 - sqrt(done));
    return s->least + (s->rate - s->least) * (1 + cos(3.14159265358979323846 * done)) / 2;
}
