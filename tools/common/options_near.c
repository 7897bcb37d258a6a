/* Names of options and values: equal ones, and misspelt ones. */
#include "tools/common/options.h"

#include <stdint.h>
#include <string.h>

enum { SHORTEST = 3, LONGEST = 60 };

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

/* The edit distance of a (n bytes) and b (m bytes); large if a name is too long. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[LONGEST + 1];

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

/* Also without the "n-" of names such as n-layer. */
void options_nearer_part(Nearest *near, const char *name, size_t n)
{
    const size_t skip = n > 2 && strncmp(name, "n-", 2) == 0 ? 2 : 0,
                 whole = distance(near->given, near->n, name, n),
                 part = distance(near->given, near->n, name + skip, n - skip),
                 d = part < whole ? part : whole;

    if (d <= (near->n > SHORTEST ? 2 : 1) && 2 * d <= (near->n > n ? near->n : n) &&
        (!near->name || d < near->distance)) {
        near->name = name;
        near->length = n;
        near->distance = d;
    }
}

void options_nearer(Nearest *near, const char *name)
{
    options_nearer_part(near, name, strlen(name));
}

/* A name that begins like that is nearer than one in which two letters differ. */
const char *options_nearest(const Option *o, const char *given, size_t n)
{
    Nearest near = { .given = given, .n = n };
    const char *name;

    for (int i = 0; (name = options_choice(o, i).name); i++)
        options_nearer(&near, name);
    if (near.name && near.distance < 2)
        return near.name;
    for (int i = 0; n >= SHORTEST && (name = options_choice(o, i).name); i++)
        if (options_begins(name, given, n))
            return name;
    return near.name;
}
