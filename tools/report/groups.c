/*
 * Which runs can be compared. The key of a group is the text, the tokenizer and the task, with the
 * settings that change what is predicted; runs of unknown texts are a group in which nothing is
 * best.
 */
#include "tools/report/report.h"

#include "ops/attention.h"
#include "ops/base/error.h"
#include "tools/common/follows.h"
#include "tools/common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20, NAME_SHOWN = 60, VALUE_SHOWN = 40 };

static void add_part(Text *text, const char *part)
{
    if (*part)
        text_add(text, "%s%s", text->n ? " · " : "", part);
}

/* Generated rows are no text: the settings of their task say how hard they are. */
static Text key_of(const Record *r)
{
    static const char *const of_text[] = { "val_file", "val_share", "mask_share", "whole_word",
                                           NULL },
                             *const of_rows[] = { "symbols",    "items", "least",      "noise",
                                                  "difficulty", "data",  "block_size", NULL };
    const char *const *name = r->corpus && !*r->corpus ? of_rows : of_text;
    Text key = text_cut(record_task(r), NAME_SHOWN);

    add_part(&key, r->tokenizer);
    add_part(&key, r->corpus ? r->corpus : "?");
    for (; *name; name++) {
        const Text value = json_text(json_find(r->config, *name));

        text_add(&key, ",%s",
                 strcmp(value.at, "false") == 0 ? "" : value.at); /* as in older runs */
    }
    return key;
}

static const char *name_of(const Record *r, Arena *mem)
{
    Text name = text_cut(record_task(r), NAME_SHOWN);

    if (!r->corpus || *r->corpus)
        add_part(&name, r->words);
    if (r->text)
        add_part(&name, text_cut(r->text, NAME_SHOWN).at);
    return arena_string(mem, name.n ? name.at : "unknown task");
}

static int by_loss(const void *a, const void *b)
{
    const Record *p = *(Record *const *)a, *q = *(Record *const *)b;
    const double x = record_at_best(p, LOG_LOSS), y = record_at_best(q, LOG_LOSS);

    if (isnan(x) != isnan(y))
        return isnan(x) - isnan(y);
    return x < y ? -1 : x > y ? 1 : (p->number > q->number) - (p->number < q->number);
}

/* The largest group comes first, then as the runs were given. */
static int by_runs(const void *a, const void *b)
{
    const Group *p = a, *q = b;

    return p->n == q->n ? (p->first > q->first) - (p->first < q->first) : q->n - p->n;
}

static void rank(Group *g)
{
    qsort(g->run, (size_t)g->n, sizeof(Record *), by_loss);
    for (int i = 0; i < g->n; i++)
        g->run[i]->rank = i;
}

/*
 * Whether it is an option of its own: the mechanism is shown with its settings, and a group has one
 * tokenizer, whether a run learned it or took that of another.
 */
static bool is_setting(const char *name)
{
    if (strcmp(name, "attn") == 0 || strcmp(name, "tokenizer") == 0 || !options_matter(name))
        return false;
    for (const Attention *const *a = attentions; *a; a++)
        for (const Setting *s = (*a)->settings; s && s->name; s++)
            if (strcmp(setting_key(s).at, name) == 0)
                return false;
    return true;
}

/* Whether it is everywhere what follows from other options by default. */
static bool follows(const Group *g, const char *name)
{
    for (int i = 0; i < g->n; i++) {
        const Json *j = json_find(g->run[i]->config, name);

        if (j && (j->kind != JSON_NUMBER || j->number != follows_from(g->run[i]->config, name)))
            return false;
    }
    return true;
}

static bool differs(const Group *g, const char *name)
{
    const Record *first = NULL;

    for (int i = 0; i < g->n; i++) {
        const Record *r = g->run[i];

        if (!r->config)
            continue;
        if (first && strcmp(json_text(json_find(r->config, name)).at,
                            json_text(json_find(first->config, name)).at) != 0)
            return true;
        first = first ? first : r;
    }
    return false;
}

/* The options that differ between the runs of a group, in the order of their configurations. */
static void find_differences(Group *g)
{
    for (int i = 0; i < g->n; i++) {
        const Json *config = g->run[i]->config;

        for (const Json *j = config ? config->first : NULL; j && j->name; j = j->next) {
            bool seen =
                g->differing == DIFFERING || (i > 0 && json_find(g->run[0]->config, j->name));

            for (int k = 0; k < g->differing && !seen; k++)
                seen = strcmp(g->differs[k], j->name) == 0;
            if (!seen && is_setting(j->name) && differs(g, j->name) && !follows(g, j->name))
                g->differs[g->differing++] = j->name;
        }
    }
}

Group *groups_make(const Report *report, Arena *mem, int *n)
{
    const size_t most = (size_t)report->records;
    Group *group = arena_take(mem, most * sizeof *group);
    Text *key = xmalloc(most * sizeof *key);

    *n = 0;
    for (int i = 0; i < report->records; i++) {
        Record *r = report->record[i];
        const Text its = key_of(r);
        int g = 0;

        while (g < *n && strcmp(key[g].at, its.at) != 0)
            g++;
        if (g == *n) {
            key[(*n)++] = its;
            group[g] = (Group){ .name = name_of(r, mem), .known = r->corpus, .first = i };
            group[g].run = arena_take(mem, most * sizeof(Record *));
        }
        r->number = i;
        group[g].run[group[g].n++] = r;
    }
    free(key);
    for (int g = 0; g < *n; g++)
        rank(&group[g]), find_differences(&group[g]);
    qsort(group, (size_t)*n, sizeof *group, by_runs);
    return group;
}

Text group_settings(const Group *g, const Record *r, const char *except)
{
    Text text = { 0 };

    for (int i = 0; i < g->differing; i++) {
        const Text value = text_cut(json_text(json_find(r->config, g->differs[i])).at, VALUE_SHOWN);
        Text name = text_cut(g->differs[i], NAME_SHOWN);

        if (except && strcmp(g->differs[i], except) == 0)
            continue;
        for (char *c = name.at; *c; c++)
            *c = *c == '_' ? '-' : *c;
        if (value.n)
            text_add(&text, "%s%s\u00a0%s", text.n ? " · " : "", name.at, value.at);
    }
    return text;
}

int group_shown(const Group *g)
{
    return g->n > SHOWN + SHOWN / 4 ? SHOWN : g->n;
}
