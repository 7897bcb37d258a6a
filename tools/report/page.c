/*
 * The page: the table of runs, what differs between them, and what was wrong with
 * their files. It is HTML that is well-formed XML as well, and fetches and runs
 * nothing.
 */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/common/options.h"
#include "tools/draw/axis.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIFFERENCES = 24, NAME_WIDTH = 260, VALUE_WIDTH = 220 };
enum { PARAMETERS, CONTEXT };

/* 9999, 12.3 k, 1.23 M */
static Text amount(double v)
{
    static const char *const unit[] = { "k", "M", "G", "T" };
    int u = -1;

    if (!(v >= 1e4 && v < 1e16))
        return number_text(v, 9);
    while (u < 3 && v >= 999.5)
        v /= 1000, u++;
    return text_format("%s\u00a0%s", number_text(v, 3).at, unit[u]);
}

/* Of seconds: 1.23 s, 59:59 min, 1:00 h. */
static Text duration(double s)
{
    const bool minutes = s < 3599.5;

    if (s < 59.95)
        return text_format(s < 9.995 ? "%.2f\u00a0s" : "%.1f\u00a0s", s);
    if (!(s < 1e9))
        return (Text){ 0 };
    const int parts = (int)(s / (minutes ? 1 : 60) + 0.5);
    return text_format("%d:%02d\u00a0%s", parts / 60, parts % 60, minutes ? "min" : "h");
}

static Text fixed(double v, double unit, int decimals)
{
    return fabs(v) < 1e5 ? text_format("%.*f", decimals, v * unit) : number_text(v, 4);
}

/* The largest value of a field, in training and validation. */
static double most(const Record *r, int field)
{
    double largest = (double)NAN;

    for (int i = 0; i < r->train.n; i++)
        largest = fmax(largest, r->train.at[field][i]);
    for (int i = 0; i < r->validation.n; i++)
        largest = fmax(largest, r->validation.at[field][i]);
    return largest;
}

static double at_row(const Record *r, int field, int row)
{
    return row < 0 ? (double)NAN : r->validation.at[field][row];
}

/* In the row with the least validation loss. */
static double at_best(const Record *r, int field)
{
    return at_row(r, field, record_best(r));
}

static double at_last(const Record *r, int field)
{
    return at_row(r, field, r->validation.n - 1);
}

static double perplexity(const Record *r, int field)
{
    return isnan(at_best(r, field)) ? exp(at_best(r, LOG_LOSS)) : at_best(r, field);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const Record *r, int field)
{
    const Rows *rows = &r->train;
    double *sorted = xmalloc(((size_t)rows->n + 1) * sizeof *sorted), middle = (double)NAN;
    size_t n = 0;

    for (int i = 0; i < rows->n; i++)
        if (!isnan(rows->at[field][i]))
            sorted[n++] = rows->at[field][i];
    qsort(sorted, n, sizeof *sorted, by_size);
    if (n)
        middle = sorted[n / 2];
    free(sorted);
    return middle;
}

static double about_model(const Record *r, int field)
{
    return field == PARAMETERS ? r->parameters : json_number(r->config, "block_size");
}

typedef enum { AMOUNT, DURATION, FIXED, PERCENT } Form;

