/*
 * Means over seeds. Runs of a group that differ in nothing but the seed are a variant; those with
 * the same seed read the same batches, so variants are compared in pairs (tools/common/interval.h).
 */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "tools/common/interval.h"
#include "tools/draw/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_WIDTH = 900 };

typedef struct {
    Text name;
    int number, runs;
    double mean, sd; /* of their losses; sd: NaN for a single run */
} Variant;

typedef struct {
    const Group *group;
    int *of;          /* the number of each run's variant; -1: it has no loss */
    Variant *variant; /* the lowest mean first */
    Variant *against; /* the lowest with several runs: differences are from it */
    int n, again;     /* variants; runs that are left out, as they are others again */
    double *some;     /* room for a number of each run */
} Seeds;

static double loss_of(const Record *r)
{
    return record_at_best(r, LOG_LOSS);
}

static Text seed_of(const Record *r)
{
    return json_text(json_find(r->config, "seed"));
}

static double mean_of(const double *x, int n, double *sd)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] - x[0];
    const double mean = x[0] + sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    *sd = n > 1 ? sqrt(squares / (n - 1)) : (double)NAN;
    return mean;
}

/* Whether a run before this one has the same seed: it is a copy, or repeats it. */
static bool is_repeated(const Seeds *s, int run, int variant)
{
    const Text seed = seed_of(s->group->run[run]);

    for (int i = 0; i < run && seed.n; i++)
        if (s->of[i] == variant && strcmp(seed_of(s->group->run[i]).at, seed.at) == 0)
            return true;
    return false;
}

static void find_variants(Seeds *s)
{
    const Group *g = s->group;

    for (int i = 0; i < g->n; i++) {
        Text name = record_attention(g->run[i]);
        const Text settings = group_settings(g, g->run[i], "seed");
        int v = 0;

        s->of[i] = -1;
        if (isnan(loss_of(g->run[i])))
            continue;
        text_add(&name, "%s%s", name.n && settings.n ? " · " : "", settings.at);
        while (v < s->n && strcmp(s->variant[v].name.at, name.at) != 0)
            v++;
        if (v == s->n)
            s->variant[s->n++] = (Variant){ .name = name, .number = v };
        if (is_repeated(s, i, v)) {
            s->again++;
            continue;
        }
        s->variant[v].runs++;
        s->of[i] = v;
    }
}

static int by_mean(const void *a, const void *b)
{
    const Variant *p = a, *q = b;

    return p->mean == q->mean ? p->number - q->number : p->mean < q->mean ? -1 : 1;
}

static void find_means(Seeds *s)
{
    for (int v = 0; v < s->n; v++) {
        Variant *to = &s->variant[v];
        int n = 0;

        for (int i = 0; i < s->group->n; i++)
            if (s->of[i] == v)
                s->some[n++] = loss_of(s->group->run[i]);
        to->mean = mean_of(s->some, n, &to->sd);
    }
    qsort(s->variant, (size_t)s->n, sizeof *s->variant, by_mean);
}

/* The run with the same seed that it is compared with, or NULL. */
static const Record *pair_of(const Seeds *s, const Record *r)
{
    for (int i = 0; i < s->group->n; i++)
        if (s->of[i] == s->against->number &&
            strcmp(seed_of(s->group->run[i]).at, seed_of(r).at) == 0)
            return s->group->run[i];
    return NULL;
}

/* The mean of the differences from `against`, and half of its interval; NaN: fewer than two
 * pairs. */
static double difference_of(const Seeds *s, const Variant *v, double *half)
{
    double sd;
    int n = 0;

    *half = (double)NAN;
    for (int i = 0; i < s->group->n && v != s->against; i++) {
        const Record *r = s->group->run[i], *pair = s->of[i] == v->number ? pair_of(s, r) : NULL;

        if (pair)
            s->some[n++] = loss_of(r) - loss_of(pair);
    }
    if (n < 2)
        return (double)NAN;
    const double mean = mean_of(s->some, n, &sd);
    *half = interval_half(sd, (size_t)n);
    return mean;
}

static void put_cell(FILE *out, const char *head, const char *tag, double v, int digits)
{
    const Text shown = show_digits(v, digits);

    fprintf(out, "<td data-k=\"%s\"><%s>%s</%.*s></td>", head, tag, shown.n ? shown.at : "–",
            (int)strcspn(tag, " "), tag);
}

static void put_variant(const Seeds *s, const Variant *v, FILE *out)
{
    double half;
    const double difference = difference_of(s, v, &half);
    const char *clear = fabs(difference) > half ? "span" : "span class=\"soft\"";

    fputs("<tr><th scope=\"row\">", out);
    svg_text(out, v->name.n ? v->name.at : "unknown", WORDS_WIDTH);
    fprintf(out, "</th><td data-k=\"runs\"><span>%d</span></td>", v->runs);
    put_cell(out, "val. loss", v == s->variant && s->n > 1 ? "b" : "span", v->mean, 4);
    put_cell(out, "std. dev.", "span", v->sd, 3);
    put_cell(out, "difference", clear, difference, 3);
    put_cell(out, "±", clear, half, 3);
    fputs("</tr>\n", out);
}

static void put_variants(const Seeds *s, FILE *out)
{
    fputs(
        "<p class=\"soft\">Means over seeds. Differences are from the lowest with several runs, in pairs of "
        "runs with the same seed; ± is half of the 95% interval, and a difference in grey may be chance.",
        out);
    if (s->again)
        fprintf(out, " Not counted: %d run%s with the options and the seed of another.", s->again,
                s->again == 1 ? "" : "s");
    fputs(
        "</p>\n<table class=\"runs\">\n<thead><tr><th scope=\"col\">runs that differ in the seed</th>"
        "<th scope=\"col\">runs</th><th scope=\"col\">val. loss</th>"
        "<th scope=\"col\">std. dev.</th><th scope=\"col\">difference</th>"
        "<th scope=\"col\">±</th></tr></thead>\n<tbody>\n",
        out);
    for (int i = 0; i < s->n; i++)
        put_variant(s, &s->variant[i], out);
    fputs("</tbody></table>\n", out);
}

/* Runs with too many different options may not be of one variant. */
void seeds_write(const Group *g, FILE *out)
{
    const size_t n = (size_t)g->n;
    Seeds s = { .group = g };
    int most = 0;

    if (!g->known || g->differing == DIFFERING)
        return;
    s.of = xmalloc(n * sizeof *s.of);
    s.variant = xmalloc(n * sizeof *s.variant);
    s.some = xmalloc(n * sizeof *s.some);
    find_variants(&s);
    find_means(&s);
    for (int v = 0; v < s.n; v++)
        most = s.variant[v].runs > most ? s.variant[v].runs : most;
    s.against = s.variant;
    while (most > 1 && s.against->runs == 1)
        s.against++;
    if (most > 1)
        put_variants(&s, out);
    free(s.of);
    free(s.variant);
    free(s.some);
}
