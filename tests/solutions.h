/*
 * The synthetic tasks solved again, as one would do it who is given a row in
 * print and told the task in a sentence: by the words, with no regard for speed.
 * Do not look at the generators while you write one.
 */
#ifndef TESTS_SOLUTIONS_H
#define TESTS_SOLUTIONS_H

#include <stdbool.h>

typedef struct {
    int n;                   /* words, without padding */
    const char *const *word; /* (n) */
    const char **say;        /* (n), the answer at each word, where NULL stands for none */
} Puzzle;

/* Each stops the test if the row is none of its task. */
typedef struct {
    const char *task;
    void (*solve)(Puzzle p);
} Solution;

extern const Solution solutions[]; /* ended by a task NULL */

bool same_word(const char *a, const char *b);

#endif
