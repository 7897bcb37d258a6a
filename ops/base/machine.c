#include "ops/base/machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE = 20000000 /* ns */ };

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void machine_pause(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = PAUSE }, NULL);
}

double machine_memory(void)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? pages * page : 1e30;
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
