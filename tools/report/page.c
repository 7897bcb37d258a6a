/*
 * The page: its style, the table of runs, what differs between them, and what
 * was wrong with their files. It is HTML that is well-formed XML as well, with
 * nothing in it that is fetched or run.
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

/* The colours are those of the charts. */
static const char STYLE[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--paper:#fff;--rule:#d1d9e0;"
    "--wash:#f3f5f8;--good:#eaf5ee;--cell:#0072b2;--minus:#d55e00}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--paper:#0d1117;"
    "--rule:#30363d;--wash:#161b22;--good:#12301f;--cell:#4ba6e8;--minus:#ff8547}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\n"
    "main,footer{max-width:1180px;margin:0 auto;padding:0 24px}\n"
    "h1{font-size:30px;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:48px 0 4px}\n"
    "h2{font-size:20px;line-height:1.3;font-weight:600;margin:56px 0 8px}\n"
    "h3{font-size:15px;font-weight:600;margin:32px 0 4px}\n"
    "p{margin:4px 0 12px;max-width:72ch}\n"
    ".soft,footer{color:var(--soft)}\n"
    "footer{font-size:13px;padding-top:24px;padding-bottom:48px}\n"
    "code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "background:var(--wash);padding:1px 5px;border-radius:4px;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto;margin:12px 0}\n"
    "table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums;"
    "border-top:1.5px solid var(--ink);border-bottom:1.5px solid var(--ink)}\n"
    "th,td{padding:7px 0 7px 17px;text-align:right;white-space:nowrap;vertical-align:baseline;"
    "border-bottom:1px solid var(--rule)}\n"
    "thead th{font-weight:500;color:var(--soft);border-bottom-color:var(--soft);line-height:1.3;"
    "vertical-align:bottom}\n"
    "th:first-child,td.word,th.word{text-align:left}\n"
    "th:first-child{padding-left:0;position:sticky;left:0;background:var(--paper)}\n"
    "tbody th{font-weight:600;max-width:300px;overflow:hidden;text-overflow:ellipsis}\n"
    "tr:last-child th,tr:last-child td{border-bottom:0}\n"
    "th:last-child,td:last-child{padding-right:6px}\n"
    ".best span{background:var(--good);font-weight:650;border-radius:4px;padding:2px 6px;"
    "margin:-2px -6px}\n"
    ".key{width:14px;height:14px;vertical-align:-2px;margin-right:7px}\n"
    ".notes{padding-left:20px}.notes li{margin:3px 0}\n"
    "figure{margin:20px 0;overflow-x:auto}\n"
    ".chart{margin-left:-24px}.chart .title{font-size:16px}"
    ".plot{display:block;width:100%;min-width:640px;max-width:1020px;height:auto}.plot.key{display:inline;"
    "width:14px;min-width:0;height:14px}\n"
    ".maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));"
    "gap:24px 28px;margin:16px 0}\n"
    ".maps figure{margin:0}.maps figcaption{font-size:13px;color:var(--soft)}"
    ".maps figcaption b{color:var(--ink);font-weight:600}\n"
    ".map{display:block;max-width:100%;height:auto;margin-top:4px}\n"
    ".map .cells{fill:var(--cell)}.map .minus{fill:var(--minus)}\n"
    ".map .frame{fill:var(--wash)}.map .cells path:hover{fill-opacity:1}\n"
    ".map text{fill:var(--soft);font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"
    "'DejaVu Sans Mono',monospace;text-anchor:end}.map .middle{text-anchor:middle}"
    ".map .start{text-anchor:start}\n"
    "@media(max-width:600px){main,footer{padding:0 16px}h1{font-size:25px;margin-top:28px}"
    "h2{margin-top:40px}.chart{margin-left:-16px;margin-right:-16px}}\n"
    "@media print{@page{margin:14mm}body{font-size:10.5pt}main,footer{max-width:none;padding:0}"
    "table{font-size:8.5pt}th,td{padding:4px 0 4px 12px}.wide,figure{overflow:visible}"
    ".plot{min-width:0}h2,h3{break-after:avoid}figure,tr{break-inside:avoid}"
    ".chart{margin-left:0}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n"
    "</style>\n";

/* --- words -------------------------------------------------------------------------------------
 */

static Text number(double v, int digits)
{
    char to[NUMBER_BYTES];
    Text text = { 0 };

    if (isnan(v))
        return text;
    number_text(to, v, digits);
    text_add(&text, "%s", to);
    return text;
}

