/*
 * What a classifier is trained and validated on: labelled texts, a share of them held back, and
 * the labels that occur.
 */
#ifndef DATA_LABELS_H
#define DATA_LABELS_H

#include "data/labelled.h"

enum { LABELS_MAX = 256 };

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
