/* How the time and the memory per token grow with the sequence. */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/draw/plot.h"

#include <math.h>
#include <stdlib.h>

/* Up to this relative difference the growth counts as linear. */
static const double NEAR = 0.15;

static double spread(const double *x, int n)
{
    double least = HUGE_VAL, most = 0;

    for (int i = 0; i < n; i++)
        least = fmin(least, x[i]), most = fmax(most, x[i]);
    return most / least - 1;
}

void growth_print(const Growth *g)
{
    double time = spread(g->time, g->n), held = spread(g->held, g->n);

    if (g->n < 2)
        return;
    printf("%-12s from %.0f to %.0f positions the time per token differs by %.1f%%, the memory by "
           "%.1f%%",
           g->attention->name, g->length[0], g->length[g->n - 1], 100 * time, 100 * held);
    if (!g->grows)
        printf(": %s %.0f%%", time <= NEAR && held <= NEAR ? "within" : "NOT within", 100 * NEAR);
    putchar('\n');
    fflush(stdout);
}

double growth_crossing(const Growth *a, const Growth *b)
{
    double before = 0, length = 0;

    for (int i = 0; i < a->n && i < b->n; i++) {
        double ahead = log(a->time[i] / b->time[i]); /* above 0: b is faster */

        if (i > 0 && before < 0 && ahead >= 0)
            length =
                a->length[i - 1] * pow(a->length[i] / a->length[i - 1], before / (before - ahead));
        else if (ahead < 0)
            length = 0;
        before = ahead;
    }
    return length;
}

void growth_print_crossing(const Growth *growth, int n)
{
    const Growth *a = growth, *b = growth + 1;

    if (n != 2 || a->grows == b->grows || a->n < 2 || a->n != b->n)
        return;
    if (b->grows)
        a = growth + 1, b = growth;
    double length = growth_crossing(a, b);
    bool slower = a->time[a->n - 1] > b->time[b->n - 1];

    printf("%s takes less time than %s ", (slower ? b : a)->attention->name,
           (slower ? a : b)->attention->name);
    if (length > 0)
        printf("from about %.0f positions on\n", length);
    else
        printf("at %s of these lengths\n", slower ? "all" : "the longest");
    fflush(stdout);
}

static void put_plot(FILE *out, void *plot)
{
    plot_svg(plot, out);
}

void growth_draw(const Growth *growth, int n, const char *subtitle, const char *svg)
{
    Series *series = xmalloc((size_t)(n + 1) * sizeof *series);
    Plot plot = { .title = "One layer of attention, forward and backward",
                  .subtitle = subtitle,
                  .x_label = "positions in the sequence",
                  .y_label = "ns per token",
                  .log_x = true,
                  .log_y = true,
                  .series = series,
                  .n_series = n };

    for (int i = 0; i < n; i++)
        series[i] = (Series){ .name = growth[i].attention->name,
                              .x = growth[i].length,
                              .y = growth[i].time,
                              .n = growth[i].n,
                              .points = true };
    file_print(svg, put_plot, &plot);
    free(series);
}