/* 9999, 12.3 k, 1.23 M */
static Text amount(double v)
{
    static const char *const unit[] = { "k", "M", "G", "T" };
    int u = -1;

    if (!(v >= 1e4 && v < 1e16))
        return number(v, 9);
    while (u < 3 && v >= 999.5)
        v /= 1000, u++;
    Text text = number(v, 3);
    text_add(&text, "\u00a0%s", unit[u]);
    return text;
}

static Text duration(double s)
{
    Text text = { 0 };

    if (s < 59.95)
        text_add(&text, s < 9.995 ? "%.2f\u00a0s" : "%.1f\u00a0s", s);
    else if (s < 3599.5)
        text_add(&text, "%d:%02d\u00a0min", (int)(s + 0.5) / 60, (int)(s + 0.5) % 60);
    else if (s < 1e9)
        text_add(&text, "%d:%02d\u00a0h", (int)(s / 60 + 0.5) / 60, (int)(s / 60 + 0.5) % 60);
    return text;
}

static Text fixed(double v, double unit, int decimals)
{
    Text text = { 0 };

    if (fabs(v) < 1e5)
        text_add(&text, "%.*f", decimals, v * unit);
    else
        text = number(v, 4);
    return text;
}

/* --- the table of runs -------------------------------------------------------------------------
 */

/* The largest number of a column, of training and validation. */
static double most(const Record *r, int field)
{
    double largest = (double)NAN;

    for (int i = 0; i < r->train.n; i++)
        largest = fmax(largest, r->train.at[field][i]);
    for (int i = 0; i < r->validation.n; i++)
        largest = fmax(largest, r->validation.at[field][i]);
    return largest;
}

