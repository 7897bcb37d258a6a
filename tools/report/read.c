/*
 * Reads a run's folder: config.json, log.jsonl, eval.csv, and the size of its
 * weights. Any file may be missing, and any line cut off or damaged.
 */
#include "tools/report/report.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/options.h"
#include "training/saved.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_BYTES = 1 << 24, LINE_BYTES = 1 << 24, ROWS_MOST = 1 << 26, NUMBER_ROOM = 64 };

void record_note(Record *r, const char *fmt, ...)
{
    Note *note = arena_take(r->mem, sizeof *note);
    char words[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    *note = (Note){ NULL, arena_string(r->mem, words) };
    *r->last_note = note;
    r->last_note = &note->next;
}

static const char *path_of(const Record *r, const char *name)
{
    return arena_format(r->mem, "%s/%s", r->path, name);
}

static bool readable(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, R_OK) == 0;
}

/* The file for free(), followed by a 0; NULL if it cannot be read. */
static unsigned char *contents(const Record *r, const char *name, size_t *bytes)
{
    const char *path = path_of(r, name);

    return readable(path) ? file_read(path, bytes) : NULL;
}

/* The current line is n bytes at `at`; `ended` by a newline, which the last may lack. */
typedef struct {
    const char *next, *end, *at;
    size_t n;
    int number; /* from 1 */
    bool ended;
} Lines;

static bool next_line(Lines *l)
{
    if (l->next == l->end)
        return false;
    const size_t left = (size_t)(l->end - l->next);
    const char *newline = memchr(l->next, '\n', left);

    l->at = l->next;
    l->ended = newline != NULL;
    l->n = newline ? (size_t)(newline - l->at) : left;
    l->next += l->n + l->ended;
    l->number++;
    return true;
}

static void rows_add(Rows *rows, const double value[FIELDS])
{
    if (rows->n == ROWS_MOST)
        return;
    for (int f = 0; f < FIELDS; f++) {
        rows->at[f] = xgrow(rows->at[f], (size_t)rows->n, sizeof(double));
        rows->at[f][rows->n] = value[f];
    }
    rows->n++;
}

static void rows_free(Rows *rows)
{
    for (int f = 0; f < FIELDS; f++)
        free(rows->at[f]);
}

static void read_config(Record *r)
{
    size_t bytes;
    unsigned char *text = contents(r, "config.json", &bytes);
    Text why;

    if (!text) {
        record_note(r, "There is no config.json that can be read: the settings are unknown.");
        return;
    }
    if (bytes > CONFIG_BYTES) {
        record_note(r, "config.json has %zu bytes, more than any run writes.", bytes);
    } else {
        r->config = json_read(r->mem, (const char *)text, bytes, &why);
        if (!r->config)
            record_note(r, "config.json %s.", why.at);
        else if (r->config->kind != JSON_OBJECT)
            record_note(r, "config.json is not a JSON object.");
    }
    free(text);
}

/* Reads a line again, to stay. */
static void keep(Record *r, const Json **to, const Lines *l)
{
    Text why;

    *to = json_read(r->mem, l->at, l->n, &why);
}

/* Adds a line to the rows of its split; if it cannot, `why` says the reason. */
static bool read_log_line(Record *r, Arena *mem, const Lines *l, Text *why)
{
    static const char *const name[FIELDS] = { "step",     "loss",     "ppl",    "bits_per_byte",
                                              "accuracy", "macro_f1", "lr",     "grad_norm",
                                              "tokens",   "tok_s",    "seconds" };
    double value[FIELDS];

    arena_reset(mem);
    *why = (Text){ 0 };
    if (l->n > LINE_BYTES) {
        text_add(why, "has %zu bytes", l->n);
        return false;
    }
    const Json *j = json_read(mem, l->at, l->n, why);
    const char *split = json_string(j, "split");
    const bool validation = split && strcmp(split, "val") == 0;
    for (int f = 0; f < FIELDS; f++)
        value[f] = json_number(j, name[f]);
    if (j && (!split || !(value[LOG_STEP] >= 0)))
        text_add(why, "has no step, or no split");
    else if (j && (validation || strcmp(split, "train") == 0)) {
        const bool skipped = json_find(j, "skipped") != NULL;

        rows_add(validation ? &r->validation : &r->train, value);
        r->skipped += skipped;
        r->skipped_last = skipped ? r->skipped_last + 1 : 0;
    } else if (j && strcmp(split, "final") == 0)
        r->final = value[LOG_LOSS];
    else if (j && strcmp(split, "start") == 0)
        keep(r, r->start ? &r->resumed[r->resumptions++ % RESUMED] : &r->start, l);
    return why->n == 0;
}

