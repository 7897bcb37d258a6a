/*
 * Labelled texts from a file, a row each:
 *
 *     positive \t What a film!                    label, text
 *     neutral  \t A dog runs. \t A cat sleeps.    label, and a pair of texts
 *
 * A file whose name ends in .csv is CSV (RFC 4180): fields are separated by commas, and one that
 * has a comma, a quote or a line end is in quotes. Empty lines are skipped. A first row with a
 * field that is the word "label" has the names of the columns, and says which of them has the
 * labels. All rows have the same number of texts.
 */
#ifndef DATA_LABELS_H
#define DATA_LABELS_H

#include "data/token.h"

#include <stdbool.h>

enum { LABELS_MAX = 256, LABEL_BYTES = 100, LABEL_TEXTS = 2 };

/* All of it lies in the file's bytes, and is valid as long as these. */
typedef struct {
    Bytes label, text[LABEL_TEXTS];
    size_t line; /* where it begins */
} Labelled;

typedef struct {
    const char *path;
    Labelled *row;
    size_t rows;
    int texts;        /* of every row: 1, or 2 */
    int label_column; /* in the file, from 0 */
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

/*
 * Takes this share of the rows out of `all`, and returns them, which are valid as long as `all`.
 * Which ones depends on their number alone; the first row of each label stays.
 */
LabelledTexts labelled_split(LabelledTexts *all, double share);

/*
 * What a run is trained and validated on. `path` NULL: the built-in passages (data/stories.h) of
 * `seed`; `validation` NULL: this share of the rows. Dies with EXIT_DATA if no row is left to
 * validate, if the files differ in the number of texts, or if all of ten rows or more to train on
 * have different labels.
 */
typedef struct {
    const char *path, *validation;
    double share;
    uint64_t seed;
} LabelFiles;

typedef struct {
    LabelledTexts train, validation;
    uint64_t hash; /* of both */
} LabelCorpus;

LabelCorpus label_corpus(LabelFiles files);
void label_corpus_free(LabelCorpus *corpus);

/* The labels that occur, each once, sorted by their bytes; for labels_free(). */
typedef struct {
    int n;
    char *name[LABELS_MAX];
} Labels;

/* Dies with EXIT_DATA if there are fewer than two, or more than LABELS_MAX. */
Labels labels_of(const LabelledTexts *texts);
void labels_free(Labels *labels);

/* The number of a label; -1: there is none of that name. */
int labels_find(const Labels *labels, Bytes name);

/* Dies with EXIT_DATA if a row has a label that is not one of these. */
void labels_check(const Labels *labels, const LabelledTexts *texts);

#endif
