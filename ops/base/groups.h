/*
 * What Linux's control groups, such as that of a container, leave to this process; HUGE_VAL where
 * there is no limit. `groups` is a file like /proc/self/cgroup, and `root` where the groups are
 * mounted.
 */
#ifndef OPS_BASE_GROUPS_H
#define OPS_BASE_GROUPS_H

#define OWN_GROUPS "/proc/self/cgroup", "/sys/fs/cgroup"

double groups_processors(const char *groups, const char *root); /* processors' worth of time */
double groups_memory(const char *groups, const char *root);     /* bytes */

#endif
