/*
 * Labelled texts from a file, a row each:
 *
 *     positive \t What a film!                    label, text
 *     neutral  \t A dog runs. \t A cat sleeps.    label, and a pair of texts
 *
 * A file whose name ends in .csv is CSV (RFC 4180): fields are separated by commas, and one that
 * has a comma, a quote or a line end is in quotes. Empty lines are skipped. A first row with a
 * field that is the word "label" has the names of the columns, and says which of them has the
 * labels; the others are texts, except those that number the rows (id, idx, index, no name). All
 * rows have the same number of columns.
 */
#ifndef DATA_LABELLED_H
#define DATA_LABELLED_H

#include "data/token.h"

#include <stdbool.h>

enum { LABEL_BYTES = 100, LABEL_TEXTS = 2 };

/* All of it lies in the file's bytes, and is valid as long as these. */
typedef struct {
    Bytes label, text[LABEL_TEXTS];
    size_t line; /* where it begins */
} Labelled;

typedef struct {
    const char *path;
    Labelled *row;
    size_t rows;
    int texts;                   /* of every row: 1, or 2 */
    int column[1 + LABEL_TEXTS]; /* of the label and the texts in the file, from 0 */
    int columns;                 /* of the file; 0: no row has shown it yet */
    size_t bytes;
    uint64_t hash;        /* of the file, hash_bytes() */
    bool from_file;       /* and not in memory, or a part of another one */
    unsigned char *owned; /* the file; NULL: another one's */
} LabelledTexts;

/*
 * Dies with EXIT_IO if the file cannot be read, and with EXIT_DATA, its name and the line's number
 * if a row is not valid: too few or too many fields, an empty label or text, a label that is not
 * UTF-8, has control characters or is longer than LABEL_BYTES, a byte 0.
 */
LabelledTexts labelled_read(const char *path);

/* The same of such text in memory, which it takes over, with a 0 after it that is not counted. */
LabelledTexts labelled_parse(const char *path, unsigned char *text, size_t bytes);
void labelled_free(LabelledTexts *texts);

#endif
