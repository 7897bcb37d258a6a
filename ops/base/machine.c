#include "ops/base/machine.h"

#include "ops/base/groups.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Text machine_time(void)
{
    struct timespec now;
    struct tm tm;
    char date[32];

    clock_gettime(CLOCK_REALTIME, &now);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
    return text_format("%s.%03dZ", date, (int)(now.tv_nsec / 1000000));
}

double machine_memory(void)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);

    double bytes = pages > 0 && page > 0 ? pages * page : 1e30;
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = fmin(bytes, (double)limit.rlim_cur);
    return fmin(fmin(bytes, (double)SIZE_MAX), groups_memory(OWN_GROUPS));
}

double machine_peak_memory(void)
{
    enum { UNIT = 1024 }; /* of ru_maxrss on Linux */
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * UNIT : 0;
}

Text machine_host(void)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    return text_format("%s", name);
}

Text machine_name(void)
{
    static const char key[] = "model name";
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    Text name = { 0 };

    while (file && name.n == 0 && fgets(line, sizeof line, file)) {
        const char *value = line + strcspn(line, ":");

        value += strspn(value, ": ");
        if (strncmp(line, key, sizeof key - 1) == 0)
            text_add(&name, "%.*s", (int)strcspn(value, "\n"), value);
    }
    if (file)
        fclose(file);
    if (name.n == 0)
        text_add(&name, "unknown processor");
    return name;
}
