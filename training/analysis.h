/*
 * What the heads of a trained model do with a text: where their weights look
 * (training/focus.h), and how many dimensions the matrix of them has, and that of
 * the scores that it is made of, where it is (ops/kernel/svd.h).
 *
 *     window of the text -> model_watch() -> each mix -> A, S of each head -> sums
 *
 * Windows are those of evaluate(), tokens hidden from a masked model included, spread
 * evenly over the text. All numbers are means over them.
 *
 * A causal A is a triangle: it has full rank wherever no weight on its diagonal is 0,
 * whatever the mechanism. `unmasked` has every row see all keys instead, in the mixes
 * that are analysed; what the model computes stays what it is. S has no mask.
 */
#ifndef TRAINING_ANALYSIS_H
#define TRAINING_ANALYSIS_H

#include "data/tokens.h"
#include "model/model.h"
#include "training/focus.h"

typedef struct {
    int length, windows; /* of so many tokens, and so many of them at most */
    int band;
    double faint, tolerance; /* see focus.h and svd.h */
    bool unmasked;
    void (*tell)(int window); /* before each, from 0; NULL: nobody is told */
} Study;

enum { OF_WEIGHTS, OF_SCORES, SPECTRA };

/* After those of Focus: the rows without a weight, as a share; the ranks of A, and of S. */
enum {
    FINDING_EMPTY = FOCUS_NUMBERS,
    FINDING_RANK,
    FINDING_EFFECTIVE,
    FINDING_HOLDING,
    FINDING_SCORE_RANK,
    FINDING_SCORE_EFFECTIVE,
    FINDING_SCORE_HOLDING,
    FINDINGS
};

/* Of a head; NaN is a number that there is not. */
typedef struct {
    double number[FINDINGS];
    double *spectrum[SPECTRA]; /* `length` singular values as shares of the largest, or NULL */
} Findings;

typedef struct {
    int length, windows; /* so many there were */
    int mixes, heads;    /* a gated layer has two mixes */
    Findings *head;      /* (mixes, heads) */
    Findings mean;       /* of all heads; it has no spectrum */
    Findings uniform;    /* of rows that give all keys they see the same: to compare with */
} Analysis;

/* Dies of what cannot be: EXIT_USAGE, EXIT_DATA or EXIT_MEMORY. */
void analysis_check(const Model *model, const Study *study, size_t tokens);

/* In `mem`. The tape is reset. */
Analysis analysis_make(Tape *tape, const Model *model, Tokens text, const Study *study, Arena *mem);

#endif