/* A column: its number, and whether the smallest (-1) or the largest (1) is the best. */
static const struct {
    const char *head, *tail;
    double (*of)(const Record *r, int field);
    int field;
    Form form;
    int better, decimals;
} columns[] = {
    { "parameters", "", about_model, PARAMETERS, AMOUNT, 0, 0 },
    { "context", "", about_model, CONTEXT, AMOUNT, 0, 0 },
    { "steps", "", most, LOG_STEP, AMOUNT, 0, 0 },
    { "tokens", "", most, LOG_TOKENS, AMOUNT, 0, 0 },
    { "best", "val. loss", at_best, LOG_LOSS, FIXED, -1, 4 },
    { "last", "val. loss", at_last, LOG_LOSS, FIXED, -1, 4 },
    { "best", "ppl", perplexity, LOG_PPL, FIXED, -1, 3 },
    { "best", "bits/byte", at_best, LOG_BITS, FIXED, -1, 4 },
    { "best", "accuracy", at_best, LOG_ACCURACY, PERCENT, 1, 1 },
    { "tok/s", "", median, LOG_SPEED, AMOUNT, 1, 0 },
    { "time", "", most, LOG_SECONDS, DURATION, 0, 0 },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value(const Record *r, int column)
{
    return columns[column].of(r, columns[column].field);
}

static Text cell_of(const Record *r, int column)
{
    const double v = value(r, column);
    const Form form = columns[column].form;
    const int decimals = columns[column].decimals;

    if (!isfinite(v))
        return (Text){ 0 };
    return form == DURATION  ? duration(v)
           : form == FIXED   ? fixed(v, 1, decimals)
           : form == PERCENT ? text_format("%s\u00a0%%", fixed(v, 100, decimals).at)
                             : amount(v);
}

static const char *task_of(const Record *r)
{
    const char *task = json_string(r->config, "task");

    return task ? task : "";
}

/* Whether the run is the best of its task, and not the only one. */
static bool is_best(const Report *report, int at, int column)
{
    const Record *r = report->record[at];
    const double v = value(r, column) * columns[column].better;
    int others = 0;

    for (int i = 0; i < report->records; i++) {
        const Record *other = report->record[i];
        const double w = value(other, column) * columns[column].better;

        if (other == r || strcmp(task_of(other), task_of(r)) != 0 || isnan(w))
            continue;
        others++;
        if (!(v >= w))
            return false;
    }
    return columns[column].better && others && !isnan(v);
}

static void put_cell(FILE *out, const char *attribute, const char *words)
{
    fprintf(out, "<td%s><span>", attribute);
    svg_text(out, words && *words ? words : "–", VALUE_WIDTH);
    fputs("</span></td>", out);
}

static void put_head(FILE *out, const char *head, const char *tail)
{
    fputs("<th>", out);
    svg_text(out, head, VALUE_WIDTH);
    fputs(*tail ? "<br/>" : "", out);
    svg_text(out, tail, VALUE_WIDTH);
    fputs("</th>", out);
}

/* The name of a run, with its mark from the charts. */
static void put_name(const Report *report, FILE *out, int i)
{
    fprintf(out,
            "<th><svg class=\"plot key\" viewBox=\"0 0 14 14\"><g class=\"s%d\"><path "
            "class=\"mark\" d=\"M7 7%s\"/></g></svg>",
            i % SVG_COLOURS, svg_mark(i));
    svg_text(out, report->record[i]->label, NAME_WIDTH);
    fputs("</th>", out);
}

static bool column_shown(const Report *report, int column)
{
    for (int i = 0; i < report->records; i++)
        if (cell_of(report->record[i], column).n)
            return true;
    return false;
}

static void write_runs(const Report *report, FILE *out)
{
    fputs("<div class=\"wide\"><table>\n<thead><tr><th>run</th><th class=\"word\">attention</th>"
          "<th class=\"word\">task</th>",
          out);
    for (int c = 0; c < COLUMNS; c++)
        if (column_shown(report, c))
            put_head(out, columns[c].head, columns[c].tail);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < report->records; i++) {
        const Record *r = report->record[i];

        fputs("<tr>", out);
        put_name(report, out, i);
        put_cell(out, " class=\"word\"", record_attention(r).at);
        put_cell(out, " class=\"word\"", task_of(r));
        for (int c = 0; c < COLUMNS; c++)
            if (column_shown(report, c))
                put_cell(out, is_best(report, i, c) ? " class=\"best\"" : "", cell_of(r, c).at);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static Text value_of(const Record *r, const char *option)
{
    const Json *j = json_find(r->config, option);

    if (!j || j->kind == JSON_NULL)
        return (Text){ 0 };
    if (j->kind == JSON_STRING)
        return text_cut(j->string, 200);
    if (j->kind == JSON_NUMBER)
        return text_number(j->number);
    return text_format("%s", j->kind == JSON_BOOL ? j->number > 0 ? "yes" : "no" : "...");
}

/* Between runs whose options are known. The folder does not count, as it always differs. */
static bool option_differs(const Report *report, const char *option)
{
    const Record *first = NULL;

    if (strcmp(option, "out_dir") == 0)
        return false;
    for (int i = 0; i < report->records; i++) {
        const Record *r = report->record[i];

        if (!r->config)
            continue;
        if (first && strcmp(value_of(r, option).at, value_of(first, option).at) != 0)
            return true;
        first = first ? first : r;
    }
    return false;
}

/* The options that differ, in the order of the configurations; returns their number. */
static int find_differences(const Report *report, const char *option[DIFFERENCES])
{
    int n = 0, seen;

    for (int i = 0; i < report->records; i++) {
        const Json *config = report->record[i]->config;

        for (const Json *j = config ? config->first : NULL; j; j = j->next) {
            for (seen = 0; seen < n && seen < DIFFERENCES; seen++)
                if (strcmp(option[seen], j->name) == 0)
                    break;
            if (seen < n || n > DIFFERENCES || !j->name || !option_differs(report, j->name))
                continue;
            if (n < DIFFERENCES)
                option[n] = j->name;
            n++;
        }
    }
    return n;
}

static void write_differences(const Report *report, FILE *out)
{
    const char *option[DIFFERENCES];
    const int n = find_differences(report, option), shown = n < DIFFERENCES ? n : DIFFERENCES;

    if (report->records < 2)
        return;
    fputs("<h2>What differs</h2>\n", out);
    if (n == 0) {
        fputs("<p class=\"soft\">None of the known options.</p>\n", out);
        return;
    }
    fputs("<p class=\"soft\">The options that differ between the runs.", out);
    fprintf(out, n > shown ? " Only the first %d are shown.</p>\n" : "</p>\n", shown);
    fputs("<div class=\"wide\"><table>\n<thead><tr><th>run</th>", out);
    for (int k = 0; k < shown; k++)
        put_head(out, option[k], "");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < report->records; i++) {
        fputs("<tr>", out);
        put_name(report, out, i);
        for (int k = 0; k < shown; k++)
            put_cell(out, "", value_of(report->record[i], option[k]).at);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_notes(const Report *report, FILE *out)
{
    bool any = false;

    for (int i = 0; i < report->records; i++)
        for (const Note *note = report->record[i]->first_note; note; note = note->next) {
            fputs(any ? "" : "<h2>What could not be read</h2>\n<ul class=\"notes\">\n", out);
            any = true;
            fputs("<li><b>", out);
            svg_text(out, report->record[i]->label, NAME_WIDTH);
            fputs(":</b> ", out);
            svg_text(out, note->text, HUGE_VAL);
            fputs("</li>\n", out);
        }
    fputs(any ? "</ul>\n" : "", out);
}

static void write_title(const Report *report, FILE *out)
{
    if (report->records == 1)
        svg_text(out, report->record[0]->name, HUGE_VAL);
    else
        fprintf(out, "%d runs", report->records);
}

void page_write(FILE *out, void *ctx)
{
    const Report *report = ctx;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          out);
    write_title(report, out);
    fputs("</title>\n", out);
    svg_style(out);
    fputs(page_style, out);
    fputs("</head>\n<body>\n<main>\n<h1>", out);
    write_title(report, out);
    fputs("</h1>\n", out);
    write_runs(report, out);
    write_differences(report, out);
    charts_write(report, out);
    maps_write(report, out);
    write_notes(report, out);
    fprintf(out,
            "</main>\n<footer>Losses are validation losses, in nats per target. Made by "
            "<code>./report</code> of attn.c %s.</footer>\n</body>\n</html>\n",
            attn_version);
}
