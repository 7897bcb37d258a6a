/* How far a mean may be from the truth. */
#ifndef TOOLS_COMMON_INTERVAL_H
#define TOOLS_COMMON_INTERVAL_H

#include <stddef.h>

/* Half of the 95% interval of the mean of n numbers, 2 or more, with this standard deviation. */
double interval_half(double sd, size_t n);

#endif
