/* How many processors this process may use: of those that are online, those that its affinity and
 * the quotas of its control groups leave to it. */
#ifndef OPS_BASE_PROCESSORS_H
#define OPS_BASE_PROCESSORS_H

int processors_available(void); /* 1 at least */

/* The number of processors in a list such as 0-3,7; 0: it is not one. */
int processors_listed(const char *list);

#endif
