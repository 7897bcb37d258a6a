/*
 * Fastformer's walk over the chunks of a sequence, forward and backward; fastformer.c has the
 * derivation.
 */
#ifndef OPS_ATTENTION_ENGINE_WALK_H
#define OPS_ATTENTION_ENGINE_WALK_H

#include "ops/attention/engine/pooling.h"

typedef enum { MUL, ADD, CONCAT } Interaction;

typedef struct {
    Node node;
    Mix in;
    Tensor *pool_q, *pool_k;
    Tensor *matrix[2];  /* W and W', where the interaction is concat */
    Interaction how[2]; /* p from g and k, and o from h and v */
    int B, T, H, D;
    Grad dq, dk, dv, dw_q, dw_k, dW[2];
    real *states; /* (B, H, 2, chunks + 1): of g and h: the state before each chunk, and the last */
    real *partial; /* (B, H): dw_q, dw_k, dW and dW' of each head, contiguous */
} Fastformer;

/* The halves of a W, (D, D') each, transposed, and their gradients. */
typedef struct {
    real *W[2], *transposed[2], *dW[2];
} Halves;

/* One head of one sequence, with a chunk of it in a thread's scratch memory. */
typedef struct {
    const Fastformer *op;
    Head head;
    int n; /* keys from n on are padding */
    Pooling g, h;
    Rows k, p, d, dk; /* k for concat; p becomes dg, then dq; d is dh, then dp */
    Rows v, u;        /* for concat: v and o, then do */
    Halves of[2];     /* of W: g's and k's; of W': h's and v's */
} Walk;

int walk_chunks(const Fastformer *op);
size_t walk_states(const Fastformer *op); /* the size of a pool's states, in numbers */

/* The number of keys, and of rows, in the chunk at t0. */
int walk_keys_from(const Walk *x, int t0);
int walk_rows_from(const Walk *x, int t0);

size_t walk_matrix_size(int D);                             /* the size of a head's W */
Rows walk_keys_at(const Walk *x, int t0, const Tensor *of); /* the keys of the chunk, in place */
Rows walk_part(Rows from, int t0, int n);

/* Adds the queries, or p of the keys, of the chunk at t0 to their pool. */
void walk_pool_queries(Walk *x, int t0);
void walk_pool_keys(Walk *x, int t0);

/* Starts on a head, in scratch memory that walk_reserve() has reserved. */
Walk walk_open(const Fastformer *op, int number);
void walk_reserve(const Fastformer *op);

/* Zeros for a sequence that is all padding. */
void walk_pass_nothing(const Walk *x, Grad to);

void walk_forward(void *ctx, int begin, int end); /* heads begin .. end-1 of a Fastformer */
void walk_backward(Node *node);

#endif
