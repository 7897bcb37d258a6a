/* The peak speed of the machine: multiply-adds in registers, and reading from memory. */
#ifndef OPS_KERNEL_PEAK_H
#define OPS_KERNEL_PEAK_H

#include "ops/base/pool.h"

/*
 * Floating point operations per second of independent multiply-adds on registers (each counts as
 * two), on all threads at once: the best of several short rounds. Takes a tenth of a second, and up
 * to a third where the threads together fall short of one thread times their number.
 */
double peak_flops(Pool *pool);

/*
 * Bytes per second that all threads together read from a buffer of that size, repeatedly. The size
 * selects the memory: no cache holds 256 MiB.
 */
double peak_bandwidth(Pool *pool, size_t bytes);

#endif
