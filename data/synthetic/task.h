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
    int symbols, items;  /* their defaults; */
    int part;            /* or, if not 0, T / part items, at least one */
    int others;          /* tokens of the vocabulary beside the symbols */
    int answers;         /* that are possible; 0: any symbol, */
    bool halved;         /* or of the second half of them, if the first are keys */
    SyntheticShape (*complete)(SyntheticShape s); /* other defaults; NULL: there are none */
    void (*misfit)(SyntheticShape s, Text *why);  /* NULL: any T is valid */
    void (*draw)(struct SyntheticRow *row);
    /* Tokens are printed as numbers below `digits`, then by `words`; or by `word`; or, if both are
     * NULL, as symbols. */
    int digits;
    const char *const *words;
    void (*word)(SyntheticShape s, int token, Text *word);
} Synthetic;

#endif
