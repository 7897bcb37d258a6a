#include "ops/base/processors.h"

#include "ops/base/groups.h"

#include <math.h>
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

int processors_available(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    double n = online > 0 ? (double)online : 1;
    const int own = allowed();

    if (own > 0)
        n = fmin(n, own);
    return (int)fmax(1, fmin(n, ceil(groups_processors(OWN_GROUPS))));
}
