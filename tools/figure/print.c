/* The cells of a figure as tables in Markdown or LaTeX, and as CSV. */
#include "tools/figure/figure.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "tools/draw/axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 1000000, SIGNIFICANT = 4, DECIMALS_MOST = 15, WORD_BYTES = 1000 };

/* How a table is written: what is around rows, between cells, and for what is in them. */
typedef struct {
    const char *begin, *between, *end, *bold, *not_bold, *plus_minus, *minus, *remark, *escaped;
} Format;

static const Format markdown = {
    .begin = "|",
    .between = " |",
    .end = " |\n",
    .bold = "**",
    .not_bold = "**",
    .plus_minus = " ± ",
    .minus = "-",
    .remark = "",
    .escaped = "|<*`",
};

static const Format latex = {
    .begin = "",
    .between = " &",
    .end = " \\\\\n",
    .bold = "\\textbf{",
    .not_bold = "}",
    .plus_minus = " $\\pm$ ",
    .minus = "$-$",
    .remark = "% ",
    .escaped = "&%$#_{}",
};

static const Format *format_of(Style style)
{
    return style.latex ? &latex : &markdown;
}

/* A text as a single cell, whatever characters it has; control characters become '?'. */
static void put_word(FILE *out, const char *s, const Format *as)
{
    Text word = text_cut(s, WORD_BYTES);

    for (char *c = word.at; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    text_plain(word.at);
    for (const char *c = word.at; *c; c++)
        if (as == &latex && strchr("\\~^", *c))
            fprintf(out, "\\char`\\%c{}", *c);
        else
            fprintf(out, strchr(as->escaped, *c) ? "\\%c" : "%c", *c);
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

static void put_number(FILE *out, double x, int digits, const Format *as)
{
    const bool fixed = fabs(x) < 1e15 && digits < DECIMALS_MOST;

    if (fixed && fabs(x) < 0.5 * pow(10, -digits)) /* not -0.000 */
        x = 0;
    if (!fixed && as == &markdown) {
        fputs(number_text(x, SIGNIFICANT).at, out);
        return;
    }
    fputs(x < 0 ? as->minus : "", out);
    if (fixed)
        fprintf(out, "%.*f", digits, fabs(x));
    else
        fprintf(out, isinf(x) ? "$\\infty$" : "%.*g", SIGNIFICANT, fabs(x));
}

static void put_cell(FILE *out, const Cell *c, Style style, bool bold)
{
    const int digits = style.digits < 0 ? decimals(c) : style.digits;
    const Format *as = format_of(style);

    fputs(bold ? as->bold : "", out);
    put_number(out, c->mean, digits, as);
    if (!isnan(c->sd)) {
        fputs(as->plus_minus, out);
        put_number(out, c->sd, digits, as);
    }
    fputs(bold ? as->not_bold : "", out);
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

static void put_head(const Figure *f, const Format *as, FILE *out)
{
    if (as == &latex) {
        fputs("\\begin{tabular}{l", out);
        for (size_t i = 0; i < f->columns; i++)
            fputc('r', out);
        fputs("}\n\\toprule\n", out);
    }
    fputs(as->begin, out);
    for (int i = 0; i < f->wanted->by.n; i++) {
        fputc(' ', out);
        put_word(out, f->wanted->by.at[i], as);
    }
    for (size_t i = 0; i < f->columns; i++) {
        fprintf(out, "%s ", as->between);
        put_word(out, f->column[i].text, as);
    }
    fputs(as->end, out);
    fputs(as == &latex ? "\\midrule\n" : "|", out);
    for (size_t i = 0; i <= f->columns && as == &markdown; i++)
        fputs(i < f->columns ? " --- |" : " --- |\n", out);
}

static void put_line(const Figure *f, const Line *line, Style style, const double *best, FILE *out)
{
    const Format *as = format_of(style);
    const Cell *c = line->cell;

    fprintf(out, "%s ", as->begin);
    put_word(out, line->name, as);
    for (size_t i = 0; i < f->columns; i++) {
        fputs(as->between, out);
        if (c < line->cell + line->cells && c->column == i) {
            if (c->n > 0) {
                fputc(' ', out);
                put_cell(out, c, style, best ? c->mean == best[i] : fabs(c->mean) > c->sd);
            }
            c++;
        }
    }
    fputs(as->end, out);
}

static void put_foot(const Format *as, FILE *out)
{
    fputs(as == &latex ? "\\bottomrule\n\\end{tabular}\n" : "", out);
}

/* The differences from the line of --versus, which has none of its own. */
static void put_versus(const Figure *f, Style style, FILE *out)
{
    const Format *as = format_of(style);

    fprintf(out, "\n%sDifference from ", as->remark);
    put_word(out, f->wanted->versus, as);
    fputs(", in pairs with the same ", out);
    put_word(out, f->wanted->pair, as);
    fputs(": mean ± half of the 95% interval; in bold, if that excludes 0.\n\n", out);
    put_head(f, as, out);
    for (const Line *line = f->line; line < f->line + f->lines; line++) {
        Line apart = *line;

        apart.cell = f->apart + (line->cell - f->cell);
        if (strcmp(line->name, f->wanted->versus) != 0)
            put_line(f, &apart, style, NULL, out);
    }
    put_foot(as, out);
}

/* Value i of a key, to be shown. */
static Text part_of(const char *key, int i)
{
    for (; i > 0; i--)
        key = strchr(key, BETWEEN) + 1;
    return text_format("%.*s", (int)strcspn(key, (const char[]){ BETWEEN, 0 }), key);
}

/* What --tuned has chosen for each line. */
static void put_tuned(const Figure *f, const Format *as, FILE *out)
{
    fprintf(out, "\n%sTuned:", as->remark);
    for (size_t i = 0; i < f->lines; i++) {
        fputs(i ? "; " : " ", out);
        put_word(out, f->line[i].name, as);
        for (int k = 0; k < f->wanted->tuned.n; k++) {
            fputs(k ? ", " : " with ", out);
            put_word(out, f->wanted->tuned.at[k], as);
            fputc(' ', out);
            put_word(out, part_of(f->line[i].tuned, k).at, as);
        }
    }
    fputs(".\n", out);
}

void figure_table(const Figure *f, Style style, FILE *out)
{
    const Format *as = format_of(style);

    if (f->lines > CELLS_MOST / f->columns)
        die(EXIT_USAGE, "a table of %zu by %zu is too large: select with --where, or use --csv",
            f->lines, f->columns);
    double *best = best_of(f, style.best);
    if (style.latex)
        fputs("% \\usepackage{booktabs}\n", out);
    put_head(f, as, out);
    for (const Line *line = f->line; line < f->line + f->lines; line++)
        put_line(f, line, style, best, out);
    put_foot(as, out);
    free(best);
    if (f->wanted->tuned.n > 0)
        put_tuned(f, as, out);
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

/* The n values of a key, each a field. */
static void put_key(const char *key, int n, FILE *out)
{
    char *values = strcpy(xmalloc(strlen(key) + 1), key), *at = values;

    for (int i = 0; i < n; i++) {
        char *end = at + strcspn(at, (const char[]){ BETWEEN, 0 });

        *end = 0;
        put_field(out, at);
        at = end + 1;
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
    for (int i = 0; i < w->tuned.n; i++)
        put_field(out, w->tuned.at[i]);
    if (w->x)
        put_field(out, w->x);
    fprintf(out, "n,mean,sd,min,max%s\n", w->versus ? ",pairs,difference,half_interval" : "");
    for (const Cell *c = f->cell; c < f->cell + f->cells; c++) {
        put_key(f->line[c->line].key, w->by.n, out);
        put_key(f->line[c->line].tuned, w->tuned.n, out);
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
