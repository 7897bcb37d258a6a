/*
 * The parts of ./gradcheck. A part builds cases, each a function and the operands to
 * differentiate it by, and check() compares the derivatives by hand and by differences.
 */
#ifndef TOOLS_GRADCHECK_GRADCHECK_H
#define TOOLS_GRADCHECK_GRADCHECK_H

#include "ops/attention.h"
#include "tools/common/derivative.h"

#include <stdbool.h>
#include <stdio.h>

_Static_assert(sizeof(real) == sizeof(double), "differences are compared in double");

enum { MOST_OPERANDS = 64 };

/* A function and the operands to differentiate it by. */
typedef struct {
    const char *name;
    char set[96]; /* the setting: "causal, window 2" */
    Function *f;
    void *ctx;
    Tensor *x[MOST_OPERANDS];
    const char *x_name[MOST_OPERANDS];
    int n;
} Case;

typedef struct {
    int cases, operands, over;
    size_t derivatives;
    double worst;
    char what[160]; /* the worst operand and its case */
} Tally;

typedef struct {
    Tape tape;
    Arena *mem;   /* operands of the case; empty after check() */
    bool verbose; /* a line for every operand */
    Tally all, these;
    int shown; /* the last case whose name was printed */
} Report;

void put_operand(Case *c, const char *name, Tensor *x);

/* Compares the derivatives for every operand of the case. */
void check(Report *r, const Case *c);

/* Prints a line about all cases since the last such line. */
void sum_up(Report *r, const char *name, const char *where);

void print_header(const Report *r);

/* Every op, every setting of an attention, and every parameter of a small model with it. */
void check_ops(Report *r);
void check_mixes(Report *r, const Attention *a);
void check_model(Report *r, const Attention *a);

#endif
