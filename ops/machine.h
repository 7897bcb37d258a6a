/* The machine: its clock, its memory, and the most that it could compute. */
#ifndef OPS_MACHINE_H
#define OPS_MACHINE_H

#include "ops/pool.h"

/*
 * Floating point operations a second of independent multiply-adds on registers,
 * two operations each, on all threads at once: the best of a few short runs.
 */
double machine_peak(Pool *pool);

double seconds_now(void); /* on a clock that only runs forward */

/* Bytes of memory that the machine has; 1e30 if it does not say. */
double machine_memory(void);

int machine_processors(void);

#endif
