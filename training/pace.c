#include "training/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of a step goes forward and back, which is three times the work of an evaluated one. */
enum { FORWARDS = 3 };
static const double last_share = 0.1; /* of the limit, for the last evaluation */

void pace_step(Pace *p, double seconds)
{
    p->step[p->count++ % PACE_STEPS] = seconds;
}

void pace_mean(PaceMean *m, double n, double seconds)
{
    m->n += n;
    m->seconds += seconds;
}

static int kept(const Pace *p)
{
    return p->count < PACE_STEPS ? p->count : PACE_STEPS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double pace_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n ? x[n / 2] : 0;
}

double pace_median_step(const Pace *p)
{
    double sorted[PACE_STEPS];

    memcpy(sorted, p->step, (size_t)kept(p) * sizeof *sorted);
    return pace_median(sorted, kept(p));
}

/* The mean; the first step, which meets cold memory, counts only while it is alone. */
static double step_seconds(const Pace *p)
{
    int first = p->count > 1 && p->count <= PACE_STEPS, n = kept(p);
    double sum = 0;

    for (int i = first; i < n; i++)
        sum += p->step[i];
    return n ? sum / (n - first) : 0;
}

static double row_seconds(const Pace *p)
{
    return p->rows.n > 0 ? p->rows.seconds / p->rows.n : step_seconds(p) / p->batch / FORWARDS;
}

static double save_seconds(const Pace *p)
{
    return p->saves.n > 0 ? p->saves.seconds / p->saves.n : 0;
}

/* Evaluates, and saves the best weights and the last. */
static double evaluation_seconds(const Pace *p)
{
    return p->some * row_seconds(p) + 2 * save_seconds(p);
}

/* What there is time for, of all rows; at least some. */
static double rows_in_time(const Pace *p, double all, double elapsed)
{
    double row = row_seconds(p), seconds = fmin(last_share * p->limit, p->limit - elapsed);

    return p->limit > 0 && row > 0 ? fmin(all, fmax(p->some, floor(seconds / row))) : all;
}

double pace_last_rows(const Pace *p, double elapsed)
{
    return rows_in_time(p, p->all, elapsed);
}

double pace_test_rows(const Pace *p, double elapsed)
{
    return rows_in_time(p, p->test, elapsed);
}

/* What follows the last step: an evaluation, and the last one if that has more rows. */
static double closing_seconds(const Pace *p)
{
    double rows = pace_last_rows(p, 0);

    return evaluation_seconds(p) + (rows > p->some ? rows * row_seconds(p) : 0) +
           pace_test_rows(p, 0) * row_seconds(p) + save_seconds(p);
}

double pace_left(const Pace *p, int step, double elapsed)
{
    int evaluations = (p->steps - 1) / p->interval - step / p->interval;
    double left = (p->steps - step) * step_seconds(p) + closing_seconds(p) +
                  (evaluations > 0 ? evaluations : 0) * evaluation_seconds(p);

    return p->limit > 0 ? fmax(0, fmin(left, p->limit - elapsed)) : left;
}

bool pace_is_over(const Pace *p, int step, double elapsed)
{
    double due = step % p->interval == 0 ? evaluation_seconds(p) : 0;

    return p->limit > 0 && elapsed + due + step_seconds(p) + closing_seconds(p) > p->limit;
}
