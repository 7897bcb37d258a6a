/* The machine: its clock, its memory, its processors. */
#ifndef OPS_BASE_MACHINE_H
#define OPS_BASE_MACHINE_H

#include "ops/base/text.h"

/*
 * Sleeps for a fiftieth of a second, as do a pool's threads; when two that shared a
 * processor wake, they get one each. For timing shorter work.
 */
void machine_pause(void);

double seconds_now(void); /* a monotonic clock */

/* The machine's memory in bytes; 1e30 if unknown. */
double machine_memory(void);

/* The name of the processor. */
Text machine_name(void);

#endif