/* Of the row of the least validation loss. */
static double at_best(const Record *r, int field)
{
    const int best = record_best(r);

    return best < 0 ? (double)NAN : r->validation.at[field][best];
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const Rows *rows, int field)
{
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

static double context(const Record *r)
{
    return json_number(r->config, "block_size");
}
static double parameters(const Record *r)
{
    return r->parameters;
}
static double steps(const Record *r)
{
    return most(r, LOG_STEP);
}
static double tokens(const Record *r)
{
    return most(r, LOG_TOKENS);
}
static double best_loss(const Record *r)
{
    return at_best(r, LOG_LOSS);
}
static double last_loss(const Record *r)
{
    return r->validation.n ? r->validation.at[LOG_LOSS][r->validation.n - 1] : (double)NAN;
}
static double perplexity(const Record *r)
{
    const double ppl = at_best(r, LOG_PPL);

    return isnan(ppl) ? exp(best_loss(r)) : ppl;
}
static double bits(const Record *r)
{
    return at_best(r, LOG_BITS);
}
static double accuracy(const Record *r)
{
    return at_best(r, LOG_ACCURACY);
}
static double speed(const Record *r)
{
    return median(&r->train, LOG_SPEED);
}
static double seconds(const Record *r)
{
    return most(r, LOG_SECONDS);
}

typedef enum { AMOUNT, DURATION, FIXED, PERCENT } Form;

/* A column: what its number is, and whether the least (-1) or the largest (1) is the best. */
static const struct {
    const char *head, *tail;
    double (*of)(const Record *r);
    Form form;
    int better, decimals;
} columns[] = {
    { "parameters", "", parameters, AMOUNT, 0, 0 },
    { "context", "", context, AMOUNT, 0, 0 },
    { "steps", "", steps, AMOUNT, 0, 0 },
    { "tokens", "", tokens, AMOUNT, 0, 0 },
    { "best", "val. loss", best_loss, FIXED, -1, 4 },
    { "last", "val. loss", last_loss, FIXED, -1, 4 },
    { "best", "ppl", perplexity, FIXED, -1, 3 },
    { "best", "bits/byte", bits, FIXED, -1, 4 },
    { "best", "accuracy", accuracy, PERCENT, 1, 1 },
    { "tok/s", "", speed, AMOUNT, 1, 0 },
    { "time", "", seconds, DURATION, 0, 0 },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static Text cell_of(const Record *r, int column)
{
    const double v = columns[column].of(r);
    Text text = { 0 };

    if (!isfinite(v))
        return text;
    if (columns[column].form == PERCENT)
        text = fixed(v, 100, columns[column].decimals), text_add(&text, "\u00a0%%");
    else
        text = columns[column].form == DURATION ? duration(v)
               : columns[column].form == FIXED  ? fixed(v, 1, columns[column].decimals)
                                                : amount(v);
    return text;
}

static const char *task_of(const Record *r)
{
    const char *task = json_string(r->config, "task");

    return task ? task : "";
}

/* The best of those that can be compared: of one task, and more than one. */
static bool is_best(const Report *report, int at, int column)
{
    const Record *r = report->record[at];
    const double v = columns[column].of(r) * columns[column].better;
    int others = 0;

    for (int i = 0; i < report->records; i++) {
        const Record *other = report->record[i];
        const double w = columns[column].of(other) * columns[column].better;

        if (other == r || strcmp(task_of(other), task_of(r)) != 0 || isnan(w))
            continue;
        others++;
        if (!(v >= w))
            return false;
    }
    return columns[column].better && others && !isnan(v);
}

static void put_cell(FILE *out, const char *class, const char *words)
{
    fprintf(out, "<td%s%s%s><span>", class ? " class=\"" : "", class ? class : "",
            class ? "\"" : "");
    svg_text(out, words && *words ? words : "–", VALUE_WIDTH);
    fputs("</span></td>", out);
}

static void put_head(FILE *out, const char *class, const char *head, const char *tail)
{
    fprintf(out, "<th%s>", class);
    svg_text(out, head, VALUE_WIDTH);
    fputs(*tail ? "<br/>" : "", out);
    svg_text(out, tail, VALUE_WIDTH);
    fputs("</th>", out);
}

/* The name of a run, with its mark in the charts. */
static void put_name(const Report *report, FILE *out, int i)
{
    const int mark = (i + i / SVG_COLOURS) % SVG_COLOURS;

    fprintf(out,
            "<th><svg class=\"plot key\" viewBox=\"0 0 14 14\"><g class=\"s%d\"><path "
            "class=\"mark\" d=\"M7 7%s\"/></g></svg>",
            i % SVG_COLOURS, svg_mark[mark]);
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
            put_head(out, "", columns[c].head, columns[c].tail);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < report->records; i++) {
        const Record *r = report->record[i];

        fputs("<tr>", out);
        put_name(report, out, i);
        put_cell(out, "word", record_attention(r).at);
        put_cell(out, "word", task_of(r));
        for (int c = 0; c < COLUMNS; c++)
            if (column_shown(report, c))
                put_cell(out, is_best(report, i, c) ? "best" : NULL, cell_of(r, c).at);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* --- what differs ------------------------------------------------------------------------------
 */

static Text value_of(const Record *r, const char *option)
{
    const Json *j = json_find(r->config, option);
    Text text = { 0 };

    if (!j || j->kind == JSON_NULL)
        return text;
    if (j->kind == JSON_STRING)
        return text_cut(j->string, 200);
    if (j->kind == JSON_NUMBER)
        return text_number(j->number);
    text_add(&text, "%s", j->kind == JSON_BOOL ? j->number > 0 ? "yes" : "no" : "...");
    return text;
}

/* Between runs whose options are known; the folder always does. */
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

/* The options that differ, in the order of the configurations; how many. */
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
        fputs("<p class=\"soft\">None of the options that are known.</p>\n", out);
        return;
    }
    fputs("<p class=\"soft\">The options that are not the same in all runs.", out);
    fprintf(out, n > shown ? " There are more than these %d.</p>\n" : "</p>\n", shown);
    fputs("<div class=\"wide\"><table>\n<thead><tr><th>run</th>", out);
    for (int k = 0; k < shown; k++)
        put_head(out, "", option[k], "");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < report->records; i++) {
        fputs("<tr>", out);
        put_name(report, out, i);
        for (int k = 0; k < shown; k++)
            put_cell(out, NULL, value_of(report->record[i], option[k]).at);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* --- the page ----------------------------------------------------------------------------------
 */

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
    fputs(STYLE, out);
    fputs("</head>\n<body>\n<main>\n<h1>", out);
    write_title(report, out);
    fputs("</h1>\n", out);
    write_runs(report, out);
    write_differences(report, out);
    charts_write(report, out);
    maps_write(report, out);
    write_notes(report, out);
    fprintf(out,
            "</main>\n<footer>Losses are in nats a target, those of validation. Made by "
            "<code>./report</code> of attn.c %s.</footer>\n</body>\n</html>\n",
            attn_version);
}
