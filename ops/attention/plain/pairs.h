/*
 * Mechanisms that weight pairs: the weights A_i of row i are a function of its scores,
 *
 *     s_ij = q_i.k_j / sqrt(D)        o_i = sum over j of A_ij v_j
 *
 * with q and k rotated by RoPE if it is on. A mechanism computes A_i from s_i, and ds_i from dA_i.
 */
#ifndef OPS_ATTENTION_PLAIN_PAIRS_H
#define OPS_ATTENTION_PLAIN_PAIRS_H

#include "ops/attention/plain/plain.h"

/* Row i, which sees at least one key: T numbers of each. */
typedef struct {
    const PlainHead *x;
    int i;
    const double *s, *dA; /* -HUGE_VAL and 0 where j is not in V(i) */
    double *A, *ds;       /* initially 0 */
} PlainRow;

/* `weigh` computes A from s, and `back` ds from dA, s and A. */
void plain_pairs(const PlainHead *x, void (*weigh)(const PlainRow *r),
                 void (*back)(const PlainRow *r));

/* A = softmax(s); and ds from dA. */
void plain_softmax_of(const double *s, double *A, int n);
void plain_softmax_back(const double *A, const double *dA, double *ds, int n);

/* The same for scores times tau_i, for a value of the setting `scale`: sqrt, entropy, logn. */
void plain_softmax_weigh(const PlainRow *r, const char *scale);
void plain_softmax_weigh_back(const PlainRow *r, const char *scale);

/* The same for scores that also fade, by the operand g. */
void plain_forgetting_weigh(const PlainRow *r, const char *scale);
void plain_forgetting_back(const PlainRow *r, const char *scale);

#endif
