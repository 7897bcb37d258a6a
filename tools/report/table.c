/* The table of a group. On a narrow screen each row is a card. */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>

enum { NAME_WIDTH = 420, WORDS_WIDTH = 900 };

void put_key(FILE *out, int rank)
{
    fputs("<svg class=\"plot key\" viewBox=\"0 0 22 10\" aria-hidden=\"true\">", out);
    if (rank < HIGHLIGHTED)
        svg_group(out, rank);
    else
        fputs("<g class=\"rest\">", out);
    fputs("<path class=\"line\" d=\"M1 5h20\"/></g></svg>", out);
}

/* Letters that run from right to left stay within the name. */
void put_name(FILE *out, const char *name)
{
    fputs("<bdi>", out);
    svg_text(out, name, NAME_WIDTH);
    fputs("</bdi>", out);
}

static Text four_digits(double v)
{
    return show_digits(v, 4);
}

static Text percent(double v)
{
    return isnan(v) ? (Text){ 0 } : text_format("%s\u00a0%%", show_digits(100 * v, 3).at);
}

/* Where the number of a column comes from. */
typedef enum { PARAMETERS, PERPLEXITY, AT_BEST, MOST, MEDIAN } Source;

/* The columns, and whether the smallest (-1) or the largest (1) number is the best. */
static const struct {
    const char *head;
    Source source;
    int field;
    Text (*show)(double v);
    int better;
} columns[] = {
    { "parameters", PARAMETERS, 0, show_amount, 0 },
    { "tokens", MOST, LOG_TOKENS, show_amount, 0 },
    { "val. loss", AT_BEST, LOG_LOSS, four_digits, -1 },
    { "perplexity", PERPLEXITY, 0, four_digits, -1 },
    { "bits/byte", AT_BEST, LOG_BITS, four_digits, -1 },
    { "accuracy", AT_BEST, LOG_ACCURACY, percent, 1 },
    { "macro-F1", AT_BEST, LOG_F1, four_digits, 1 },
    { "tokens/s", MEDIAN, LOG_SPEED, show_amount, 0 },
    { "time", MOST, LOG_SECONDS, show_duration, 0 },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double number_of(const Record *r, int column)
{
    const int field = columns[column].field;

    switch (columns[column].source) {
    case PARAMETERS:
        return r->parameters;
    case PERPLEXITY:
        return record_perplexity(r);
    case AT_BEST:
        return record_at_best(r, field);
    case MOST:
        return record_most(r, field);
    case MEDIAN:
        return record_median(r, field);
    }
    return (double)NAN;
}

/* The numbers of a group, a row each. */
typedef struct {
    const Group *group;
    double (*value)[COLUMNS];
    double best[COLUMNS]; /* NaN: none, or of a single run */
    bool shown[COLUMNS];
    FILE *out;
} Table;

/* Fills in a column. In a group of unknown texts nothing is the best. */
static void fill(Table *t, int column)
{
    const Group *g = t->group;
    const int better = columns[column].better;
    int known = 0;

    t->best[column] = (double)NAN;
    for (int i = 0; i < g->n; i++) {
        const double v = t->value[i][column] = number_of(g->run[i], column);

        t->shown[column] |= columns[column].show(v).n > 0;
        t->best[column] = better > 0 ? fmax(t->best[column], v) : fmin(t->best[column], v);
        known += !isnan(v);
    }
    if (!g->known || !better || known < 2)
        t->best[column] = (double)NAN;
}

static void put_row(const Table *t, int row)
{
    const Record *r = t->group->run[row];
    const Text attention = record_attention(r), settings = group_settings(t->group, r, NULL);

    fprintf(t->out, "<tr><th scope=\"row\"><a href=\"#run-%d\">", r->number + 1);
    put_key(t->out, r->rank);
    put_name(t->out, r->label);
    fputs("</a><small>", t->out);
    svg_text(t->out, attention.at, WORDS_WIDTH);
    fputs(attention.n && settings.n ? " · " : "", t->out);
    svg_text(t->out, settings.at, WORDS_WIDTH);
    fputs("</small></th>", t->out);
    for (int c = 0; c < COLUMNS; c++) {
        const double v = t->value[row][c];

        if (t->shown[c])
            fprintf(t->out, "<td data-k=\"%s\"><%s>%s</%s></td>", columns[c].head,
                    v == t->best[c] ? "b" : "span",
                    columns[c].show(v).n ? columns[c].show(v).at : "–",
                    v == t->best[c] ? "b" : "span");
    }
    fputs("</tr>\n", t->out);
}

static void put_rows(const Table *t, int from, int to)
{
    fputs("<table class=\"runs\">\n<thead><tr><th scope=\"col\">run</th>", t->out);
    for (int c = 0; c < COLUMNS; c++)
        if (t->shown[c])
            fprintf(t->out, "<th scope=\"col\">%s</th>", columns[c].head);
    fputs("</tr></thead>\n<tbody>\n", t->out);
    for (int i = from; i < to; i++)
        put_row(t, i);
    fputs("</tbody></table>\n", t->out);
}

void table_write(const Group *g, FILE *out)
{
    const int shown = group_shown(g);
    Table t = { .group = g, .out = out, .value = xmalloc((size_t)g->n * sizeof *t.value) };

    for (int c = 0; c < COLUMNS; c++)
        fill(&t, c);
    put_rows(&t, 0, shown);
    if (shown < g->n) {
        fprintf(out, "<details class=\"fold\"><summary>%d more runs</summary>\n", g->n - shown);
        put_rows(&t, shown, g->n);
        fputs("</details>\n", out);
    }
    free(t.value);
}
