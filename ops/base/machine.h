/* The machine: its clock, its memory, its processors. */
#ifndef OPS_BASE_MACHINE_H
#define OPS_BASE_MACHINE_H

#include "ops/base/text.h"

double seconds_now(void); /* a monotonic clock */

/* The time as in 2026-11-23T05:17:26.123Z: ISO 8601, UTC. */
Text machine_time(void);

/*
 * The memory in bytes that this process may use: the machine's, or less in a container or under a
 * limit (ulimit -v); 1e30 if unknown.
 */
double machine_memory(void);

/* The most memory that this process has used so far, in bytes. */
double machine_peak_memory(void);

/* The names of the processor, and of the machine in its network. */
Text machine_name(void);
Text machine_host(void);

#endif
