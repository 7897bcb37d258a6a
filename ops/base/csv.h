/*
 * CSV (RFC 4180) from untrusted files, row by row; the first row names the columns.
 * A field is decoded in place, so reading needs no memory but the file and one row
 * of pointers, and a field is valid until csv_close():
 *
 *     softmax,"a ""b""",1.5\r\n    -->    softmax 0 a "b" 0 ... 1.5 0
 *
 * Lines end with LF or CRLF, optional for the last. A byte order mark and empty
 * lines are skipped. Control characters are refused, except tabs and, in quotes, line
 * ends: no field can fake a second message.
 */
#ifndef OPS_BASE_CSV_H
#define OPS_BASE_CSV_H

#include "ops/base/text.h"

#include <stdbool.h>
#include <stdio.h>

enum { CSV_COLUMNS = 4096 };

typedef struct {
    const char **column; /* all different */
    int columns;         /* -1: they have no names, and rows any number of fields */
    const char **field;  /* of the current row, one for each column */
    int fields;          /* their number, if the row is not wrong */
    size_t line;         /* the row's first line, from 1 */
    size_t next_line;    /* the line after the row */
    Text wrong;          /* what is wrong with the row; empty: nothing */
    char *text, *next, *end;
} Csv;

/* Takes over a file's bytes, with a 0 after them that is not counted, and reads the first row. */
Csv csv_open(unsigned char *text, size_t bytes);

/* The same where the first row has no names, but is one of the others. */
Csv csv_open_unnamed(unsigned char *text, size_t bytes);
void csv_close(Csv *csv);

/*
 * Reads the next row; false: there is none. The fields of a wrong row are undefined, and reading
 * continues at the next line. An unclosed quote extends to the end of the file.
 */
bool csv_next(Csv *csv);

/* The column of that name; -1: there is none. */
int csv_find(const Csv *csv, const char *name);

/* Writes a field in quotes if it needs them; or always. */
void csv_write(FILE *out, const char *field);
void csv_write_quoted(FILE *out, const char *field);

#endif
