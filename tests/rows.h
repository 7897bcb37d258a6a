/* Rows of a synthetic task, one after the other. */
#ifndef TESTS_ROWS_H
#define TESTS_ROWS_H

#include "data/synthetic.h"

/* In memory of their own size. */
typedef struct {
    const Synthetic *task;
    SyntheticShape s;
    Random r;
    uint64_t drawn;
    int *id, *target, n;
} Rows;

/* NULL: there is none. */
const Synthetic *task_named(const char *name);

Rows rows_open(const char *name, SyntheticShape s);
void rows_close(Rows *rows);
void next_row(Rows *rows);

/* `count` of n draws is what a probability of p gives, to five standard deviations. */
void check_share(int count, int n, double p);

enum { MANY = 20000 };

#endif
