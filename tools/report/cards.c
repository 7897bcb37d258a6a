/* The card of a run: what it was trained on, with what, where, and what it writes. */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* OPEN: pages of at most this many runs show their cards unfolded. */
enum { OPEN = 3, TEXTS = 8, PATH_SHOWN = 200 };

/* A text whose lines stay lines. */
void put_lines(FILE *out, const char *text, size_t bytes)
{
    char *copy = xmalloc(bytes + 1);

    for (size_t i = 0; i < bytes; i++)
        copy[i] = text[i] == '\n' ? 0 : text[i] ? text[i] : 1;
    copy[bytes] = 0;
    for (size_t i = 0; i < bytes; i += strlen(copy + i) + 1) {
        fputs(i ? "\n" : "", out);
        svg_text(out, copy + i, HUGE_VAL);
    }
    free(copy);
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    if (!*value)
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    svg_text(out, value, HUGE_VAL);
    fputs("</dd></div>\n", out);
}

static void add(Text *text, const char *before, Text value, const char *after)
{
    if (value.n)
        text_add(text, "%s%s%s%s", text->n ? ", " : "", before, value.at, after);
}

static Text fact(const Record *r, const char *name)
{
    return json_text(record_fact(r, name));
}

static Text number_fact(const Record *r, const char *name, Text (*show)(double v))
{
    const Json *j = record_fact(r, name);

    return j && j->kind == JSON_NUMBER ? show(j->number) : (Text){ 0 };
}

/* "1 head", "2 heads" */
static void add_count(Text *text, const Record *r, const char *name, const char *thing)
{
    const Text count = fact(r, name);

    add(text, "", count, text_format(" %s%s", thing, strcmp(count.at, "1") ? "s" : "").at);
}

static Text model_of(const Record *r)
{
    Text text = { 0 };

    add(&text, "", show_amount(r->parameters), " parameters");
    add_count(&text, r, "n_layer", "layer");
    add_count(&text, r, "n_head", "head");
    add(&text, "width ", fact(r, "n_embd"), "");
    add(&text, "context ", fact(r, "block_size"), "");
    return text;
}

static Text training_of(const Record *r)
{
    Text text = { 0 };

    add(&text, "", show_amount(record_most(r, LOG_STEP)), " steps");
    add(&text, "", show_amount(record_most(r, LOG_TOKENS)), " tokens");
    add(&text, "batch ", fact(r, "batch_size"), "");
    add(&text, "", fact(r, "optimizer"), "");
    add(&text, "learning rate ", fact(r, "learning_rate"), "");
    add(&text, "seed ", fact(r, "seed"), "");
    return text;
}

static Text result_of(const Record *r)
{
    const int best = record_best(r);
    Text text = { 0 };

    if (best >= 0)
        text_add(&text, "%s at step %s", show_digits(r->validation.at[LOG_LOSS][best], 4).at,
                 show_amount(r->validation.at[LOG_STEP][best]).at);
    add(&text, "", show_digits(r->final, 4), " over all validation targets at the end");
    return text;
}

static Text time_of(const Record *r)
{
    Text text = { 0 };

    add(&text, "", show_duration(record_most(r, LOG_SECONDS)), "");
    add(&text, "", show_amount(record_median(r, LOG_SPEED)), " tokens/s");
    return text;
}

static Text machine_of(const Record *r)
{
    Text text = { 0 };

    add(&text, "", fact(r, "cpu"), "");
    add_count(&text, r, "threads", "thread");
    add(&text, "", fact(r, "host"), "");
    return text;
}

static Text program_of(const Record *r)
{
    Text text = { 0 };

    add(&text, "attn.c ", fact(r, "version"), "");
    add(&text, "commit ", fact(r, "commit"), "");
    add(&text, "", fact(r, "compiler"), "");
    add(&text, "", fact(r, "flags"), "");
    return text;
}

