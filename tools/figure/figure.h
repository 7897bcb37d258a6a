/*
 * ./figure: rows of CSV files, gathered into the cells of a table.
 *
 *     files --figure_read()--> Figure --figure_table()--> Markdown
 *                                     --figure_csv()----> CSV
 *                                     --figure_svg()----> a chart
 *
 * A row belongs to the line of its values of --by, and to the column of its value
 * of --x; all rows of a cell, which are seeds as a rule, make one mean and one spread.
 */
#ifndef TOOLS_FIGURE_FIGURE_H
#define TOOLS_FIGURE_FIGURE_H

#include "ops/base/arena.h"
#include "tools/common/options.h"
#include "tools/draw/plot.h"

#include <stdio.h>

/* Names of columns, and values. */
typedef struct {
    const char *x, *y; /* x: NULL for one column of all */
    OptionTexts by;
    OptionTexts where; /* COL=VALUE|VALUE */
    OptionTexts order; /* names of lines; the others come after them */
} Wanted;

typedef struct {
    size_t line, column;
    size_t n; /* rows, 1 or more */
    double mean, min, max;
    double sd; /* of a sample; NaN: of one row, or not finite */
} Cell;

typedef struct {
    const char *key;  /* the values of --by, with BETWEEN between two */
    const char *name; /* with spaces, and without those that are empty; "-" of nothing */
    size_t order, first;
    const Cell *cell; /* those that it has, by column */
    size_t cells;
} Line;

typedef struct {
    const char *text;
    double value; /* NaN: the text is no number */
    size_t first;
} Column;

enum { BETWEEN = '\x1f' };

/* Lines are in the order that is wanted, columns in that of their numbers if all have one, else
 * both as they come. */
typedef struct {
    const Wanted *wanted;
    Line *line;
    Column *column;
    Cell *cell;
    size_t lines, columns, cells;
    bool numbers;      /* every column has a value */
    size_t no_x, no_y; /* rows that were left out, as they have none */
    Arena *mem;        /* of the texts */
} Figure;

/* Dies of a file that is no CSV, of a column that none has, and if no row is left. */
Figure figure_read(const Wanted *wanted, int files, char **path);
void figure_free(Figure *f);

typedef enum { BEST_NONE = -1, BEST_MIN, BEST_MAX } Best;

typedef struct {
    int digits;  /* after the point; below 0: four that say something */
    bool counts; /* how many rows a cell has */
    Best best;   /* of every column it is bold */
} Style;

void figure_table(const Figure *f, Style style, FILE *out);

/* A Print of a Figure: all cells to all digits. */
void figure_csv(FILE *out, void *figure);

/* A Print of a Drawing; what the plot has not been told is made from the figure. Dies if its
 * columns are no numbers. */
typedef struct {
    const Figure *figure;
    Plot plot;
} Drawing;

void figure_svg(FILE *out, void *drawing);

/* What is gathered row by row: the two texts that say which cell a number belongs to. */
typedef struct Gather Gather;

Gather *gather_new(void);
void gather_add(Gather *g, const char *key, const char *column, double y);
/* The cells, lines and columns of all that was added; and its end. */
void gather_end(Gather *g, Figure *f);

/* The number that all of s is; NaN: it is none. */
double figure_number(const char *s);

#endif
