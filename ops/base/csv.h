/*
 * CSV (RFC 4180), from anyone, row by row; the first row has the names of the
 * columns. A field is decoded where it lies, so reading takes no more room than
 * the file and one row of pointers, and a field stays until csv_close():
 *
 *     softmax,"a ""b""",1.5\r\n    -->    softmax 0 a "b" 0 ... 1.5 0
 *
 * Lines end with LF or CRLF, the last may do without. Passed over are a byte
 * order mark and lines with nothing on them. Refused are control characters, but
 * for tabs and, in quotes, ends of lines: no field can fake a second one.
 */
#ifndef OPS_BASE_CSV_H
#define OPS_BASE_CSV_H

#include "ops/base/text.h"

#include <stdbool.h>
#include <stdio.h>

enum { CSV_COLUMNS = 4096 };

typedef struct {
    const char **column; /* no two are the same */
    int columns;
    const char **field; /* of the row, as many */
    size_t line;        /* that the row begins on, from 1, */
    size_t next_line;   /* and the one that its last newline leads to */
    Text wrong;         /* with the row, as what stands there; empty: nothing is */
    char *text, *next, *end;
} Csv;

/* Takes a file's bytes, followed by a 0 that is not counted, for free(), and reads the first row.
 */
Csv csv_open(unsigned char *text, size_t bytes);
void csv_close(Csv *csv);

/*
 * The next row; false: there is none. One that is wrong has no fields to look at, and what follows
 * it is read from the next line on. A quote that nothing closes takes all the rest with it.
 */
bool csv_next(Csv *csv);

/* The column of that name; -1: there is none. */
int csv_find(const Csv *csv, const char *name);

/* A field, in quotes if it needs them; or in any case. */
void csv_write(FILE *out, const char *field);
void csv_write_quoted(FILE *out, const char *field);

#endif
