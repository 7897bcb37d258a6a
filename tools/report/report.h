/*
 * ./report: what is read from run folders, and the parts of the page made of it.
 *
 *     folder --record_read()--> Record --page_write()--> head, tables   page.c, style.c
 *                                                        charts         charts.c
 *                                                        maps           maps.c
 *
 * The contents of a folder are not trusted: what cannot be read is left out, and a
 * note of the record says so.
 */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

#include "ops/base/json.h"
#include "ops/base/pool.h"

#include <stdbool.h>
#include <stdio.h>

/* Fields of a line of log.jsonl, and of eval.csv; NaN: the line lacks it. */
enum { LOG_STEP, LOG_LOSS, LOG_PPL, LOG_BITS, LOG_ACCURACY, LOG_TOKENS, LOG_SPEED, LOG_SECONDS };
enum { EVAL_LENGTH, EVAL_STRIDE, EVAL_LOSS, EVAL_PPL, EVAL_ERROR, EVAL_PROTOCOL };
enum { FIELDS = 8, PROTOCOLS = 8 };

/* n lines, as a column of numbers for each field. */
typedef struct {
    int n;
    double *at[FIELDS];
} Rows;

typedef struct Note {
    struct Note *next;
    const char *text;
} Note;

typedef struct {
    const char *path;       /* as it was given */
    const char *name;       /* its last part, */
    const char *label;      /* or all of it, where another run has the same name */
    Arena *mem;             /* holds the configuration and all strings */
    const Json *config;     /* NULL: none */
    Rows train, validation; /* of log.jsonl */
    Rows eval;              /* of eval.csv; EVAL_PROTOCOL is an index into protocol */
    const char *protocol[PROTOCOLS];
    int protocols;
    double parameters;      /* NaN: unknown */
    const char *checkpoint; /* the path of the best weights, or of the last; NULL: none */
    Note *first_note, **last_note;
} Record;

/* Dies if there is no such folder, or no file of a run in it. */
Record *record_read(const char *path);
void record_free(Record *r);

__attribute__((format(printf, 2, 3))) void record_note(Record *r, const char *fmt, ...);

/* "cosformer (horizon 256)"; empty if unknown. */
Text record_attention(const Record *r);

/* The row with the least validation loss; -1: there is none. */
int record_best(const Record *r);

/* The contents of the page. */
typedef struct {
    Record *const *record;
    int records;
    const unsigned char *text; /* of the attention maps, or NULL */
    size_t text_bytes;
    int positions; /* of the text, at most */
    Pool *pool;
} Report;

void page_write(FILE *out, void *report);
extern const char page_style[];

/* The sections of the page below its tables. */
void charts_write(const Report *report, FILE *out);
void maps_write(const Report *report, FILE *out);

#endif
