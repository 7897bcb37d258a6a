/*
 * Attention, many ways. What all of them compute is spelt with the same words:
 * q, k (B, T, H, D) and v (B, T, H, E) in, o (B, T, H, E) out; position i sees
 * the keys V(i): all of its sequence, or those up to itself when causal, and
 * never one at or past the sequence's own length. A position that sees no key
 * gives zeros and passes no gradient.
 *
 * To add one: write ops/attention/<name>.c with its derivation on top, declare
 * its row below, put it in the table in attention.c, and put the paper's formula
 * in tests/naive.c. The tests run on every row; one without a formula fails.
 */
#ifndef OPS_ATTENTION_ATTENTION_H
#define OPS_ATTENTION_ATTENTION_H

#include "ops/tape.h"

typedef struct {
    Tensor *q, *k, *v;
    bool causal;
    const int *length; /* (B): keys from here on are padding; NULL: there is none */
} Mix;

typedef struct {
    const char *name;    /* what --attn takes */
    const char *summary; /* one line for --help */
    Tensor *(*mix)(Tape *tape, Mix operands);
    /* Multiply-adds that `mix` needs for a token of a causal sequence of T: what FLOPs count. */
    double (*cost)(int T, int width);
} Attention;

/* All rows, ended by NULL, and the one of that name, or NULL. */
extern const Attention *const attentions[];
const Attention *attention_find(const char *name);

extern const Attention attention_softmax;

#endif
