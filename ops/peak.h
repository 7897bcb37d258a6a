/* What the processor could do at most: the yardstick of every speed that is printed. */
#ifndef OPS_PEAK_H
#define OPS_PEAK_H

#include "ops/pool.h"

/*
 * Floating point operations a second of independent multiply-adds on registers,
 * two operations each, on all threads at once: the best of a few short runs.
 */
double peak_measure(Pool *pool);

double seconds_now(void); /* on a clock that only runs forward */

#endif
