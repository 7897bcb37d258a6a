/* Names of options and values: equal ones, and misspelt ones. */
#include "tools/common/options.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 60 };

static char dashed(char c)
{
    return c == '_' ? '-' : c;
}

bool options_begins(const char *name, const char *given, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dashed(given[i]) != dashed(name[i]))
            return false;
    return true;
}

bool options_same(const char *given, size_t n, const char *name)
{
    return options_begins(name, given, n) && !name[n];
}

/* The edit distance of a (n bytes) and b; large if a name is too long. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t row[LONGEST + 1], m = strlen(b);

    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX / 4;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (dashed(a[i - 1]) != dashed(b[j - 1]));

            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[m];
}

void options_nearer(Nearest *near, const char *name)
{
    size_t m = strlen(name), d = distance(near->given, near->n, name);

    if (d <= 2 && 2 * d <= (near->n > m ? near->n : m) && (!near->name || d < near->distance)) {
        near->name = name;
        near->distance = d;
    }
}

const char *options_nearest(const Option *o, const char *given, size_t n)
{
    Nearest near = { .given = given, .n = n };

    for (int i = 0; options_choice(o, i).name; i++)
        options_nearer(&near, options_choice(o, i).name);
    return near.name;
}