/* A text as "story.txt, 1.12 MB, hash 59701cd6b70af7b4"; without its path. */
static Text text_of(const Json *j)
{
    const char *path = json_string(j, "file"), *slash = path ? strrchr(path, '/') : NULL;
    Text text = { 0 };

    if (j->kind == JSON_STRING)
        return text_cut(j->string, PATH_SHOWN);
    if (path)
        add(&text, "", text_cut(slash && slash[1] ? slash + 1 : path, PATH_SHOWN), "");
    if (json_number(j, "bytes") >= 0)
        add(&text, "", show_bytes(json_number(j, "bytes")), "");
    add(&text, "hash ", json_text(json_find(j, "hash")), "");
    return text;
}

static void put_texts(FILE *out, const Record *r)
{
    const Json *texts = record_fact(r, "texts");
    int left = TEXTS;

    if (texts && texts->kind == JSON_ARRAY && texts->first) {
        for (const Json *j = texts->first; j && left-- > 0; j = j->next)
            put_fact(out, "text", text_of(j).at);
        return;
    }
    put_fact(out, "text", r->text ? r->text : "");
}

static void put_command(FILE *out, const char *title, const Json *command)
{
    if (!command || command->kind != JSON_STRING)
        return;
    fprintf(out, "<h4>%s</h4>\n<pre class=\"command\"><code>", title);
    put_lines(out, command->string, strlen(command->string));
    fputs("</code></pre>\n", out);
}

static void put_resumptions(FILE *out, const Record *r)
{
    for (size_t k = r->resumptions > RESUMED ? r->resumptions - RESUMED : 0; k < r->resumptions;
         k++) {
        const Json *j = r->resumed[k % RESUMED];
        const Text title = text_format("Resumed after step %.0f with", json_number(j, "step"));

        put_command(out, title.at, json_find(json_find(j, "run"), "command"));
    }
}

static void put_card(Report *report, Record *r, FILE *out)
{
    fprintf(out, "<details class=\"card\"%s><summary><h3 id=\"run-%d\">",
            report->records <= OPEN ? " open=\"open\"" : "", r->number + 1);
    put_key(out, r->rank);
    put_name(out, r->label);
    fputs("</h3> <span class=\"soft\">", out);
    svg_text(out, record_attention(r).at, HUGE_VAL);
    fputs("</span></summary>\n<dl>\n", out);
    put_fact(out, "attention", record_attention(r).at);
    put_fact(out, "task", record_task(r));
    put_texts(out, r);
    put_fact(out, "tokenizer", r->corpus && !*r->corpus ? "" : fact(r, "tokenizer").at);
    put_fact(out, "model", model_of(r).at);
    put_fact(out, "training", training_of(r).at);
    put_fact(out, "validation loss", result_of(r).at);
    put_fact(out, "time", time_of(r).at);
    put_fact(out, "memory", number_fact(r, "peak_memory", show_bytes).at);
    put_fact(out, "machine", machine_of(r).at);
    put_fact(out, "program", program_of(r).at);
    put_fact(out, "started", fact(r, "started").at);
    fputs("</dl>\n", out);
    put_command(out, "Command", record_fact(r, "command"));
    put_resumptions(out, r);
    model_write(report, r, out);
    fputs("</details>\n", out);
}

static void put_cards(Report *report, const Group *g, int from, int to, FILE *out)
{
    fputs("<div class=\"cards\">\n", out);
    for (int i = from; i < to; i++)
        put_card(report, g->run[i], out);
    fputs("</div>\n", out);
}

void cards_write(Report *report, const Group *g, FILE *out)
{
    const int shown = group_shown(g);

    put_cards(report, g, 0, shown, out);
    if (shown == g->n)
        return;
    fprintf(out, "<details class=\"fold\"><summary>%d more runs</summary>\n", g->n - shown);
    put_cards(report, g, shown, g->n, out);
    fputs("</details>\n", out);
}
