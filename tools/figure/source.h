/*
 * A file of results: the rows of a CSV or of a run's log.jsonl, and what is known of the run whose
 * folder it is in. Every row has the column `run`, and one for each option in the folder's
 * config.json, unless the file has a column of that name.
 */
#ifndef TOOLS_FIGURE_SOURCE_H
#define TOOLS_FIGURE_SOURCE_H

#include "ops/base/csv.h"
#include "ops/base/json.h"

enum { NOWHERE = -1 };

typedef struct {
    const char *path;
    bool log; /* a log.jsonl, whose rows have a split */
    Csv csv;
    const char *run;
    const Json *config; /* NULL: there is none */
    const char **extra; /* the names of further columns, ending with NULL, and their values */
    const char **value;
    Arena *mem;
} Source;

/* Whether the path is a folder without a log.jsonl. */
bool source_lacks_log(const char *path);

/* A file, or the log of a run's folder. Dies if it cannot be read. */
Source source_open(const char *path);
void source_close(Source *s);

/* The column with that name, of n bytes; '-' and '_' are the same in an option. Or NOWHERE. */
int source_find(const Source *s, const char *name, size_t n);
/* The name of column i; NULL past the end. */
const char *source_column(const Source *s, int i);

/* The current row's value in a column that source_find() found; "" if it found none. */
const char *source_field(const Source *s, int column);

/* Adds the options other than the seed that have different values in two runs, as "a, b". */
void source_differences(const Source *a, const Source *b, Text *names);

#endif
