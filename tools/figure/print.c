/* The cells of a figure as Markdown tables and as CSV. */
#include "tools/figure/figure.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "tools/draw/axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 1000000, SIGNIFICANT = 4, DECIMALS_MOST = 15, WORD_BYTES = 1000 };

/* A text as a single cell, whatever characters it has; control characters become '?'. */
static void put_word(FILE *out, const char *s)
{
    Text word = text_cut(s, WORD_BYTES);

    for (char *c = word.at; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    text_plain(word.at);
    for (const char *c = word.at; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
}

/* How many digits after the point show n significant digits of x. */
static int decimals_of(double x, int n)
{
    return n - 1 - (int)floor(log10(fabs(x)));
}

/* Four significant digits of the mean, and at least one of a deviation that is not 0. */
static int decimals(const Cell *c)
{
    const int mean = c->mean == 0 || !isfinite(c->mean) ? 0 : decimals_of(c->mean, SIGNIFICANT);
    const int sd = c->sd > 0 && isfinite(c->sd) ? decimals_of(c->sd, 1) : mean;
    const int most = sd > mean ? sd : mean;

    return most < 0 ? 0 : most > DECIMALS_MOST ? DECIMALS_MOST : most;
}

static void put_number(FILE *out, double x, int digits)
{
    if (fabs(x) < 1e15 && digits < DECIMALS_MOST)
        fprintf(out, "%.*f", digits, fabs(x) < 0.5 * pow(10, -digits) ? 0 : x); /* not -0.000 */
    else
        fputs(number_text(x, SIGNIFICANT).at, out);
}

static void put_cell(FILE *out, const Cell *c, Style style, bool bold)
{
    const int digits = style.digits < 0 ? decimals(c) : style.digits;

    fputs(bold ? "**" : "", out);
    put_number(out, c->mean, digits);
    if (!isnan(c->sd)) {
        fputs(" ± ", out);
        put_number(out, c->sd, digits);
    }
    fputs(bold ? "**" : "", out);
    if (style.counts)
        fprintf(out, " (n = %zu)", c->n);
}

/* The best finite mean of each column; NaN: there is none. For free(). */
static double *best_of(const Figure *f, Best which)
{
    double *best = xmalloc(f->columns * sizeof *best);

    for (size_t i = 0; i < f->columns; i++)
        best[i] = (double)NAN;
    for (const Cell *c = f->cell; c < f->cell + f->cells && which != BEST_NONE; c++) {
        double *b = &best[c->column];

        if (isfinite(c->mean))
            *b = which == BEST_MIN ? fmin(*b, c->mean) : fmax(*b, c->mean);
    }
    return best;
}

static void put_head(const Figure *f, FILE *out)
{
    fputc('|', out);
    for (int i = 0; i < f->wanted->by.n; i++) {
        fputc(' ', out);
        put_word(out, f->wanted->by.at[i]);
    }
    fputs(" |", out);
    for (size_t i = 0; i < f->columns; i++) {
        fputc(' ', out);
        put_word(out, f->column[i].text);
        fputs(" |", out);
    }
    fputs("\n|", out);
    for (size_t i = 0; i <= f->columns; i++)
        fputs(" --- |", out);
    fputc('\n', out);
}

static void put_line(const Figure *f, const Line *line, Style style, const double *best, FILE *out)
{
    const Cell *c = line->cell;

    fputs("| ", out);
    put_word(out, line->name);
    fputs(" |", out);
    for (size_t i = 0; i < f->columns; i++) {
        if (c < line->cell + line->cells && c->column == i) {
            if (c->n > 0) {
                fputc(' ', out);
                put_cell(out, c, style, best ? c->mean == best[i] : fabs(c->mean) > c->sd);
            }
            c++;
        }
        fputs(" |", out);
    }
    fputc('\n', out);
}

/* The differences from the line of --versus, which has none of its own. */
static void put_versus(const Figure *f, Style style, FILE *out)
{
    fputs("\nDifference from ", out);
    put_word(out, f->wanted->versus);
    fputs(", in pairs with the same ", out);
    put_word(out, f->wanted->pair);
    fputs(": mean ± half of the 95% interval; in bold, if that excludes 0.\n\n", out);
    put_head(f, out);
    for (const Line *line = f->line; line < f->line + f->lines; line++) {
        Line apart = *line;

        apart.cell = f->apart + (line->cell - f->cell);
        if (strcmp(line->name, f->wanted->versus) != 0)
            put_line(f, &apart, style, NULL, out);
    }
}

void figure_table(const Figure *f, Style style, FILE *out)
{
    if (f->lines > CELLS_MOST / f->columns)
        die(EXIT_USAGE, "a table of %zu by %zu is too large: select with --where, or use --csv",
            f->lines, f->columns);
    double *best = best_of(f, style.best);
    put_head(f, out);
    for (const Line *line = f->line; line < f->line + f->lines; line++)
        put_line(f, line, style, best, out);
    free(best);
    if (f->wanted->versus)
        put_versus(f, style, out);
}

/* "inf", "-inf", or nothing for NaN. */
static void put_digits(FILE *out, double x)
{
    fprintf(out, ",%s", isinf(x) ? (x < 0 ? "-inf" : "inf") : text_number(x).at);
}

static void put_field(FILE *out, const char *s)
{
    csv_write(out, s);
    fputc(',', out);
}

/* The values of --by, each a field. */
static void put_key(const char *key, FILE *out)
{
    char *values = strcpy(xmalloc(strlen(key) + 1), key), *at = values;

    for (char *end = at; end; at = end + 1) {
        end = strchr(at, BETWEEN);
        if (end)
            *end = 0;
        put_field(out, at);
    }
    free(values);
}

static void put_difference(FILE *out, const Cell *c)
{
    fprintf(out, ",%zu", c->n);
    put_digits(out, c->n > 0 ? c->mean : (double)NAN);
    put_digits(out, c->n > 1 ? c->sd : (double)NAN);
}

void figure_csv(FILE *out, void *figure)
{
    const Figure *f = figure;
    const Wanted *w = f->wanted;

    for (int i = 0; i < w->by.n; i++)
        put_field(out, w->by.at[i]);
    if (w->x)
        put_field(out, w->x);
    fprintf(out, "n,mean,sd,min,max%s\n", w->versus ? ",pairs,difference,half_interval" : "");
    for (const Cell *c = f->cell; c < f->cell + f->cells; c++) {
        if (w->by.n > 0)
            put_key(f->line[c->line].key, out);
        if (w->x)
            put_field(out, f->column[c->column].text);
        fprintf(out, "%zu", c->n);
        put_digits(out, c->mean);
        put_digits(out, c->sd);
        put_digits(out, c->min);
        put_digits(out, c->max);
        if (w->versus)
            put_difference(out, &f->apart[c - f->cell]);
        fputc('\n', out);
    }
}
