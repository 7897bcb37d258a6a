#include "tools/draw/plot.h"

#include "ops/base/error.h"
#include "ops/base/text.h"
#include "tools/draw/axis.h"
#include "tools/draw/svg.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 960,
    HEIGHT = 540,
    MARGIN = 24,
    INNER = WIDTH - 2 * MARGIN,
    TOP = 100,
    BOTTOM = 478
};
/* The right column, in pixels: a row, the longest name, from a line to its swatch, the swatch. */
enum { ROW = 18, NAME_WIDTH = 260, LEADER = 22, SWATCH = 22, LABELS = 32, NOTHING = INT_MIN };
enum { NOTE_BYTES = 108 };
/* Of all lines: points of their paths, points that show their value. Of one line: marks. */
enum { PATH_POINTS = 5000, HOVERS = 400, MARKS_MOST = 64, HOVER_WIDTH = 150 };

/* An entry of the right column. */
typedef struct {
    int series; /* below 0: a reference line, counted from the last, or NOTHING */
    const char *name;
    Text note;
    double y;   /* its middle */
    Point line; /* where its line ends; NaN: nowhere */
    int height;
} Label;

typedef struct {
    FILE *out;
    const Plot *plot;
    Axis x, y;
    Label label[LABELS];
    int n_labels;
} Chart;

/* A ring around the best point. */
static const char RING[] = "m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0z\" class=\"ring\"";

/* The number of a series, shadows not counted: it selects colour, dashes and mark. */
static int number_of(const Chart *c, int series)
{
    int number = 0;

    for (int i = 0; i < series; i++)
        number += !c->plot->series[i].shadow;
    return number;
}

static Point place(const Chart *c, const Series *s, int i)
{
    return (Point){ axis_place(&c->x, s->x[i]), axis_place(&c->y, s->y[i]) };
}

/* The point with the least y that can be drawn; -1 if none can. */
static int best_of(const Chart *c, const Series *s)
{
    int best = -1;

    for (int i = 0; i < s->n; i++)
        if (svg_placed(place(c, s, i)) && (best < 0 || s->y[i] < s->y[best]))
            best = i;
    return best;
}

/* The line of a series, at the pixels `y`, or at those of the series if NULL. */
static void draw_line(const Chart *c, const Series *s, const double *y, const char *class)
{
    int paths = 0;

    for (int i = 0; i < c->plot->n_series; i++)
        paths += 1 + (c->plot->series[i].smooth > 1);
    Pen pen = { c->out, .column = fmax(1, 2 * (c->x.to - c->x.from) * paths / PATH_POINTS) };
    fprintf(c->out, "<path class=\"%s\" d=\"", class);
    for (int i = 0; i < s->n; i++) {
        Point p = place(c, s, i);
        pen_move(&pen, (Point){ p.x, y ? y[i] : p.y });
    }
    pen_lift(&pen);
    fputs("\"/>\n", c->out);
}

static bool has_error(const Series *s, int i)
{
    return s->error && !isnan(s->error[i]);
}

static void draw_bar(const Chart *c, const Series *s, int i)
{
    double error = fabs(s->error[i]), x = axis_place(&c->x, s->x[i]);
    double low = axis_place(&c->y, s->y[i] - error), high = axis_place(&c->y, s->y[i] + error);

    high = isnan(high) ? TOP : high;
    svg_point(c->out, "<path class=\"bar\" d=\"M", (Point){ x - 4, high });
    svg_point(c->out, "h8M", (Point){ x, high });
    svg_point(c->out, " ", (Point){ x, isnan(low) ? BOTTOM : low });
    fputs(isnan(low) ? "\"/>\n" : "m-4 0h8\"/>\n", c->out);
}

/* Whole numbers, such as steps and tokens, have all of their digits. */
static Text x_text(double x)
{
    return x == floor(x) && fabs(x) < 0x1p53 ? text_format("%.0f", x) : number_text(x, 9);
}