static void read_log(Record *r)
{
    size_t bytes;
    unsigned char *text = contents(r, "log.jsonl", &bytes);
    Text why, first = { 0 };
    int bad = 0, number = 0;

    if (!text) {
        record_note(r, "There is no log.jsonl that can be read, so there are no curves.");
        return;
    }
    Arena *mem = arena_new();
    Lines l = { .next = (const char *)text, .end = (const char *)text + bytes };
    while (next_line(&l)) {
        if (l.next == l.end && l.n <= LINE_BYTES)
            keep(r, &r->last, &l);
        if (read_log_line(r, mem, &l, &why))
            continue;
        if (!l.ended)
            record_note(r, "The last line of log.jsonl is cut off.");
        else if (bad++ == 0)
            first = why, number = l.number;
    }
    if (bad)
        record_note(r, "%d line%s of log.jsonl %s left out; the first, line %d, %s.", bad,
                    bad > 1 ? "s" : "", bad > 1 ? "are" : "is", number, first.at);
    if (r->train.n + r->validation.n == 0)
        record_note(r, "log.jsonl has no loss of a step.");
    if (r->skipped)
        record_note(r, "%d update%s %s skipped, as gradients were not finite or losses too high%s.",
                    r->skipped, r->skipped > 1 ? "s" : "", r->skipped > 1 ? "were" : "was",
                    r->skipped_last ? text_format(", the last %d in a row", r->skipped_last).at
                                    : "");
    arena_free(mem);
    free(text);
}

static const char *const eval_names[] = {
    [EVAL_LENGTH] = "length", [EVAL_STRIDE] = "stride", [EVAL_LOSS] = "loss",
    [EVAL_PPL] = "ppl",       [EVAL_ERROR] = "error",   [EVAL_PROTOCOL] = "protocol",
    [EVAL_STEP] = "step",     [EVAL_DATA] = "data",
};

/* The row's field in that column; empty if there is no such column. */
static const char *field_of(const Csv *csv, int name)
{
    const int column = csv_find(csv, eval_names[name]);

    return column < 0 ? "" : csv->field[column];
}

static double number_in(const char *field)
{
    char *end;
    const double x = strtod(field, &end);

    return *field && !*end && isfinite(x) ? x : (double)NAN;
}

/* The index of that protocol, which is added if there is room. */
static double protocol_in(Record *r, const char *name)
{
    int i = 0;

    while (i < r->protocols && strcmp(r->protocol[i], name) != 0)
        i++;
    if (i == PROTOCOLS)
        return (double)NAN;
    if (i == r->protocols)
        r->protocol[r->protocols++] = arena_string(r->mem, name);
    return i;
}

static bool read_eval_row(Record *r, const Csv *csv)
{
    Text protocol = text_cut(field_of(csv, EVAL_PROTOCOL), NUMBER_ROOM);
    double value[FIELDS];

    for (int f = 0; f < FIELDS; f++)
        value[f] = f < EVALS ? number_in(field_of(csv, f)) : (double)NAN;
    if (isnan(value[EVAL_PPL]))
        value[EVAL_PPL] = exp(value[EVAL_LOSS]);
    if (!(value[EVAL_LENGTH] > 0) || !isfinite(value[EVAL_PPL]))
        return false;
    if (value[EVAL_STRIDE] > 0 && strncmp(protocol.at, "sliding", 7) == 0)
        protocol = text_format("sliding by %.0f", value[EVAL_STRIDE]);
    if (strcmp(field_of(csv, EVAL_DATA), "given") == 0)
        text_add(&protocol, "%sother data", protocol.n ? ", " : "");
    value[EVAL_PROTOCOL] = protocol_in(r, protocol.at);
    if (!isnan(value[EVAL_PROTOCOL]))
        rows_add(&r->eval, value);
    return true;
}

