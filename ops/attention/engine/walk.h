/*
 * Fastformer's walk over the chunks of a sequence, forward and back; fastformer.c has the
 * derivation.
 */
#ifndef OPS_ATTENTION_ENGINE_WALK_H
#define OPS_ATTENTION_ENGINE_WALK_H

#include "ops/attention/engine/pooling.h"

typedef enum { MUL, ADD, CONCAT } Interaction;

typedef struct {
    Node node;
    Mix in;
    Tensor *pool_q, *pool_k, *concat; /* concat: NULL for the other interactions */
    Interaction how;
    int B, T, H, D;
    Grad dq, dk, dv, dw_q, dw_k, dW;
    real *states;  /* (B, H, 2, chunks + 1): of g and of h, what each chunk found, and the last */
    real *partial; /* (B, H): dw_q, dw_k and dW of one head, one after the other */
} Fastformer;

/* One head of one sequence, a chunk of it in a thread's scratch. */
typedef struct {
    const Fastformer *op;
    Head head;
    int n; /* keys from n on are padding */
    Pooling g, h;
    Rows k, p, d, dk;                   /* k for concat; p becomes dg, and dq; d is dh, and dp */
    real *W[2], *transposed[2], *dW[2]; /* concat: g's half and k's, (D, D'); transposed */
} Walk;

int walk_chunks(const Fastformer *op);
size_t walk_states(const Fastformer *op); /* numbers in the states of a pool */

/* Keys, and rows, in the chunk at t0. */
int walk_keys_from(const Walk *x, int t0);
int walk_rows_from(const Walk *x, int t0);

size_t walk_matrix_size(Interaction how, int D); /* numbers in the W of a head, if there is one */
Rows walk_keys_at(const Walk *x, int t0, const Tensor *of); /* the keys of the chunk, in place */
Rows walk_part(Rows from, int t0, int n);

/* Takes the queries, or the p of the keys, of the chunk at t0 into their pool. */
void walk_pool_queries(Walk *x, int t0);
void walk_pool_keys(Walk *x, int t0);

/* A head at work, in a thread's scratch, which walk_reserve() has made large enough. */
Walk walk_open(const Fastformer *op, int number);
void walk_reserve(const Fastformer *op);

/* Zeros for a sequence that is all padding. */
void walk_pass_nothing(const Walk *x, Grad to);

void walk_forward(void *ctx, int begin, int end); /* heads begin .. end-1 of a Fastformer */
void walk_backward(Node *node);

#endif