/* Point i, which shows its value on hovering, drawn as `mark`. */
static void draw_point(const Chart *c, const Series *s, int i, const char *mark)
{
    svg_point(c->out, "<path d=\"M", place(c, s, i));
    fprintf(c->out, "%s><title>", mark);
    svg_text(c->out, s->name, HOVER_WIDTH);
    if (s->note && *s->note) {
        fputs(", ", c->out);
        svg_text(c->out, s->note, HOVER_WIDTH);
    }
    fprintf(c->out, ": %s", number_text(s->y[i], 6).at);
    if (has_error(s, i))
        fprintf(c->out, " ± %s", number_text(s->error[i], 3).at);
    fprintf(c->out, " at %s</title></path>\n", x_text(s->x[i]).at);
}

/* The bars and marks of a series, at all its points or at as many as fit. */
static void draw_points(const Chart *c, int which)
{
    const Series *s = &c->plot->series[which];
    int room = HOVERS / c->plot->n_series, most = room > 2 ? room : 2,
        n = s->n < most ? s->n : most;
    bool marks = s->points && s->n == n && n <= MARKS_MOST;
    const Text mark = text_format("%s\" class=\"%s\"", svg_mark(marks ? number_of(c, which) : 0),
                                  marks ? "mark" : "hover");

    for (int j = 0; j < n; j++) {
        int i = n == s->n ? j : (int)((long long)j * (s->n - 1) / (n - 1));
        if (!svg_placed(place(c, s, i)))
            continue;
        if (has_error(s, i))
            draw_bar(c, s, i);
        draw_point(c, s, i, mark.at);
    }
    if (s->best && best_of(c, s) >= 0)
        draw_point(c, s, best_of(c, s), RING);
}

static void draw_series(const Chart *c, int which)
{
    const Series *s = &c->plot->series[which];
    const bool dense = s->n > WIDTH && s->smooth <= 1;
    double *mean = s->smooth > 1 ? xmalloc((size_t)s->n * sizeof *mean) : NULL;

    svg_group(c->out, number_of(c, which));
    for (int i = 0; mean && i < s->n; i++)
        mean[i] = svg_placed(place(c, s, i)) ? place(c, s, i).y : (double)NAN;
    if (mean) {
        draw_line(c, s, NULL, "pale");
        pen_smooth(mean, s->n, s->smooth);
    }
    draw_line(c, s, mean, s->shadow ? "line thin" : dense ? "line dense" : "line");
    free(mean);
    draw_points(c, which);
    fputs("</g>\n", c->out);
}

static Label label_of(const Chart *c, int entry)
{
    const Plot *plot = c->plot;
    Label l = { .series = entry - plot->n_lines, .line = svg_nowhere };

    if (l.series < 0) {
        l.name = plot->lines[entry].label;
        l.note = number_text(plot->lines[entry].value, 4);
    } else {
        const Series *s = &plot->series[l.series];
        int best = best_of(c, s);
        l.name = s->name;
        if (best < 0)
            l.note = text_format("no data");
        else if (s->best)
            l.note =
                text_format("best %s at %s", number_text(s->y[best], 4).at, x_text(s->x[best]).at);
        else if (s->smooth > 1)
            l.note = text_format("mean of %d", s->smooth);
        else if (s->note)
            l.note = text_cut(s->note, NOTE_BYTES);
    }
    l.height = l.note.n ? 2 * ROW : ROW + 2;
    return l;
}

/* As many labels as the column has room for. */
static void make_labels(Chart *c)
{
    const Plot *plot = c->plot;
    int n = plot->n_lines + plot->n_series, left = plot->n_lines + number_of(c, plot->n_series);
    int room = BOTTOM - TOP + ROW, used = 0;

    for (int i = 0; i < n; i++) {
        if (i >= plot->n_lines && plot->series[i - plot->n_lines].shadow)
            continue;
        Label l = label_of(c, i);
        if (used + l.height + (left > 1 ? ROW : 0) > room) {
            l = (Label){ .series = NOTHING, .height = ROW, .line = svg_nowhere };
            l.note = text_format("and %d more", left);
            i = n;
        }
        c->label[c->n_labels++] = l;
        used += l.height;
        left--;
    }
}

