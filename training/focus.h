/*
 * Where a matrix of weights looks. Row i gives the keys that it sees the shares
 *
 *     p_ij = |A_ij| / sum over j of |A_ij|                        j in V(i)
 *
 * whatever the signs of its weights are and whatever they sum up to; for softmax p is A.
 * Numbers are means over the rows with a weight other than 0: a gated unit may have rows
 * without, and other mechanisms may among their first rows.
 */
#ifndef TRAINING_FOCUS_H
#define TRAINING_FOCUS_H

#include "ops/attention/engine/head.h"

enum {
    FOCUS_ENTROPY,  /* - sum of p ln p, nats */
    FOCUS_KEYS,     /* e^entropy: the number of keys with equal shares that would have it */
    FOCUS_SEEN,     /* the same as a share of the keys that the row sees */
    FOCUS_BAND,     /* of p, where |i - j| <= band */
    FOCUS_DISTANCE, /* the mean of |i - j| under p */
    FOCUS_FAINT,    /* the share of the weights below `faint` times the row's largest */
    FOCUS_ZERO,     /* of those that are 0 */
    FOCUS_NEGATIVE, /* of p, where A is negative */
    FOCUS_SUM,      /* of A_ij, with their signs */
    FOCUS_NUMBERS
};

/* Sums over rows, and their number; `empty` rows are not among them. */
typedef struct {
    double rows, empty, sum[FOCUS_NUMBERS];
} Focus;

typedef struct {
    View view; /* who sees whom */
    int band;
    double faint;
} Look;

/* Adds the rows of A (T, T). */
void focus_add(Focus *f, const Look *look, const real *A);

#endif
