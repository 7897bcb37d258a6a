/*
 * ./report: what is read from run folders, and the parts of the page made from it.
 *
 *     folder --record_read()--> Record --groups_make()--> Group --page_write()--> tables   table.c
 *            read.c             facts.c                   groups.c                means    seeds.c
 *                                                                                 charts   charts.c
 *                                                                                 cards    cards.c
 *
 * Runs are in the same group if their losses can be compared: same text, tokenizer and task. The
 * contents of a folder are not trusted: what cannot be read is left out and noted in the record.
 * The page needs no scripts and no network requests, and adapts to any width.
 */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

#include "model/checkpoint.h"
#include "ops/base/json.h"

#include <stdbool.h>
#include <stdio.h>

/* Fields of a line of log.jsonl, and of eval.csv; NaN if missing. */
enum {
    LOG_STEP,
    LOG_LOSS,
    LOG_PPL,
    LOG_BITS,
    LOG_ACCURACY,
    LOG_F1,
    LOG_RATE,
    LOG_NORM,
    LOG_TOKENS,
    LOG_SPEED,
    LOG_SECONDS,
    FIELDS
};
enum {
    EVAL_LENGTH,
    EVAL_STRIDE,
    EVAL_LOSS,
    EVAL_PPL,
    EVAL_ERROR,
    EVAL_STEP,
    EVAL_PROTOCOL,
    EVAL_DATA,
    EVALS
};
enum { PROTOCOLS = 8 };

/* n lines, stored as one column of numbers per field. */
typedef struct {
    int n;
    double *at[FIELDS];
} Rows;

enum { RESUMED = 20 }; /* resumptions that are shown, the last ones */

typedef struct Note {
    struct Note *next;
    const char *text;
} Note;

typedef struct {
    const char *path;   /* as it was given */
    const char *name;   /* the last part of the path, */
    const char *label;  /* or all of it if another run has the same name */
    Arena *mem;         /* holds the configuration and all strings */
    const Json *config; /* NULL: none */
    const Json *start;  /* the line of log.jsonl that says how the run was started, or NULL */
    const Json *resumed[RESUMED]; /* those of resumptions: number k is at k % RESUMED */
    size_t resumptions;
    const Json *last;          /* the last line of log.jsonl */
    Rows train, validation;    /* of log.jsonl */
    int skipped, skipped_last; /* updates, and how many of them at the end */
    double final;              /* the loss over all validation targets; NaN: unknown */
    Rows eval;                 /* of eval.csv; EVAL_PROTOCOL is an index into protocol */
    const char *protocol[PROTOCOLS];
    int protocols;
    double parameters;      /* NaN: unknown */
    const char *checkpoint; /* the best weights, or the folder for the last; NULL: none */
    const char *corpus;     /* identifies its text; NULL: unknown */
    const char *text;       /* a name for it, or NULL */
    const char *words;      /* its tokenizer, "bpe:4096", "" if unknown; and what identifies it */
    const char *tokenizer;
    int number, rank; /* on the page, and in its group, both from 0 */
    Note *first_note, **last_note;
} Record;

/* NULL if it is not the folder of a run: `why` says so. Dies if it does not exist. */
Record *record_read(const char *path, Text *why);
void record_free(Record *r);

/* From the weights, or NULL: what the configuration says. */
void record_identify(Record *r, const Safetensors *s);

/* The last part of a path, whatever slashes it ends with. */
const char *record_base_name(Arena *mem, const char *path);

__attribute__((format(printf, 2, 3))) void record_note(Record *r, const char *fmt, ...);

/* "cosformer (horizon 256)"; empty if unknown. */
Text record_attention(const Record *r);
const char *record_task(const Record *r); /* "causal"; "" if unknown */

/* A fact from the start of the run, an option, or a field of the last log line; NULL: unknown. */
const Json *record_fact(const Record *r, const char *name);

/* The row with the lowest validation loss, -1 if there is none; and a field of that row. */
int record_best(const Record *r);
double record_at_best(const Record *r, int field);
double record_perplexity(const Record *r);

/* The largest value of a field in all lines, and its median in the training lines. */
double record_most(const Record *r, int field);
double record_median(const Record *r, int field);

/* The numbers in a checkpoint, for a run whose config.json does not say how many are trained. */
double record_numbers(const Safetensors *s);

/* Numbers as on the page: 2.220 with `digits` significant digits; 66.1 k; 59:59 min; 12.3 MB. */
Text show_digits(double v, int digits);
Text show_amount(double v);
Text show_duration(double seconds);
Text show_bytes(double bytes);

enum { DIFFERING = 10 };

/* Runs whose losses can be compared, the lowest loss first. */
typedef struct {
    const char *name; /* "causal · byte · story.txt" */
    bool known;       /* whether the text is known */
    int n, first;     /* number of runs; index of the one given first */
    Record **run;
    const char *differs[DIFFERING]; /* options that differ between runs */
    int differing;
} Group;

/* The first HIGHLIGHTED runs of a group have a colour of their own. */
enum { HIGHLIGHTED = 10 };

/* The contents of the page. */
typedef struct {
    Record *const *record;
    int records;
    const unsigned char *text; /* of the attention maps, or NULL */
    size_t text_bytes;
    int positions; /* of the text, at most */
    int sample;    /* tokens per sample; 0: none */
    bool patient;  /* draw all samples, however long it takes */
    double work;   /* multiply-adds of the samples drawn so far */
    int threads;
} Report;

/* Numbers and ranks the records; the largest group comes first. */
Group *groups_make(const Report *report, Arena *mem, int *n);

/* A run's values of the options that differ, such as "seed 2 · learning-rate 0.01", except one (or
 * NULL). */
Text group_settings(const Group *g, const Record *r, const char *except);

/* How many runs of a group are shown; the others are folded. */
int group_shown(const Group *g);

void page_write(FILE *out, void *report);
extern const char *const page_style[]; /* the style sheet in pieces, ends with NULL */

void table_write(const Group *g, FILE *out);
void seeds_write(const Group *g, FILE *out);
void charts_write(const Group *g, FILE *out);
void cards_write(Report *report, const Group *g, FILE *out);
/* The sample and the attention maps of a run, which need its weights. */
void model_write(Report *report, Record *r, FILE *out);

/* A run's marker, as in the charts; its name; and a text of several lines. */
void put_key(FILE *out, int rank);
void put_name(FILE *out, const char *name);
void put_lines(FILE *out, const char *text, size_t bytes);

/* A line of a chart. */
typedef struct {
    const char *name, *note; /* note: what its points mean, or NULL */
    const double *x, *y, *error;
    int n;
    int rank;    /* selects its colour; grey from HIGHLIGHTED on */
    bool points; /* shows them, with their values */
    bool thin;
    int smooth; /* above 1: a moving mean over this many points */
} Trace;

/* A chart whose lines stretch with its box; its text does not. */
typedef struct {
    const char *title, *note, *x_label;
    bool log_x, log_y;
    bool zero;  /* the y axis has 0 on it */
    bool small; /* one of several in a row */
    const Trace *curve;
    int curves;
} Chart;

void chart_write(const Chart *chart, FILE *out);

#endif
