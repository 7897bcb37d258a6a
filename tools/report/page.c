/*
 * The page: for each group its table, its charts and the cards of its runs, then what was wrong
 * with the files. It is HTML that is well-formed XML as well, and fetches and runs nothing.
 */
#include "tools/report/report.h"

#include "tools/common/options.h"
#include "tools/draw/svg.h"

#include <math.h>

static void write_notes(const Report *report, FILE *out)
{
    bool any = false;

    for (int i = 0; i < report->records; i++)
        for (const Note *note = report->record[i]->first_note; note; note = note->next) {
            fputs(any ? "" : "<h2>What could not be read</h2>\n<ul class=\"notes\">\n", out);
            any = true;
            fputs("<li><b>", out);
            put_name(out, report->record[i]->label);
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

static void write_head(const Report *report, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          out);
    write_title(report, out);
    fputs("</title>\n", out);
    svg_style(out);
    for (const char *const *piece = page_style; *piece; piece++)
        fputs(*piece, out);
    fputs("</head>\n<body>\n<main>\n<h1>", out);
    write_title(report, out);
    fputs("</h1>\n", out);
}

static void write_group(Report *report, const Group *g, FILE *out)
{
    fputs("<section>\n<h2>", out);
    put_name(out, g->name);
    if (g->n < report->records)
        fprintf(out, " <small>%d run%s</small>", g->n, g->n > 1 ? "s" : "");
    fputs("</h2>\n", out);
    table_write(g, out);
    seeds_write(g, out);
    charts_write(g, out);
    cards_write(report, g, out);
    fputs("</section>\n", out);
}

void page_write(FILE *out, void *ctx)
{
    Report *report = ctx;
    Arena *mem = arena_new();
    int groups;
    const Group *group = groups_make(report, mem, &groups);

    write_head(report, out);
    if (groups > 1)
        fprintf(out,
                "<p class=\"soft\">In %d groups: only losses on the same text, with the same "
                "tokenizer and task, can be compared.</p>\n",
                groups);
    for (int g = 0; g < groups; g++)
        write_group(report, &group[g], out);
    write_notes(report, out);
    fprintf(out,
            "</main>\n<footer>Losses are means per target, in nats; the best of several runs is "
            "shaded.%s Made by <code>./report</code> of attn.c %s.</footer>\n</body>\n</html>\n",
            report->text ? "" : " <code>--prompt TEXT</code> adds attention maps.", attn_version);
    arena_free(mem);
}
