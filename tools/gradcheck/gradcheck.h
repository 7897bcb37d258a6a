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

/* What a mechanism may be off its twin: both are exact but for rounding. */
#define TWIN_TOLERANCE 1e-11

enum { MOST_OPERANDS = 64 };

/* A function and the operands to differentiate it by. */
typedef struct {
    const char *name;
    char set[160]; /* the setting: "causal, window 2" */
    Function *f;
    void *ctx;
    Tensor *x[MOST_OPERANDS];
    const char *x_name[MOST_OPERANDS];
    int n;
} Case;

typedef struct {
    int cases, operands, over;
    size_t derivatives;
    double worst, apart; /* apart: the largest twin_distance() */
    char what[224];      /* the worst operand and its case */
} Tally;

typedef struct {
    Tape tape;
    Arena *mem;   /* operands of the case; empty after check() */
    bool verbose; /* a line for every operand */
    bool plain;   /* the plain twins as well */
    size_t most;  /* elements of an operand */
    Tally all, these;
    int shown; /* the last case whose name was printed */
} Report;

void put_operand(Case *c, const char *name, Tensor *x);

/* A random weighting of the outputs of a case. */
Loss loss_of(Report *r, const Case *c);

/* Compares the derivatives for every operand of the case. */
void check(Report *r, const Case *c);

/* The plain twin of a mechanism as an op; the Mix has to last until its backward. */
Tensor *twin_mix(Tape *tape, const Mix *in);

/*
 * How far two cases with the same operands, a mechanism and its twin, are apart: distance() of
 * their outputs and gradients, the largest.
 */
double twin_distance(Report *r, const Case *fast, const Case *twin);

/* Prints a line about all cases since the last such line. */
void sum_up(Report *r, const char *name, const char *where);

void print_header(const Report *r);

/* Dies (EXIT_FAILED) if a derivative, or a twin, is further off than is allowed. */
void conclude(const Report *r);

/* Every op, every setting of an attention, and every parameter of a small model with it. */
void check_ops(Report *r);
void check_mixes(Report *r, const Attention *a);
void check_model(Report *r, const Attention *a);

#endif
