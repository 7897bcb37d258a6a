/* What the time and the memory of a token do as the sequence grows. */
#include "tools/bench.h"

#include "ops/error.h"
#include "training/plot.h"

#include <math.h>
#include <stdlib.h>

/* The most over the least, less 1, beyond which nobody would call it linear. */
static const double NEAR = 0.15;

static double spread(const double *x, int n)
{
    double least = HUGE_VAL, most = 0;

    for (int i = 0; i < n; i++)
        least = fmin(least, x[i]), most = fmax(most, x[i]);
    return most / least - 1;
}

void growth_print(const Growth *g, bool linear)
{
    double time = spread(g->time, g->n), held = spread(g->held, g->n);

    if (g->n < 2)
        return;
    printf("%-12s from %.0f to %.0f positions a token's time differs by %.1f%%, its memory by "
           "%.1f%%",
           g->attention->name, g->length[0], g->length[g->n - 1], 100 * time, 100 * held);
    if (linear)
        printf(": %s %.0f%%", time <= NEAR && held <= NEAR ? "within" : "NOT within", 100 * NEAR);
    putchar('\n');
    fflush(stdout);
}

void growth_draw(const Growth *growth, int n, const char *subtitle, FILE *svg)
{
    Series *series = xmalloc((size_t)(n + 1) * sizeof *series);
    Plot plot = { .title = "One layer of attention, forward and backward",
                  .subtitle = subtitle,
                  .x_label = "positions in the sequence",
                  .y_label = "ns a token",
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
    plot_svg(&plot, svg);
    free(series);
}
