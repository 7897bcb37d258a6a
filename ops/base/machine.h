/* The machine: its clock, its memory, its processors. */
#ifndef OPS_BASE_MACHINE_H
#define OPS_BASE_MACHINE_H

#include "ops/base/text.h"

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
