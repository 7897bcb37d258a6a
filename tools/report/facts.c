/* What the page says of a run: numbers from its lines, and how numbers are written. */
#include "tools/report/report.h"

#include "ops/attention.h"
#include "ops/base/error.h"
#include "tools/common/options.h"
#include "tools/draw/axis.h"
#include "training/pace.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 64 };

/* The step after which the run went on with other texts (--allow-corpus-change); or -1. */
static double text_since(const Record *r)
{
    const Json *before = json_find(json_find(r->start, "run"), "texts");
    double since = -1;

    for (size_t k = r->resumptions > RESUMED ? r->resumptions - RESUMED : 0; k < r->resumptions;
         k++) {
        const Json *start = r->resumed[k % RESUMED];
        const Json *now = json_find(json_find(start, "run"), "texts");

        if (!options_same_texts(before, now))
            since = json_number(start, "step");
        before = now;
    }
    return since;
}

int record_best(const Record *r)
{
    const double *loss = r->validation.at[LOG_LOSS], since = text_since(r);
    int best = -1;

    for (int i = 0; i < r->validation.n; i++)
        if (!isnan(loss[i]) && r->validation.at[LOG_STEP][i] > since &&
            (best < 0 || loss[i] < loss[best]))
            best = i;
    return best;
}

double record_at_best(const Record *r, int field)
{
    const int best = record_best(r);

    return best < 0 ? (double)NAN : r->validation.at[field][best];
}

double record_perplexity(const Record *r)
{
    const double ppl = record_at_best(r, LOG_PPL);

    return isnan(ppl) ? exp(record_at_best(r, LOG_LOSS)) : ppl;
}

double record_most(const Record *r, int field)
{
    double largest = (double)NAN;

    for (int i = 0; i < r->train.n; i++)
        largest = fmax(largest, r->train.at[field][i]);
    for (int i = 0; i < r->validation.n; i++)
        largest = fmax(largest, r->validation.at[field][i]);
    return largest;
}

double record_median(const Record *r, int field)
{
    const Rows *rows = &r->train;
    double *sorted = xmalloc(((size_t)rows->n + 1) * sizeof *sorted), middle = (double)NAN;
    int n = 0;

    for (int i = 0; i < rows->n; i++)
        if (!isnan(rows->at[field][i]))
            sorted[n++] = rows->at[field][i];
    if (n > 0)
        middle = pace_median(sorted, n);
    free(sorted);
    return middle;
}

const Json *record_fact(const Record *r, const char *name)
{
    const Json *fact = json_find(json_find(r->start, "run"), name);

    fact = fact ? fact : json_find(r->config, name);
    return fact ? fact : json_find(r->last, name);
}

const char *record_task(const Record *r)
{
    const char *task = json_string(r->config, "task");

    return task ? task : "";
}

/*
 * The setting's value in config.json; its default where there is none, or none that it can have, or
 * where it is the run's own seed.
 */
static int setting_in(const Record *r, const Setting *s)
{
    const Json *member = s->seed && options_follow_seed(r->config, setting_key(s).at)
                             ? NULL
                             : json_find(r->config, setting_key(s).at);
    const JsonKind kind = member ? member->kind : JSON_NULL;
    int value;

    if (kind == JSON_STRING && setting_parse_words(s, member->string, ',', &value))
        return value;
    if (kind == JSON_BOOL && s->kind == SETTING_FLAG)
        return member->number > 0;
    if (kind == JSON_NUMBER && s->kind == SETTING_NUMBER && member->number > 0 &&
        member->number <= INT_MAX)
        return (int)member->number;
    return s->value;
}

/* "gau (norm n2, window 64)": with the settings that are not at their defaults. */
Text record_attention(const Record *r)
{
    const char *name = json_string(r->config, "attn");
    const Attention *a = name ? attention_find(name) : NULL;
    Values set = { { 0 } };
    Text text = name ? text_cut(name, NAME_ROOM) : (Text){ 0 };
    int n = 0;

    for (const Setting *s = a ? a->settings : NULL; s && s->name; s++)
        *setting_at(&set, s->name) = setting_in(r, s);
    for (const Setting *s = a ? a->settings : NULL; s && s->name; s++) {
        const int value = setting(&set, s->name);

        if (value != s->value && setting_matters(a, &set, s))
            text_add(&text, "%s%s %s", n++ ? ", " : " (", s->name, setting_words(s, value, '+').at);
    }
    text_add(&text, "%s", n ? ")" : "");
    return text;
}

Text show_digits(double v, int digits)
{
    const int power = v == 0 || !isfinite(v) ? 0 : (int)floor(log10(fabs(v)) + 1e-9);
    const int decimals = digits - 1 - power - (power < 0); /* 2.220, 0.250, 0.0569 */

    if (!isfinite(v))
        return (Text){ 0 };
    if (fabs(v) >= 1e5 || (v != 0 && power < -4))
        return number_text(v, digits);
    return text_format("%.*f", decimals < 0 ? 0 : decimals, v);
}

static Text with_unit(double v, double from, const char *const unit[5])
{
    int u = 0;

    if (!(v < 1e15))
        return isfinite(v) ? number_text(v, 3) : (Text){ 0 };
    while (u < 4 && fabs(v) >= (u ? 999.5 : from))
        v /= 1000, u++;
    return text_format("%s%s%s", number_text(v, u ? 3 : 4).at, *unit[u] ? "\u00a0" : "", unit[u]);
}

Text show_amount(double v)
{
    static const char *const unit[] = { "", "k", "M", "G", "T" };

    return with_unit(v, 9999.5, unit);
}

Text show_bytes(double bytes)
{
    static const char *const unit[] = { "bytes", "kB", "MB", "GB", "TB" };

    return with_unit(bytes, 999.5, unit);
}

Text show_duration(double s)
{
    const bool minutes = s < 3599.5;

    if (s < 59.95)
        return text_format(s < 9.995 ? "%.2f\u00a0s" : "%.1f\u00a0s", s);
    if (!(s < 1e9))
        return (Text){ 0 };
    const int parts = (int)(s / (minutes ? 1 : 60) + 0.5);
    return text_format("%d:%02d\u00a0%s", parts / 60, parts % 60, minutes ? "min" : "h");
}

double record_numbers(const Safetensors *s)
{
    double sum = 0;

    for (int i = 0; i < s->entries; i++)
        if (strncmp(s->entry[i].name, BESIDE, strlen(BESIDE)) != 0)
            sum += (double)(s->entry[i].bytes / dtype_size(s->entry[i].dtype));
    return sum;
}
