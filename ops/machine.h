/* The machine: its clock, its memory, and the most that it could do. */
#ifndef OPS_MACHINE_H
#define OPS_MACHINE_H

#include "ops/pool.h"
#include "ops/text.h"

/*
 * Floating point operations a second of independent multiply-adds on registers,
 * two operations each, on all threads at once: the best of some short rounds. It
 * takes a tenth of a second, and up to a third where the threads together do not
 * reach what one of them does by itself, times their number.
 */
double machine_peak(Pool *pool);

/*
 * Bytes a second that all threads together read of so many, again and again. What
 * comes from the caches is told by the size: none holds 256 MiB.
 */
double machine_bandwidth(Pool *pool, size_t bytes);

/*
 * A fiftieth of a second in which a pool's threads fall asleep; when they wake, two
 * that shared a processor find one each. For whoever times what takes less.
 */
void machine_pause(void);

double seconds_now(void); /* on a clock that only runs forward */

/* Bytes of memory that the machine has; 1e30 if it does not say. */
double machine_memory(void);

int machine_processors(void);

/* What the processor calls itself. */
Text machine_name(void);

#endif