/* Of rows that say so: the run may have gone on since. */
static void note_steps(Record *r)
{
    const double last = record_most(r, LOG_STEP), best = record_at_best(r, LOG_STEP);
    const double *step = r->eval.at[EVAL_STEP];
    int i = 0;

    while (i < r->eval.n && !(step[i] < last && step[i] != best))
        i++;
    if (i < r->eval.n)
        record_note(r, "eval.csv is of step %.0f, but the run has gone on to step %.0f.", step[i],
                    last);
}

static void read_eval(Record *r)
{
    size_t bytes;
    unsigned char *text = contents(r, "eval.csv", &bytes);
    int bad = 0, placed = 0;

    if (!text)
        return;
    Csv csv = csv_open(text, bytes);
    while (csv_next(&csv))
        if (strcmp(field_of(&csv, EVAL_PROTOCOL), "by-position") == 0)
            placed++;
        else
            bad += csv.wrong.n || !read_eval_row(r, &csv);
    if (placed)
        record_note(
            r,
            "Losses by position in eval.csv are left out: ./figure --x from --y ppl draws them.");
    if (bad)
        record_note(r, "%d line%s of eval.csv without a length and a perplexity %s left out.", bad,
                    bad > 1 ? "s" : "", bad > 1 ? "are" : "is");
    else if (r->eval.n == 0 && !placed)
        record_note(r, "eval.csv has no perplexities.");
    note_steps(r);
    csv_close(&csv);
}

static void read_weights(Record *r)
{
    static const char *const names[] = { SAVED_BEST, SAVED_LAST, SAVED_PREVIOUS };
    char why[SAFETENSORS_WHY];
    size_t bytes;

    r->parameters = json_number(r->config, "parameters");
    for (int i = 0; i < 3 && !r->checkpoint; i++) {
        unsigned char *file = contents(r, names[i], &bytes);
        Safetensors *s = file ? safetensors_parse(file, bytes, why) : NULL;

        if (file && !s)
            record_note(r, "%s %s.", names[i], why);
        if (!s)
            continue;
        r->checkpoint = i == 1 ? r->path : path_of(r, names[i]); /* of the last two, either */
        r->parameters = isnan(r->parameters) ? record_numbers(s) : r->parameters;
        record_identify(r, s);
        safetensors_free(s);
    }
    if (!r->checkpoint)
        record_note(r, "There are no weights that can be read.");
}

Record *record_read(const char *path, Text *why)
{
    struct stat info;

    if (stat(path, &info) != 0)
        die(EXIT_IO, "%s does not exist; give folders that %s wrote, like runs/NAME",
            text_cut(path, 200).at, options_installed("./train").at);
    if (!S_ISDIR(info.st_mode)) {
        *why = text_format("%s is not a folder", text_cut(path, 200).at);
        return NULL;
    }
    Record *r = xmalloc(sizeof *r);
    *r = (Record){
        .path = path, .mem = arena_new(), .parameters = (double)NAN, .final = (double)NAN
    };
    r->last_note = &r->first_note;
    r->name = r->label = record_base_name(r->mem, path);
    read_config(r);
    record_identify(r, NULL);
    read_log(r);
    read_eval(r);
    read_weights(r);
    const bool rows = r->train.n + r->validation.n + r->eval.n > 0;
    const bool foreign = !rows && json_find(r->config, "architectures");
    if (!foreign && (r->config || r->checkpoint || rows))
        return r;
    *why = text_format(
        foreign ? "%s is a model for transformers, not a run"
                : "%s has no config.json, log.jsonl, eval.csv or weights that can be read",
        text_cut(path, 200).at);
    record_free(r);
    return NULL;
}

void record_free(Record *r)
{
    rows_free(&r->train);
    rows_free(&r->validation);
    rows_free(&r->eval);
    arena_free(r->mem);
    free(r);
}
