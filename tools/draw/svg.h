/* Points and words as SVG. Whatever bytes a string holds, what is written is well-formed XML. */
#ifndef TOOLS_DRAW_SVG_H
#define TOOLS_DRAW_SVG_H

#include <stdbool.h>
#include <stdio.h>

enum { SVG_COLOURS = 8 };

/* Opens a chart, of class plot, on its background. It ends with </svg>. */
void svg_open(FILE *out, int width, int height, const char *title);

/*
 * The <style> of charts, once in every file that has any. The colours s0 to s7 have a contrast of
 * at least 3 to the paper, and any two a CIE distance of at least 23, in light and in dark, for
 * normal eyes and for each of the three kinds of colour blindness (as simulated by Machado 2009).
 */
void svg_style(FILE *out);

/* Opens a group with the colour and the dashes of series `number`. It ends with </g>. */
void svg_group(FILE *out, int number);

/* The mark of that series, drawn from its middle by a <path>. */
const char *svg_mark(int number);

typedef struct {
    double x, y; /* pixels; NaN: nowhere */
} Point;

extern const Point svg_nowhere;
bool svg_placed(Point p);

/* About how many pixels s takes in letters of 13 pixels; NULL is "". */
double svg_width(const char *s);

/* The characters of s, cut short to `width` such pixels. */
void svg_text(FILE *out, const char *s, double width);

/* A <text> of the class, left out if s is empty. */
void svg_words(FILE *out, const char *class, Point at, const char *s, double width);

/* `command`, then the coordinates to a tenth of a pixel; and a straight line. */
void svg_point(FILE *out, const char *command, Point p);
void svg_line(FILE *out, const char *class, Point a, Point b);

/*
 * Writes the data of a <path>, keeping the least and the largest y of each column of pixels. Where
 * p is nowhere there is a gap, if it is wide enough to show; a point between two gaps is a dot.
 */
typedef struct {
    FILE *out;     /* only out and column are not zero at first */
    double column; /* its width */
    long at;       /* the column that is open */
    Point low, high;
    bool open, high_last, gap;
    int drawn; /* points since the pen was set down */
} Pen;

void pen_move(Pen *pen, Point p);
void pen_lift(Pen *pen);

/*
 * Makes each pixel y the mean of itself and of half of `points` on either side, as far as there are
 * points on the left: so the steep start of a loss stays in place. NaN stays, and does not count.
 * Pixels cannot overflow, and on a log axis their mean is the geometric one.
 */
void pen_smooth(double *y, int n, int points);

#endif
