#include "ops/base/processors.h"

#include "ops/base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int processors_listed(const char *list)
{
    int n = 0;

    for (;; list++) {
        char *end;
        long first = strtol(list, &end, 10), last = first;

        if (end == list)
            return 0;
        if (*end == '-') {
            list = end + 1;
            last = strtol(list, &end, 10);
        }
        if (end == list || first < 0 || last < first)
            return 0;
        n += (int)(last - first + 1);
        list = end;
        if (*list != ',')
            return *list && *list != '\n' ? 0 : n;
    }
}

/* Of the process's affinity; 0: unknown. */
static int allowed(void)
{
    static const char key[] = "Cpus_allowed_list:";
    FILE *file = fopen("/proc/self/status", "r");
    char line[1024];
    int n = 0;

    while (file && n == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, sizeof key - 1) == 0)
            n = processors_listed(line + sizeof key - 1);
    if (file)
        fclose(file);
    return n;
}

/* One or two numbers in a file; the number of them. */
static int numbers_in(const char *folder, const char *name, double *a, double *b)
{
    const Text path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path.at, "r");
    int n = file ? fscanf(file, "%lf %lf", a, b) : 0;

    if (file)
        fclose(file);
    return n > 0 ? n : 0;
}

/* Of one group: "QUOTA PERIOD" in version 2, or "max PERIOD"; two files in version 1. */
static double quota_of(const char *folder)
{
    double quota = -1, period = 0, none;

    if (numbers_in(folder, "cpu.max", &quota, &period) < 2 &&
        (!numbers_in(folder, "cpu.cfs_quota_us", &quota, &none) ||
         !numbers_in(folder, "cpu.cfs_period_us", &period, &none)))
        return HUGE_VAL;
    return quota > 0 && period > 0 ? quota / period : HUGE_VAL;
}

/* The smallest of a group and all those around it. */
static double quota_above(const char *mount, char *path)
{
    double least = HUGE_VAL;

    for (;;) {
        char *slash = strrchr(path, '/');

        least = fmin(least, quota_of(text_format("%s%s", mount, path).at));
        if (!slash)
            return least;
        *slash = 0;
    }
}

static bool has_cpu(const char *controllers)
{
    const char *at = strstr(controllers, "cpu");

    while (at && ((at > controllers && at[-1] != ',') || (at[3] && at[3] != ',')))
        at = strstr(at + 1, "cpu");
    return at;
}

/* Lines are ID:CONTROLLERS:PATH; in version 2 the ID is 0, and there are no controllers. */
double processors_quota(const char *groups, const char *root)
{
    FILE *file = fopen(groups, "r");
    char line[1024];
    double least = HUGE_VAL;

    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path;

        if (!controllers || !(path = strchr(++controllers, ':')))
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        if (!*controllers)
            least = fmin(least, quota_above(root, path));
        else if (has_cpu(controllers))
            least = fmin(least, quota_above(text_format("%s/%s", root, controllers).at, path));
    }
    if (file)
        fclose(file);
    return least;
}

int processors_available(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    double n = online > 0 ? (double)online : 1, quota;

    if (allowed() > 0)
        n = fmin(n, allowed());
    quota = ceil(processors_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
    return (int)fmax(1, fmin(n, quota));
}
