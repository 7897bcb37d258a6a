/*
 * Tasks whose rows are made, not collected. Each needs one skill, so that what a
 * mechanism lacks shows after minutes. A row is T tokens and what is asked of
 * them: at position t, with the tokens 0 .. t in sight, target[t] is to be said,
 * and nothing where it is -1. Only answers are asked for; under each row here is
 * what is to be said at its positions:
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
 * An answer of several tokens is asked for token by token: the next one where the
 * one before it stands. A row with one answer for all of it has a class instead:
 * target[0], and nothing else, and its last positions may be padding, token 0.
 *
 * To add one: write data/synthetic/<name>.c, its row declared in
 * data/synthetic/row.h and put in the table in data/synthetic.c, and solve it
 * once more from its words in tests/solutions.c.
 */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include "data/synthetic/task.h"

extern const Synthetic *const synthetics[]; /* ended by NULL */

const Synthetic *synthetic_find(const char *name); /* NULL: there is none */

/* The shape with the task's own sizes in the place of zeros. */
SyntheticShape synthetic_complete(const Synthetic *task, SyntheticShape s);

/* What is wrong with a shape, as a sentence that says what would do; empty: nothing is. */
Text synthetic_misfit(const Synthetic *task, SyntheticShape s);

/* What follows wants a shape with which nothing is wrong. */

/* The tokens that a model of the task needs; and how one of them is printed. */
int synthetic_vocab(const Synthetic *task, SyntheticShape s);
Text synthetic_word(const Synthetic *task, SyntheticShape s, int token);

/* How often a guess is right that has not seen the row: one over the number of answers. */
double synthetic_chance(const Synthetic *task, SyntheticShape s);

/* A row into id and target, T of each; how many tokens of it are no padding. All of it depends on
 * the Random alone. */
int synthetic_draw(const Synthetic *task, SyntheticShape s, Random r, int *id, int *target);

/* What row i of a stream of rows depends on. */
Random synthetic_row(Random r, uint64_t i);

/* The share that the most frequent answer has of all answers, in the first rows of a stream. */
double synthetic_majority(const Synthetic *task, SyntheticShape s, Random r, int rows);

#endif
