#include "ops/base/groups.h"

#include "ops/base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A limit, and how a group's folder tells it. */
typedef struct {
    const char *controller;
    double (*of)(const char *folder);
} Limit;

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

/* "QUOTA PERIOD" in version 2, or "max PERIOD"; two files in version 1. */
static double processors_of(const char *folder)
{
    double quota = -1, period = 0, none;

    if (numbers_in(folder, "cpu.max", &quota, &period) < 2 &&
        (!numbers_in(folder, "cpu.cfs_quota_us", &quota, &none) ||
         !numbers_in(folder, "cpu.cfs_period_us", &period, &none)))
        return HUGE_VAL;
    return quota > 0 && period > 0 ? quota / period : HUGE_VAL;
}

/* A number of bytes, or "max" in version 2. */
static double memory_of(const char *folder)
{
    double bytes = HUGE_VAL, none;

    if (!numbers_in(folder, "memory.max", &bytes, &none))
        numbers_in(folder, "memory.limit_in_bytes", &bytes, &none);
    return bytes > 0 ? bytes : HUGE_VAL;
}

/* The smallest of a group and all those around it. */
static double least_above(Limit limit, const char *mount, char *path)
{
    double least = HUGE_VAL;

    for (;;) {
        char *slash = strrchr(path, '/');

        least = fmin(least, limit.of(text_format("%s%s", mount, path).at));
        if (!slash)
            return least;
        *slash = 0;
    }
}

static bool is_among(const char *name, const char *controllers)
{
    const size_t n = strlen(name);
    const char *at = strstr(controllers, name);

    while (at && ((at > controllers && at[-1] != ',') || (at[n] && at[n] != ',')))
        at = strstr(at + 1, name);
    return at;
}

/* Lines are ID:CONTROLLERS:PATH; in version 2 the ID is 0, and there are no controllers. */
static double least_of(Limit limit, const char *groups, const char *root)
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
            least = fmin(least, least_above(limit, root, path));
        else if (is_among(limit.controller, controllers))
            least =
                fmin(least, least_above(limit, text_format("%s/%s", root, controllers).at, path));
    }
    if (file)
        fclose(file);
    return least;
}

double groups_processors(const char *groups, const char *root)
{
    return least_of((Limit){ "cpu", processors_of }, groups, root);
}

double groups_memory(const char *groups, const char *root)
{
    return least_of((Limit){ "memory", memory_of }, groups, root);
}
