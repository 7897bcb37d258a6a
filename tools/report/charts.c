/* The charts of a group: loss; learning rate, gradient norm and speed; perplexity by length. */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>

/* TRAINING: groups of at most this many runs show the training losses too. */
enum { TRAINING = 4 };

static Trace curve(const Record *r, const Rows *rows, int x, int y)
{
    return (Trace){
        .name = r->label, .x = rows->at[x], .y = rows->at[y], .n = rows->n, .rank = r->rank
    };
}

static Trace training(const Record *r, int x, int y)
{
    Trace c = curve(r, &r->train, x, y);

    c.thin = true;
    c.points = r->train.n == 1;
    c.smooth = r->train.n / 50 + 1;
    return c;
}

/* A run is its validation loss, or its training loss if it was never evaluated. */
static int loss_curves(const Group *g, int x, Trace *c)
{
    int n = 0;

    for (int i = 0; i < g->n; i++) {
        const Record *r = g->run[i];

        if (r->validation.n > 0) {
            c[n] = curve(r, &r->validation, x, LOG_LOSS);
            c[n].points = i < HIGHLIGHTED;
            c[n++].thin = i >= HIGHLIGHTED;
        }
        if (r->validation.n == 0 || g->n <= TRAINING)
            c[n++] = training(r, x, LOG_LOSS);
    }
    return n;
}

/* Whether the values, or the largest of each curve, span so much that a linear axis would hide the
 * small ones. */
static bool spans(const Trace *c, int n, double ratio, bool largest)
{
    double least = HUGE_VAL, most = 0;

    for (int k = 0; k < n; k++) {
        double peak = 0;

        for (int i = 0; i < c[k].n; i++)
            if (c[k].y[i] > 0 && c[k].y[i] < HUGE_VAL) {
                least = largest ? least : fmin(least, c[k].y[i]);
                peak = fmax(peak, c[k].y[i]);
            }
        most = fmax(most, peak);
        least = largest && peak > 0 ? fmin(least, peak) : least;
    }
    return most > ratio * least;
}

static void put_legend(const Group *g, FILE *out)
{
    fputs("<ul class=\"legend\">\n", out);
    for (int i = 0; i < g->n && i < HIGHLIGHTED; i++) {
        fputs("<li>", out);
        put_key(out, i);
        fputs("<span>", out);
        put_name(out, g->run[i]->label);
        fprintf(out, "</span> <b>%s</b></li>\n",
                show_digits(record_at_best(g->run[i], LOG_LOSS), 4).at);
    }
    if (g->n > HIGHLIGHTED) {
        fputs("<li>", out);
        put_key(out, HIGHLIGHTED);
        fprintf(out, "<span>%d more</span></li>\n", g->n - HIGHLIGHTED);
    }
    fputs("</ul>\n", out);
}

static void write_loss(const Group *g, Trace *c, FILE *out)
{
    const int n = loss_curves(g, LOG_STEP, c);
    const char *note = "nats per target: validation with dots, training thin and smoothed";

    fprintf(out, "<div class=\"main%s\">\n", g->n > 1 ? "" : " alone");
    chart_write(&(Chart){ .title = "Loss",
                          .note = g->n <= TRAINING ? note : "validation, nats per target",
                          .x_label = "step",
                          .log_y = spans(c, n, 20, false),
                          .curve = c,
                          .curves = n },
                out);
    if (g->n > 1)
        put_legend(g, out);
    fputs("</div>\n", out);
}

/* The unit in which the longest run has a few of them; and the seconds in it. */
static const char *unit_of_time(const Group *g, double *seconds)
{
    double most = 0;

    for (int i = 0; i < g->n; i++)
        most = fmax(most, record_most(g->run[i], LOG_SECONDS));
    *seconds = most < 300 ? 1 : most < 3 * 3600 ? 60 : 3600;
    return *seconds < 2 ? "seconds" : *seconds < 61 ? "minutes" : "hours";
}

static void write_time(const Group *g, Trace *c, FILE *out)
{
    double seconds;
    const char *unit = unit_of_time(g, &seconds);
    const int n = loss_curves(g, LOG_SECONDS, c);

    for (int i = 0; i < n; i++) {
        double *x = xmalloc(((size_t)c[i].n + 1) * sizeof *x);

        for (int j = 0; j < c[i].n; j++)
            x[j] = c[i].x[j] / seconds;
        c[i].x = x;
        c[i].points = false;
    }
    chart_write(&(Chart){ "Loss over time", "", unit, .log_y = spans(c, n, 20, false),
                          .small = true, .curve = c, .curves = n },
                out);
    for (int i = 0; i < n; i++)
        free((double *)c[i].x);
}

static void write_small(const Group *g, Trace *c, int field, Chart chart, FILE *out)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        c[n++] = training(g->run[i], LOG_STEP, field);
    for (int i = 0; i < n && field == LOG_RATE; i++)
        c[i].smooth = 0;
    chart.curve = c, chart.curves = n;
    chart.x_label = "step", chart.small = true;
    chart.log_y = (field == LOG_NORM && spans(c, n, 5, false)) ||
                  (field == LOG_RATE && spans(c, n, 20, true));
    chart_write(&chart, out);
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
static Trace measured(const Record *r, int protocol)
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
    return (Trace){ r->label, r->protocol[protocol], x, y, error, n, r->rank, .points = true };
}

static void write_lengths(const Group *g, FILE *out)
{
    Trace *c = xmalloc(PROTOCOLS * (size_t)g->n * sizeof *c);
    int n = 0;

    for (int i = 0; i < g->n; i++)
        for (int p = 0; p < g->run[i]->protocols; p++)
            c[n++] = measured(g->run[i], p);
    if (n)
        chart_write(&(Chart){ "Perplexity by length", "", "tokens of context", .log_x = true,
                              .log_y = spans(c, n, 5, false), .small = true, .curve = c,
                              .curves = n },
                    out);
    free(c);
}

void charts_write(const Group *g, FILE *out)
{
    Trace *c = xmalloc(2 * (size_t)g->n * sizeof *c);

    write_loss(g, c, out);
    fputs("<div class=\"row\">\n", out);
    write_time(g, c, out);
    write_small(g, c, LOG_RATE, (Chart){ .title = "Learning rate", .zero = true }, out);
    write_small(g, c, LOG_NORM, (Chart){ .title = "Gradient norm", .note = "smoothed" }, out);
    write_small(g, c, LOG_SPEED,
                (Chart){ .title = "Speed", .note = "tokens/s, smoothed", .zero = true }, out);
    write_lengths(g, out);
    fputs("</div>\n", out);
    free(c);
}
