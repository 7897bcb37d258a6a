/* The charts with the curves of all runs: loss over steps and over time, perplexity by length. */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/draw/plot.h"

#include <stdlib.h>
#include <string.h>

static Series curve(const Record *r, const Rows *rows, int x)
{
    return (Series){ .name = r->label, .x = rows->at[x], .y = rows->at[LOG_LOSS], .n = rows->n };
}

static Series training_curve(const Record *r, int x)
{
    Series s = curve(r, &r->train, x);

    s.smooth = r->train.n / 50 + 1;
    return s;
}

/*
 * A run is one series with a label, as in the tables, so its colour is the same: its validation
 * loss, with the training loss as the shadow; or its training loss, if it was never evaluated.
 */
static int loss_series(const Report *report, int x, Series *series)
{
    int n = 0;

    for (int i = 0; i < report->records; i++) {
        const Record *r = report->record[i];

        if (r->validation.n && r->train.n) {
            series[n] = training_curve(r, x);
            series[n++].shadow = true;
        }
        series[n] = r->validation.n ? curve(r, &r->validation, x) : training_curve(r, x);
        series[n].points = series[n].best = r->validation.n > 0;
        n++;
    }
    return n;
}

static void write_loss(const Report *report, FILE *out, int x)
{
    Series *series = xmalloc(2 * (size_t)report->records * sizeof *series);
    const bool time = x == LOG_SECONDS;
    Plot plot = { .title = time ? "Loss over time" : "Loss over steps",
                  .subtitle = "thick and marked: validation; thin: training, smoothed",
                  .x_label = time ? "seconds" : "step",
                  .y_label = "loss (nats per target)",
                  .series = series,
                  .bare = true };

    plot.n_series = loss_series(report, x, series);
    fputs("<figure class=\"chart\">\n", out);
    plot_svg(&plot, out);
    fputs("</figure>\n", out);
    free(series);
}

static bool tasks_differ(const Report *report)
{
    const char *first = NULL;

    for (int i = 0; i < report->records; i++) {
        const char *task = json_string(report->record[i]->config, "task");

        if (task && first && strcmp(task, first) != 0)
            return true;
        first = first ? first : task;
    }
    return false;
}

typedef struct {
    double x, y, error;
} Measured;

static int by_length(const void *a, const void *b)
{
    const Measured *p = a, *q = b;

    return (p->x > q->x) - (p->x < q->x);
}

/* The rows of one protocol, by length. If dl is the error of l, that of e^l is e^l dl. */
static Series measured(const Record *r, int protocol)
{
    const size_t room = (size_t)r->eval.n;
    Measured *all = xmalloc(room * sizeof *all);
    double *x = arena_take(r->mem, 3 * room * sizeof *x), *y = x + room, *error = y + room;
    int n = 0;

    for (int i = 0; i < r->eval.n; i++)
        if ((int)r->eval.at[EVAL_PROTOCOL][i] == protocol)
            all[n++] = (Measured){ r->eval.at[EVAL_LENGTH][i], r->eval.at[EVAL_PPL][i],
                                   r->eval.at[EVAL_ERROR][i] };
    qsort(all, (size_t)n, sizeof *all, by_length);
    for (int i = 0; i < n; i++)
        x[i] = all[i].x, y[i] = all[i].y, error[i] = all[i].y * all[i].error;
    free(all);
    return (Series){ .name = r->label,
                     .note = r->protocol[protocol],
                     .x = x,
                     .y = y,
                     .error = error,
                     .n = n,
                     .points = true };
}

static void write_lengths(const Report *report, FILE *out)
{
    Series *series = xmalloc(PROTOCOLS * (size_t)report->records * sizeof *series);
    int n = 0;

    for (int i = 0; i < report->records; i++)
        for (int p = 0; p < report->record[i]->protocols; p++)
            series[n++] = measured(report->record[i], p);
    fputs("<h2>Shorter and longer contexts</h2>\n", out);
    if (n) {
        fputs("<figure class=\"chart\">\n", out);
        plot_svg(&(Plot){ .title = "Perplexity by length",
                          .subtitle = "of the validation text, with bars of one standard error",
                          .x_label = "length of the context (tokens)",
                          .y_label = "perplexity",
                          .log_x = true,
                          .series = series,
                          .n_series = n,
                          .bare = true },
                 out);
        fputs("</figure>\n", out);
    } else {
        fputs("<p class=\"soft\">No folder has an <code>eval.csv</code>: "
              "<code>./eval --csv</code> measures it.</p>\n",
              out);
    }
    free(series);
}

void charts_write(const Report *report, FILE *out)
{
    fputs("<h2>Loss</h2>\n", out);
    if (tasks_differ(report))
        fputs("<p class=\"soft\">The runs have different tasks: losses of masked tokens and of "
              "next tokens do not compare.</p>\n",
              out);
    write_loss(report, out, LOG_STEP);
    write_loss(report, out, LOG_SECONDS);
    write_lengths(report, out);
}