/* Finds where the label's line ends, and puts the label's first row beside it. */
static void aim_label(const Chart *c, Label *l)
{
    if (l->series >= 0) {
        const Series *s = &c->plot->series[l->series];
        for (int i = s->n - 1; i >= 0 && !svg_placed(l->line); i--)
            l->line = place(c, s, i);
    } else if (l->series != NOTHING) {
        double value = c->plot->lines[l->series + c->plot->n_lines].value;
        l->line = (Point){ c->x.to, axis_place(&c->y, value) };
    }
    l->y = svg_placed(l->line) ? l->line.y + (l->height - ROW) / 2.0 : HEIGHT;
}

/* Pushes labels apart: evenly at first, in the end one by one so that none overlap. */
static void spread_labels(Label *l, int n)
{
    double top = TOP - ROW / 2.0, bottom = BOTTOM + ROW / 2.0;

    for (int round = 0; round < 200; round++)
        for (int i = 0; i < n; i++) {
            double half = l[i].height / 2.0;
            double over = i ? (l[i - 1].height / 2.0 + half) - (l[i].y - l[i - 1].y) : 0;
            if (over > 0)
                l[i].y += over / 2, l[i - 1].y -= over / 2;
            l[i].y = fmin(fmax(l[i].y, top + half), bottom - half);
        }
    for (int i = n - 1; i >= 0; i--) {
        l[i].y = fmin(l[i].y, bottom - l[i].height / 2.0);
        bottom = l[i].y - l[i].height / 2.0;
    }
}

static void place_labels(Chart *c)
{
    for (int i = 0; i < c->n_labels; i++) {
        Label l = c->label[i];
        int at = i;

        aim_label(c, &l);
        for (; at > 0 && c->label[at - 1].y > l.y; at--)
            c->label[at] = c->label[at - 1];
        c->label[at] = l;
    }
    spread_labels(c->label, c->n_labels);
}

static void draw_label(const Chart *c, const Label *l)
{
    double y = l->y - (l->height - ROW) / 2.0, x = c->x.to + LEADER;
    const char *class = l->series >= 0 ? "line" : "reference";

    if (l->series >= 0)
        svg_group(c->out, number_of(c, l->series));
    else
        fputs("<g class=\"soft\">\n", c->out);
    if (svg_placed(l->line) && l->line.x > c->x.to - 2 * LEADER) {
        svg_line(c->out, "leader", l->line, (Point){ c->x.to + 2, l->line.y });
        svg_line(c->out, "leader", (Point){ c->x.to + 2, l->line.y }, (Point){ x - 4, y });
    }
    if (l->series != NOTHING)
        svg_line(c->out, class, (Point){ x, y }, (Point){ x + SWATCH, y });
    if (l->series >= 0 && c->plot->series[l->series].points) {
        svg_point(c->out, "<path class=\"mark\" d=\"M", (Point){ x + SWATCH / 2.0, y });
        fprintf(c->out, "%s\"/>\n", svg_mark(number_of(c, l->series)));
    }
    x += SWATCH + 6;
    svg_words(c->out, "name", (Point){ x, y + 4.5 }, l->name, NAME_WIDTH);
    y += l->series == NOTHING ? 0 : ROW - 2;
    svg_words(c->out, "soft note", (Point){ x, y + 4.5 }, l->note.at, NAME_WIDTH);
    fputs("</g>\n", c->out);
}

