/*
 * Linear attention with a feature map, written as the equivalent sum over pairs:
 *
 *     A_ij = phi(q_i).psi(k_j) / guard(sum over l in V(i) of phi(q_i).psi(k_l))
 *
 * where RoPE rotates the features in the numerator only, or q and k before the map. A mechanism is
 * its feature map.
 */
#ifndef OPS_ATTENTION_PLAIN_LINEAR_H
#define OPS_ATTENTION_PLAIN_LINEAR_H

#include "ops/attention/plain/plain.h"

/* A row of q or k, and its F features. */
typedef struct {
    const PlainHead *x;
    int i;       /* its position */
    bool of_key; /* f is psi(k_i), else phi(q_i) */
    const double *u;
    double *du; /* (D), to add to */
    double *f;
    const double *df;
} PlainFeatures;

/*
 * `phi` computes f from u (phi or psi), and `back` adds to du from df, u and f. The F features are
 * blocks of `ladder` that are rotated alike.
 */
void plain_linear(const PlainHead *x, int F, int ladder, void (*phi)(const PlainFeatures *r),
                  void (*back)(const PlainFeatures *r));

/* The same without the denominator, with the decays g of plain/decay.c. */
void plain_linear_decay(const PlainHead *x, int F, void (*phi)(const PlainFeatures *r),
                        void (*back)(const PlainFeatures *r));

#endif
