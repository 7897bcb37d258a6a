/*
 * The softmax A of the rows of a small matrix (M, M), and its pseudoinverse by six steps of an
 * iteration (pinv.c), forward and backward.
 *
 * Matrices have rows of `ld` numbers and room for up_to(M, MR) of them; numbers outside of (M, M)
 * may be anything.
 */
#ifndef OPS_ATTENTION_ENGINE_PINV_H
#define OPS_ATTENTION_ENGINE_PINV_H

#include "ops/attention/engine/head.h"

enum { PINV_STEPS = 6, PINV_MATRICES = PINV_STEPS + 13 };

typedef struct {
    int M, ld;
    real *A, *dA, *dS;            /* dS takes the place of dA */
    real *Z[PINV_STEPS + 1], *dZ; /* the last Z is the result; dZ its gradient, which is lost */
    real *P, *U, *V, *W, *dP, *dU, *dV, *dW, *t;
    int widest; /* the column of A with the largest sum */
    real sum;
} Pinv;

/* The numbers that all of its matrices take, for at most M rows; and carves them. */
size_t pinv_scratch(int M);
Pinv pinv_carve(int M, real **free);

void pinv_forward(Pinv *p);        /* A, from its scores in A; Z */
void pinv_backward(const Pinv *p); /* dS, the gradient of the scores, from dZ */

#endif