static void draw_grid(const Chart *c)
{
    const Axis *x = &c->x, *y = &c->y;
    double free_from = 0; /* of the labels under x */

    for (int i = 0; i < x->n; i++) {
        double at = axis_place(x, x->tick[i]), half = svg_width(x->label[i].at) / 2;
        bool lesser = !x->label[i].n;
        svg_line(c->out, lesser ? "minor" : "grid", (Point){ at, TOP }, (Point){ at, BOTTOM });
        if (lesser || at - half < free_from)
            continue;
        svg_words(c->out, "soft middle", (Point){ at, BOTTOM + 20 }, x->label[i].at, NAME_WIDTH);
        free_from = at + half + 10;
    }
    for (int i = 0; i < y->n; i++) {
        Point at = { x->from, axis_place(y, y->tick[i]) };
        svg_line(c->out, y->label[i].n ? "grid" : "minor", at, (Point){ x->to, at.y });
        svg_words(c->out, "soft right", (Point){ at.x - 9, at.y + 4.5 }, y->label[i].at,
                  NAME_WIDTH);
    }
    svg_line(c->out, "axis", (Point){ x->from, BOTTOM }, (Point){ x->to, BOTTOM });
}

static void see_all(Chart *c)
{
    for (int k = 0; k < c->plot->n_series; k++) {
        const Series *s = &c->plot->series[k];
        for (int i = 0; i < s->n; i++) {
            if (!axis_holds(&c->x, s->x[i]) || !axis_holds(&c->y, s->y[i]))
                continue;
            axis_see(&c->x, s->x[i]);
            axis_see(&c->y, s->y[i]);
            axis_see(&c->y, s->y[i] - (s->error ? s->error[i] : 0));
            axis_see(&c->y, s->y[i] + (s->error ? s->error[i] : 0));
        }
    }
    for (int i = 0; i < c->plot->n_lines; i++)
        axis_see(&c->y, c->plot->lines[i].value);
}

/* The margins take what their labels need; the lines get the rest. */
static void lay_out(Chart *c)
{
    double left = 0, right = 0;

    axis_fit(&c->x);
    axis_fit(&c->y);
    make_labels(c);
    for (int i = 0; i < c->y.n; i++)
        left = fmax(left, svg_width(c->y.label[i].at));
    for (int i = 0; i < c->n_labels; i++) {
        right = fmax(right, svg_width(c->label[i].name));
        right = fmax(right, svg_width(c->label[i].note.at));
    }
    c->x.from = MARGIN + left + 9;
    c->x.to = WIDTH - MARGIN - LEADER - SWATCH - 6 - fmin(right, NAME_WIDTH);
    c->y.from = BOTTOM, c->y.to = TOP;
    place_labels(c);
}

static void draw_chart(Chart *c)
{
    const Plot *plot = c->plot;

    see_all(c);
    if (axis_empty(&c->x) || axis_empty(&c->y)) {
        Point middle = { WIDTH / 2.0, (TOP + BOTTOM) / 2.0 };
        svg_words(c->out, "soft middle", middle, "no data", WIDTH);
        return;
    }
    lay_out(c);
    draw_grid(c);
    for (int i = 0; i < plot->n_series; i++)
        draw_series(c, i);
    for (int i = 0; i < plot->n_lines; i++) {
        double y = axis_place(&c->y, plot->lines[i].value);
        if (!isnan(y))
            svg_line(c->out, "reference", (Point){ c->x.from, y }, (Point){ c->x.to, y });
    }
    for (int i = 0; i < c->n_labels; i++)
        draw_label(c, &c->label[i]);
    Point below = { (c->x.from + c->x.to) / 2, BOTTOM + 46 };
    svg_words(c->out, "soft middle", below, plot->x_label, c->x.to - c->x.from);
    svg_words(c->out, "soft", (Point){ MARGIN, TOP - 14 }, plot->y_label, INNER);
}

void plot_svg(const Plot *plot, FILE *out)
{
    Chart *c = xmalloc(sizeof *c);

    *c = (Chart){ .out = out, .plot = plot };
    c->x = axis_new(plot->log_x, false);
    c->y = axis_new(plot->log_y, true);
    svg_open(out, WIDTH, HEIGHT, plot->title);
    svg_style(out);
    svg_words(out, "title", (Point){ MARGIN, 38 }, plot->title, INNER * 13.0 / 21);
    svg_words(out, "soft subtitle", (Point){ MARGIN, 61 }, plot->subtitle, INNER * 13.0 / 14);
    draw_chart(c);
    fputs("</svg>\n", out);
    free(c);
}
