/* What a run of ./train learns from: texts, labelled texts, or the rows of a task. */
#ifndef TOOLS_TRAIN_LESSON_H
#define TOOLS_TRAIN_LESSON_H

#include "data/corpus.h"
#include "tools/train/job.h"

typedef struct Lesson {
    Corpus corpus[CLASSES_MAX]; /* one, or one per class; of other data only what was read */
    int n;                      /* 0: other data */
    uint64_t hash;
    Tokenizer *tokenizer;
    TextSource text;
    ClassSource classes;
    RowSource rows;
    LabelCorpus labelled;
    CorpusFile labelled_file[2];
    Labels names;
    LabelRows of_labels[2]; /* to train on, and to validate */
    LabelSource labels;
    Lra lra;
    LraSource arena, test;
    Source *source; /* one of these */
} Lesson;

/* Reads the data of a run and learns its tokenizer, unless the job has done so; sets its vocabulary
 * size. */
Lesson *lesson_open(Job *job);
void lesson_free(Lesson *l, const Job *job);

#endif
