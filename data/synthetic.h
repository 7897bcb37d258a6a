/*
 * Synthetic tasks. Each needs one skill, so that the lack of it in a mechanism shows
 * after minutes. A row is T tokens and T targets: at position t, given the tokens
 * 0 .. t, the model predicts target[t], or nothing if it is -1. Only answers are
 * targets; they stand below each row here:
 *
 *     mqar               k7 v2 k3 v9  .  . k3  . k7  .  .  .
 *                                          v9    v2
 *     copy                5  1  1  .  . =>  5  1
 *                                        5  1  1
 *     recall             k1 v4 k2 v4 k1 v4 => k2
 *                                             v4
 *     cumulative-parity   1  0  1  1  0
 *                         1  1  0  1  1
 *
 * An answer of several tokens is predicted token by token, each at the position of
 * the one before it. A row with a single answer has a class instead: target[0] and no
 * other, and its last positions may be padding, token 0.
 *
 * To add one: write data/synthetic/<name>.c, its row declared in
 * data/synthetic/row.h and put in the table in data/synthetic.c, and solve it
 * independently, from its printed words, in tests/solutions.c.
 */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include "data/synthetic/task.h"

extern const Synthetic *const synthetics[]; /* ended by NULL */

/* The shape with the task's defaults in place of zeros. */
SyntheticShape synthetic_complete(const Synthetic *task, SyntheticShape s);

/* What is wrong with a shape, as a sentence that says what would be right; empty: nothing. */
Text synthetic_misfit(const Synthetic *task, SyntheticShape s);

/* The functions below need a valid shape. */

/* The size of the vocabulary; and how a token is printed. */
int synthetic_vocab(const Synthetic *task, SyntheticShape s);
Text synthetic_word(const Synthetic *task, SyntheticShape s, int token);

/* The accuracy of guessing without seeing the row: one over the number of answers. */
double synthetic_chance(const Synthetic *task, SyntheticShape s);

/* Draws a row into id and target, T of each; returns the number of tokens without padding. All of
 * it depends on the Random alone. */
int synthetic_draw(const Synthetic *task, SyntheticShape s, Random r, int *id, int *target);

/* The Random of row i of a stream of rows. */
Random synthetic_row(Random r, uint64_t i);

#endif
