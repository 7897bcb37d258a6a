#include "ops/base/error.h"
#include "ops/base/file.h"

#include <stdlib.h>
#include <sys/stat.h>

bool file_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What tells files apart, whatever their paths. */
typedef struct {
    dev_t dev;
    ino_t ino;
    int number; /* of the path */
} Identity;

static int by_identity(const void *a, const void *b)
{
    const Identity *x = a, *y = b;

    return x->dev != y->dev   ? (x->dev > y->dev ? 1 : -1)
           : x->ino != y->ino ? (x->ino > y->ino ? 1 : -1)
                              : (x->number > y->number) - (x->number < y->number);
}

int *file_firsts(const char *const *path, int n)
{
    int *first = xmalloc(((size_t)n + 1) * sizeof *first), found = 0;
    Identity *is = xmalloc(((size_t)n + 1) * sizeof *is);
    struct stat st;

    for (int i = 0; i < n; i++) {
        first[i] = i;
        if (stat(path[i], &st) == 0)
            is[found++] = (Identity){ st.st_dev, st.st_ino, i };
    }
    qsort(is, (size_t)found, sizeof *is, by_identity);
    for (int i = 1; i < found; i++)
        if (is[i].dev == is[i - 1].dev && is[i].ino == is[i - 1].ino)
            first[is[i].number] = first[is[i - 1].number];
    free(is);
    return first;
}
