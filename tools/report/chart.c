/*
 * A chart of the page. Its lines are drawn on a square of SIDE units that the browser stretches to
 * the box, with strokes of constant width; its words are HTML at shares of that box. So it fills a
 * telephone and a sheet of paper with letters of the same size.
 */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/draw/axis.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 1000, DOTS_MOST = 40, PATH_POINTS = 6000, NAME_WIDTH = 200, LABELS = 6, FEW = 4 };

typedef struct {
    const Chart *chart;
    FILE *out;
    Axis x, y;
} Draw;

static Point place(const Draw *d, const Trace *c, int i)
{
    return (Point){ axis_place(&d->x, c->x[i]), axis_place(&d->y, c->y[i]) };
}

static double error_at(const Trace *c, int i)
{
    return c->error && !isnan(c->error[i]) ? c->error[i] : 0;
}

static void see_all(Draw *d)
{
    for (int k = 0; k < d->chart->curves; k++) {
        const Trace *c = &d->chart->curve[k];

        for (int i = 0; i < c->n; i++) {
            if (!axis_holds(&d->x, c->x[i]) || !axis_holds(&d->y, c->y[i]))
                continue;
            axis_see(&d->x, c->x[i]);
            axis_see(&d->y, c->y[i] - error_at(c, i));
            axis_see(&d->y, c->y[i] + error_at(c, i));
        }
    }
    if (d->chart->zero && !axis_empty(&d->y))
        axis_see(&d->y, 0);
}

/* Keeps fewer points of each line if there are many, and fewest of the grey ones. */
static double column(const Draw *d, const Trace *c)
{
    const double units = 2.0 * SIDE * d->chart->curves / PATH_POINTS;

    return fmax(2, c->rank < HIGHLIGHTED ? fmin(units, 5) : 2 * units);
}

static void draw_line(const Draw *d, const Trace *c)
{
    double *y = xmalloc(((size_t)c->n + 1) * sizeof *y);
    Pen pen = { d->out, .column = column(d, c) };

    for (int i = 0; i < c->n; i++)
        y[i] = place(d, c, i).y;
    if (c->smooth > 1)
        pen_smooth(y, c->n, c->smooth);
    fprintf(d->out, "<path class=\"line%s\" d=\"", c->thin ? " thin" : "");
    for (int i = 0; i < c->n; i++)
        pen_move(&pen, (Point){ place(d, c, i).x, y[i] });
    pen_lift(&pen);
    fputs("\"><title>", d->out);
    svg_text(d->out, c->name, NAME_WIDTH);
    fputs("</title></path>\n", d->out);
    free(y);
}

static void draw_dot(const Draw *d, const Trace *c, int i)
{
    const Point p = place(d, c, i);
    const double error = error_at(c, i);

    if (!svg_placed(p))
        return;
    if (error > 0) {
        const double low = axis_place(&d->y, c->y[i] - error);

        svg_point(d->out, "<path class=\"bar\" d=\"M",
                  (Point){ p.x, axis_place(&d->y, c->y[i] + error) });
        svg_point(d->out, "L", (Point){ p.x, isnan(low) ? SIDE : low });
        fputs("\"/>\n", d->out);
    }
    svg_point(d->out, "<path class=\"dot\" d=\"M", p);
    fputs("h0\"><title>", d->out);
    svg_text(d->out, c->name, NAME_WIDTH);
    fputs(c->note && *c->note ? ", " : "", d->out);
    svg_text(d->out, c->note, NAME_WIDTH);
    fprintf(d->out, ": %s", show_digits(c->y[i], 4).at);
    if (error > 0)
        fprintf(d->out, " ± %s", number_text(error, 2).at);
    fprintf(d->out, " at %s</title></path>\n", number_text(c->x[i], 6).at);
}

static void draw_curve(const Draw *d, const Trace *c)
{
    const int n = c->n < DOTS_MOST ? c->n : DOTS_MOST;

    if (c->rank < HIGHLIGHTED)
        svg_group(d->out, c->rank);
    else
        fputs("<g class=\"rest\">\n", d->out);
    draw_line(d, c);
    for (int j = 0; c->points && j < n; j++)
        draw_dot(d, c, n == c->n ? j : (int)((long long)j * (c->n - 1) / (n - 1)));
    fputs("</g>\n", d->out);
}

static void draw_grid(const Draw *d)
{
    for (int i = 0; i < d->y.n; i++)
        if (d->y.label[i].n)
            svg_line(d->out, "grid", (Point){ 0, axis_place(&d->y, d->y.tick[i]) },
                     (Point){ SIDE, axis_place(&d->y, d->y.tick[i]) });
    svg_line(d->out, "axis", (Point){ 0, SIDE }, (Point){ SIDE, SIDE });
}

static void put_labels(const Draw *d, const Axis *axis, const char *class, const char *side)
{
    for (int i = 0; i < axis->n; i++)
        if (axis->label[i].n)
            fprintf(d->out, "<i class=\"%s\" style=\"%s:%.1f%%\">%s</i>\n", class, side,
                    axis_place(axis, axis->tick[i]) * 100 / SIDE, axis->label[i].at);
}

static void draw_all(Draw *d)
{
    const Chart *chart = d->chart;

    d->x.from = 0, d->x.to = SIDE;
    d->y.from = SIDE, d->y.to = 0;
    axis_fit(&d->x);
    axis_fit(&d->y);
    fputs("<div class=\"frame\"><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" "
          "viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
          d->out);
    svg_text(d->out, chart->title, HUGE_VAL);
    fputs("\">\n", d->out);
    draw_grid(d);
    for (int i = chart->curves - 1; i >= 0; i--) /* the best are on top */
        draw_curve(d, &chart->curve[i]);
    fputs("</svg>\n", d->out);
    put_labels(d, &d->y, "y", "top");
    put_labels(d, &d->x, "x", "left");
    fputs("</div>\n", d->out);
}

void chart_write(const Chart *chart, FILE *out)
{
    Draw d = { .chart = chart, .out = out };

    d.x = axis_new(chart->log_x, false);
    d.y = axis_new(chart->log_y, true);
    d.x.most = chart->small && chart->log_x ? FEW : LABELS - chart->small; /* 1024 is wide */
    d.y.most = chart->small ? FEW : LABELS;
    see_all(&d);
    fprintf(out, "<figure class=\"chart%s\">\n<figcaption><b>", chart->small ? " small" : "");
    svg_text(out, chart->title, HUGE_VAL);
    fputs("</b> ", out);
    svg_text(out, chart->note, HUGE_VAL);
    fputs("</figcaption>\n", out);
    if (axis_empty(&d.x) || axis_empty(&d.y))
        fputs("<p class=\"soft\">no data</p>\n", out);
    else
        draw_all(&d);
    fputs("<p class=\"under\">", out);
    svg_text(out, chart->x_label, HUGE_VAL);
    fputs("</p>\n</figure>\n", out);
}
