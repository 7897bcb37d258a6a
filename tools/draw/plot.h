/*
 * Line charts as standalone SVG, for a browser in light or dark or a paper. All labels are in a
 * column to the right of the lines, so none can hide data or another label; each has its line's
 * colour and mark.
 *
 * What has no place leaves a gap: NaN, infinities (beyond 1e305), and what is
 * <= 0 on a log axis. Names may hold any bytes. A chart of any number of points
 * is below 200 KB up to some 20 series: a line keeps the smallest and the largest
 * value of about every pixel column. The same plot gives the same bytes.
 */
#ifndef TOOLS_DRAW_PLOT_H
#define TOOLS_DRAW_PLOT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    const char *name;
    const double *x, *y; /* x does not fall, as a rule; if it does the line goes back */
    const double *error; /* half of each point's bar; NULL: no bars */
    int n;
    bool points;      /* a mark at every point, if they are few enough to be distinguished */
    bool best;        /* a ring at the least y, and its value under the name */
    int smooth;       /* above 1: draws pale values, and over them a mean over this many points */
    bool shadow;      /* of the next series: thinner, in its colour, without a label of its own */
    const char *note; /* below the name, if nothing else is there; may be NULL */
} Series;

/* A horizontal line to compare with; its value is written under the label. */
typedef struct {
    double value;
    const char *label;
} PlotLine;

/* Any text may be NULL. A log axis whose data are powers of two is labelled 64, 128, 256, ... */
typedef struct {
    const char *title, *subtitle, *x_label, *y_label;
    bool log_x, log_y;
    const Series *series;
    int n_series;
    const PlotLine *lines;
    int n_lines;
} Plot;

void plot_svg(const Plot *plot, FILE *out);

#endif
