/* A synthetic task: the row of the table in data/synthetic.c, and the shape of what it draws. */
#ifndef DATA_SYNTHETIC_TASK_H
#define DATA_SYNTHETIC_TASK_H

#include "ops/base/random.h"
#include "ops/base/text.h"

#include <stdbool.h>

/* The sizes of a row; 0: the task's default. */
typedef struct {
    int T;       /* positions of a row */
    int least;   /* listops: a row has more tokens than this, and less than T */
    int symbols; /* size of the alphabet; mqar: of the vocabulary */
    int items;   /* mqar, recall: pairs; copy: symbols; induction: triggers; passkey: digits */
    bool noise;  /* mqar: random tokens in place of blanks */
} SyntheticShape;

/* The sizes beside T that a task takes. */
enum {
    SYNTHETIC_LEAST = 1 << 0,
    SYNTHETIC_SYMBOLS = 1 << 1,
    SYNTHETIC_ITEMS = 1 << 2,
    SYNTHETIC_NOISE = 1 << 3,
};

struct SyntheticRow;

/* Its functions get a complete shape: call them by those of data/synthetic.h. */
typedef struct Synthetic {
    const char *name;    /* what --task takes */
    const char *summary; /* one line for --help */
    int classes;         /* the number of classes of a row; 0: targets are tokens */
    unsigned takes;      /* SYNTHETIC_ ... */
    SyntheticShape (*complete)(SyntheticShape s); /* NULL: it has no defaults */
    void (*misfit)(SyntheticShape s, Text *why);  /* NULL: any T is valid */
    int (*vocab)(SyntheticShape s);
    double (*chance)(SyntheticShape s);
    void (*draw)(struct SyntheticRow *row);
    void (*word)(SyntheticShape s, int token, Text *word);
} Synthetic;

#endif
