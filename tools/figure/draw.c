/* A figure as a chart: a series for each line, the means with bars of the deviation. */
#include "tools/figure/figure.h"

#include "ops/base/error.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { SERIES_MOST = 64, SHOWN = 60 }; /* that differ in colour or mark */

static void check(const Figure *f)
{
    if (f->lines > SERIES_MOST)
        die(EXIT_USAGE, "%zu series are too many for a figure, the most is %d: select with --where",
            f->lines, SERIES_MOST);
    if (f->cells > INT_MAX)
        die(EXIT_USAGE, "%zu points are too many for a figure: select with --where", f->cells);
    for (size_t i = 0; i < f->columns; i++)
        if (!isfinite(f->column[i].value))
            die(EXIT_USAGE, "--svg needs numbers in column %s, and '%s' is not one",
                text_cut(f->wanted->x, SHOWN).at, text_cut(f->column[i].text, SHOWN).at);
}

/* Tells the reader of points that cannot be drawn. */
static Text note_of(const Series *s, const Plot *plot)
{
    int missing = 0;

    for (int i = 0; i < s->n; i++)
        missing +=
            !isfinite(s->y[i]) || (plot->log_y && s->y[i] <= 0) || (plot->log_x && s->x[i] <= 0);
    return missing ? text_format("%d of %d not shown", missing, s->n) : (Text){ 0 };
}

static Text subtitle_of(const Figure *f)
{
    size_t least = SIZE_MAX, most = 1;
    Text text = { 0 };

    for (const Cell *c = f->cell; c < f->cell + f->cells; c++) {
        least = c->n < least ? c->n : least;
        most = c->n > most ? c->n : most;
    }
    if (most > 1 && least < most)
        text_add(&text, "mean ± standard deviation, n = %zu to %zu", least, most);
    else if (most > 1)
        text_add(&text, "mean ± standard deviation, n = %zu", most);
    return text;
}

/* x, y and error of every cell, one after the other. For free(). */
static double *numbers_of(const Figure *f)
{
    double *x = xmalloc(3 * f->cells * sizeof *x), *y = x + f->cells, *error = y + f->cells;

    for (size_t i = 0; i < f->cells; i++) {
        x[i] = f->column[f->cell[i].column].value;
        y[i] = f->cell[i].mean;
        error[i] = f->cell[i].sd;
    }
    return x;
}

void figure_svg(FILE *out, void *drawing)
{
    const Drawing *d = drawing;
    const Figure *f = d->figure;
    const Wanted *w = f->wanted;
    Series series[SERIES_MOST];
    Text note[SERIES_MOST], subtitle = subtitle_of(f);
    const Text title = text_format("%s by %s", text_cut(w->y, SHOWN).at, text_cut(w->x, SHOWN).at);
    Plot plot = d->plot;

    check(f);
    double *number = numbers_of(f);
    for (size_t i = 0; i < f->lines; i++) {
        const Line *line = &f->line[i];
        const double *x = number + (line->cell - f->cell), *y = x + f->cells;
        Series *s = &series[i];

        *s = (Series){ .name = line->name, .x = x, .y = y, .error = y + f->cells, .points = true };
        s->n = (int)line->cells;
        note[i] = note_of(s, &plot);
        s->note = note[i].at;
    }
    plot.title = plot.title ? plot.title : title.at;
    plot.subtitle = plot.subtitle ? plot.subtitle : subtitle.at;
    plot.x_label = plot.x_label ? plot.x_label : w->x;
    plot.y_label = plot.y_label ? plot.y_label : w->y;
    plot.series = series, plot.n_series = (int)f->lines;
    plot_svg(&plot, out);
    free(number);
}
