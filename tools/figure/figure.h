/*
 * ./figure: rows of results, grouped into the cells of a table.
 *
 *     files --figure_read()--> Figure --figure_table()--> Markdown, LaTeX
 *                                     --figure_csv()----> CSV
 *                                     --figure_svg()----> a chart
 *
 * A row belongs to the line of its values of --by and to the column of its value of
 * --x; the rows of a cell, usually seeds, give one mean and one standard deviation.
 */
#ifndef TOOLS_FIGURE_FIGURE_H
#define TOOLS_FIGURE_FIGURE_H

#include "ops/base/arena.h"
#include "tools/common/options.h"
#include "tools/draw/plot.h"

#include <stdio.h>

/* What to group, as names of columns and values. */
typedef struct {
    const char *x, *y; /* x: NULL for a single column */
    OptionTexts by;
    OptionTexts where;  /* COL=VALUE|VALUE */
    OptionTexts tuned;  /* columns of which each line has its best values only, */
    bool largest;       /* those of its highest mean, or of its lowest */
    OptionTexts order;  /* names of lines that come first */
    const char *versus; /* the line that others are compared with, or NULL */
    const char *pair;   /* the column that has the same value in both rows of a pair */
} Wanted;

typedef struct {
    size_t line, column;
    size_t n; /* rows, 1 or more */
    double mean, min, max;
    double sd; /* of a sample; NaN: a single row, or not finite */
} Cell;

typedef struct {
    const char *key;   /* the values of --by, separated by BETWEEN */
    const char *tuned; /* the same of --tuned */
    const char *name;  /* by spaces, without empty values; "-" if all are empty */
    size_t order, first;
    const Cell *cell; /* its cells, by column */
    size_t cells;
} Line;

typedef struct {
    const char *text;
    double value; /* NaN: the text is not a number */
    size_t first;
} Column;

enum { BETWEEN = '\x1f' };

/* Lines are in the order of --order, columns in that of their numbers if all are numbers; otherwise
 * in the order of the files. */
typedef struct {
    const Wanted *wanted;
    Line *line;
    Column *column;
    Cell *cell;
    Cell *apart; /* with --versus, of each cell: how far it is from that line; n: pairs, or 0 */
    size_t lines, columns, cells;
    bool numbers;      /* every column has a value */
    size_t no_x, no_y; /* rows that were left out for want of one */
    int runs, unused;  /* those that --where does not rule out by an option, and have no row */
    Text first_unused;
    int *with;    /* of each file, another whose rows are averaged with its own, or itself */
    Text differs; /* the options that differ between such files, as "a, b" */
    Arena *mem;   /* of all this: free it at the end */
} Figure;

/* Files may be CSV, log.jsonl or folders of runs. Dies if one cannot be read, if no file has a
 * column, and if no row is left. */
Figure figure_read(const Wanted *wanted, int files, char **path);

/* What to say of a line that is not there, or empty. */
Text figure_lacks(const Figure *f, const char *name);

typedef enum { BEST_NONE = -1, BEST_MIN, BEST_MAX } Best;

typedef struct {
    int digits;  /* after the point; below 0: four significant ones */
    bool counts; /* the number of rows of each cell */
    bool latex;  /* instead of Markdown */
    Best best;   /* set in bold, in every column */
} Style;

void figure_table(const Figure *f, Style style, FILE *out);

/* A Print of a Figure: all cells to full precision. */
void figure_csv(FILE *out, void *figure);

/* A Print of a Drawing; titles and labels that the plot lacks come from the figure. Dies if a
 * column is not a number. */
typedef struct {
    const Figure *figure;
    Plot plot;
} Drawing;

void figure_svg(FILE *out, void *drawing);

/* Collects rows: a number, the two texts that say which cell it belongs to, the values of --tuned,
 * what it has in common with its pair in another line (or ""), and its file. */
typedef struct Gather Gather;
typedef struct {
    const char *key, *column, *tuned, *pair;
    double y;
    int file;
} Gathered;

Gather *gather_new(int files);
void gather_add(Gather *g, Gathered row);
/* Makes the cells, lines and columns of all rows, and frees g. */
void gather_end(Gather *g, Figure *f);

/* The number that s is, as a whole; NaN: it is none. */
double figure_number(const char *s);

#endif
