#include "training/kept.h"

#include "ops/base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(LossCurve *c, double x, double y)
{
    if (c->n == c->room) {
        c->room = 2 * c->room + 256;
        c->x = xrealloc(c->x, (size_t)c->room * sizeof *c->x);
        c->y = xrealloc(c->y, (size_t)c->room * sizeof *c->y);
    }
    c->x[c->n] = x, c->y[c->n] = y;
    c->n++;
}

void curves_add(LossCurves *c, const char *split, int step, double loss)
{
    if (strcmp(split, "train") == 0)
        add(&c->train, step, loss);
    else if (strcmp(split, "val") == 0)
        add(&c->validation, step, loss);
}

void curves_free(LossCurves *c)
{
    free(c->train.x), free(c->train.y);
    free(c->validation.x), free(c->validation.y);
}

/* The positive number that a key has in a line of the log; 0: it has none. */
static double number_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    const double x = at ? strtod(at + strlen(key), NULL) : 0;

    return isfinite(x) && x > 0 ? x : 0;
}

/* False if it is not a line of this program's log. A line of the start has no loss. */
static bool read_line(const char *line, char split[8], int *step, double *loss)
{
    *loss = (double)NAN;
    return sscanf(line, "{\"step\":%9d,\"split\":\"%7[a-z]\",\"loss\":%lf", step, split, loss) >= 2;
}

/* Whether a run with that progress has logged the line. */
static bool is_kept(Progress p, const char *split, int step)
{
    if (strcmp(split, "train") == 0 || strcmp(split, "start") == 0)
        return step <= p.step;
    return strcmp(split, "val") == 0 && step <= p.evaluated;
}

size_t kept_lines(char *log, size_t bytes, Progress p, LossCurves *curves, Spent *spent)
{
    size_t kept = 0;
    char split[8];
    int step;
    double loss;

    for (char *line = log, *end; (end = memchr(line, '\n', bytes)); line = end + 1) {
        const size_t n = (size_t)(end - line);

        bytes -= n + 1;
        *end = 0; /* or sscanf() would look at all that follows */
        if (memchr(line, 0, n) || !read_line(line, split, &step, &loss) || !is_kept(p, split, step))
            continue;
        curves_add(curves, split, step, loss);
        if (number_of(line, ",\"tokens\":") > 0)
            *spent =
                (Spent){ step, number_of(line, ",\"tokens\":"), number_of(line, ",\"seconds\":") };
        memmove(log + kept, line, n);
        kept += n;
        log[kept++] = '\n';
    }
    return kept;
}
