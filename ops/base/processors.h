/* How many processors this process may use: of those that are online, those that its affinity and
 * the quotas of its control groups leave to it. */
#ifndef OPS_BASE_PROCESSORS_H
#define OPS_BASE_PROCESSORS_H

int processors_available(void); /* 1 at least */

/* Its parts. The processors in a list such as 0-3,7; 0: it is not one. */
int processors_listed(const char *list);

/*
 * The processors' worth of time that Linux's control groups allow, HUGE_VAL where there is no
 * limit. `groups` is a file like /proc/self/cgroup, and `root` where the groups are mounted.
 */
double processors_quota(const char *groups, const char *root);

#endif
