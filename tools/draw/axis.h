/*
 * One axis of a chart: the mapping from values to pixels, and the ticks with their labels.
 *
 *     values   lo ------ tick ------ tick ------ hi      log: lo and hi are log10
 *     pixels   from ----------------------------- to
 *
 * See every value first, fit once, then place. Numbers are written without the
 * C library's printf of doubles, so a locale cannot turn a point into a comma.
 */
#ifndef TOOLS_DRAW_AXIS_H
#define TOOLS_DRAW_AXIS_H

#include "ops/base/text.h"

#include <stdbool.h>

enum { TICKS_MAX = 64 };

typedef struct {
    bool log;
    bool cover;      /* ends on ticks beyond the data; if not, close to the data */
    int most;        /* about how many labels there is room for */
    double lo, hi;   /* nothing seen: lo > hi */
    double from, to; /* to be set by the owner */
    bool not_twos;   /* a value was seen that is no power of two */
    bool not_whole;  /* or that is no whole number */
    int n;
    double tick[TICKS_MAX];
    Text label[TICKS_MAX]; /* empty: a minor tick */
} Axis;

Axis axis_new(bool log, bool cover);

/* Whether v has a place: NaN, infinities and, on a log axis, what is not above 0 have none. */
bool axis_holds(const Axis *axis, double v);
/* Widens the axis to hold v, if it has a place. */
void axis_see(Axis *axis, double v);
bool axis_empty(const Axis *axis);
/* Chooses the ends and the ticks. */
void axis_fit(Axis *axis);
/* The pixel of v; NaN if it has no place. */
double axis_place(const Axis *axis, double v);

/*
 * At most `most` (>= 3) ticks, at multiples of 1, 2 or 5 times a power of ten, the first not above
 * lo and the last not below hi (to a millionth of a step). Returns how many; lo < hi.
 */
int axis_ticks(double lo, double hi, int most, double *tick);

/* v with at most `digits` (<= 15) significant digits, as a person would write it. */
Text number_text(double v, int digits);

#endif
