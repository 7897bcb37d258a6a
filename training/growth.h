/*
 * How the rows of a trained model's attention matrices change with the length of the
 * sequence. For row i, with n_i = |V(i)| and the shares p_ij = |A_ij| / sum over j of
 * |A_ij| as in focus.h:
 *
 *     c_i = the sum of its weights before any division (attention_sums()), without its sign
 *     H_i = - sum over j of p_ij ln p_ij
 *
 * Both may grow with the keys that a row sees, which the fits describe:
 *
 *     c ~ n^a         the slope a of ln c over ln n
 *     H ~ h + b ln n  the slope b of H over ln n
 *
 * The means over the rows of a causal window mix rows of 1 to T keys. So H is fitted to
 * the mean of ln n_i over the same rows, not to ln T, and ln of the mean of c to ln of the
 * mean of n_i: a row of n equal weights of 1 has the exponent 1 and the slope 1, causal or
 * not, and any H_i = a + b ln n_i has the slope b.
 *
 *     window of a length -> model_watch() -> each mix -> columns of A -> sums of each row
 *
 * A is computed 64 columns at a time and never stored: memory grows with T.
 */
#ifndef TRAINING_GROWTH_H
#define TRAINING_GROWTH_H

#include "data/masking.h"
#include "data/tokens.h"
#include "model/model.h"

enum {
    GROWTH_SEEN,    /* n_i */
    GROWTH_LN_SEEN, /* ln n_i, over rows that are not empty, like all after GROWTH_SUM */
    GROWTH_SUM,     /* c_i; NaN: the mechanism has none */
    GROWTH_LN_SUM,  /* ln c_i */
    GROWTH_ENTROPY, /* H_i, nats */
    GROWTH_KEYS,    /* e^H_i */
    GROWTH_KEYS_2,  /* 1 / sum over j of p_ij^2: the number of keys with equal shares that have this
                       sum */
    GROWTH_BAND,    /* of p, where |i - j| <= band */
    GROWTH_NEGATIVE, /* of p, where A is negative */
    GROWTH_EMPTY,    /* the share of empty rows: without a weight, or with c_i = 0 */
    GROWTH_NUMBERS
};

/* Means over the rows and windows of a length. */
typedef struct {
    double number[GROWTH_NUMBERS];
} Grown;

typedef struct {
    const int *length; /* in tokens */
    int lengths, windows, band;
    Masking masking;                               /* of a masked model */
    bool unmasked;                                 /* as in Study */
    void (*tell)(int length, int window, int mix); /* of Windows, in training/analysis.h */
} GrowthPlan;

typedef struct {
    int mixes, heads, lengths;
    int *windows;   /* (lengths) */
    Grown *head;    /* (mixes, heads, lengths) */
    Grown *uniform; /* (lengths): of rows with weights of 1 before division on all keys */
} Growth;

/* Dies if it cannot be done: EXIT_USAGE, EXIT_DATA or EXIT_MEMORY. */
void growth_check(const Model *model, const GrowthPlan *plan, size_t tokens);

/* In `mem`. The tape is reset. */
Growth growth_make(Tape *tape, const Model *model, Tokens text, const GrowthPlan *plan, Arena *mem);

/* (lengths): the means over the heads of mixes from .. to-1. */
void growth_mean(const Growth *g, int from, int to, Grown *mean);

/* Least squares. NaN: fewer than two x, or fewer than three for the error. */
typedef struct {
    double slope, error, constant; /* error: the standard error of the slope */
} Fit;
Fit fit_line(const double *x, const double *y, int n);

/* Of the lengths of a head, or of a mean. */
enum { FIT_SUM, FIT_LN_SUM, FIT_ENTROPY, FITS };
Fit growth_fit(const Grown *of, int lengths, int which);

#endif
