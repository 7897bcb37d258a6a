/*
 * The held-back rows of a run whose answers are right or wrong: rows of a synthetic task that no
 * run is trained on, those of the Long Range Arena's validation file, labelled texts, or windows of
 * the texts of a classifier's classes.
 */
#ifndef TOOLS_COMMON_HELD_BACK_H
#define TOOLS_COMMON_HELD_BACK_H

#include "data/cifar.h"
#include "tools/common/trained.h"
#include "training/source.h"

typedef struct {
    const Synthetic *task; /* NULL: classes */
    SyntheticShape shape;  /* of the task; its T is the trained one */
    const char *folder;    /* with the rows, "": of the files; NULL: they are generated */
    bool test;             /* the rows are test data, not of the validation file */
    bool labelled, fixed;  /* labelled texts; rows have lengths of their own */
    const Source *source;  /* one of these: */
    RowSource rows;
    Lra lra;
    LraSource arena;
    LabelRows of_labels;
    LabelSource labels;
    ClassSource classes;
    int label[CLASSES_MAX];
} HeldBack;

/* Without files the run's own; files are named like the classes. `items`: of a synthetic row, 0: as
 * in the run. Dies (EXIT_USAGE, EXIT_IO, EXIT_DATA) if there is no such data. */
HeldBack *held_back_open(const Saved *run, TextChoice choice, int items);
void held_back_free(HeldBack *h);

/* What the rows are, in words. `given`: of files of the command line. */
const char *held_back_name(const HeldBack *h, bool given);

/* Why there are no rows of T tokens; empty: there are. And the items of one; 0: it has none. */
Text held_back_misfit(const HeldBack *h, int T);
int held_back_items(const HeldBack *h, int T);

/* The name of a class: its label, or that of its file, without folder and ending, if no other has
 * the same. */
Text held_back_class(const Saved *run, int i);

#endif
