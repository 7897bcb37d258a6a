/*
 * The table of ops: every op of ops/ops.h, in all its variants. The tests, ./gradcheck and ./bench
 * loop over its rows.
 */
#ifndef TOOLS_COMMON_OP_TABLE_H
#define TOOLS_COMMON_OP_TABLE_H

#include "ops/ops.h"
#include "tools/common/derivative.h"

/*
 * Batch, length, width, output width, vocabulary. A shape has a letter per dimension, as in "BTC";
 * it may also have 1 and P = OP_FROM + T + 1, the number of positions.
 */
typedef struct {
    int B, T, C, O, V;
} OpSize;

enum { OP_OPERANDS = 4, OP_FROM = 1 }; /* OP_FROM: the position of a sequence's first token */

typedef struct {
    const char *name, *shape; /* "O?": optional; "PC=": a constant without a gradient */
} OpOperand;
bool op_is_constant(const OpOperand *o);

/* The work forward and backward, in units of a product of sizes: "BTCO". */
typedef struct {
    const char *unit;
    double forward, backward;
} OpWork;

typedef struct OpCall OpCall;

typedef struct {
    const char *name;
    Tensor *(*run)(Tape *tape, const OpCall *c);
    const OpOperand *operand; /* those with a batch dimension first; the last has no name */
    struct {
        const char *shape; /* NULL: the op reads no integers */
        int (*at)(int i, OpSize s);
    } id; /* tokens, targets or lengths */
    const Activation *f;
    double p;            /* of dropout; of norms, eps; of gates, by */
    int K;               /* of convolutions; negative: not causal; of repetitions, rows */
    OpWork flops, moved; /* moved: numbers read and written. ./bench skips rows with neither */
} OpRow;

extern const OpRow op_rows[]; /* the last has no name */
const OpRow *op_row(const char *name);

/* An op with operands of given sizes; x[i] is NULL if operand i is left out. */
struct OpCall {
    const OpRow *row;
    OpSize size;
    Tensor *x[OP_OPERANDS];
    const int *id;
};

/* Creates the operands of a row; bit i of `given` selects optional operand i. */
OpCall op_call(Arena *mem, const OpRow *row, OpSize s, unsigned given);
/* Fills all operands with normal samples of standard deviation `scale`. */
void op_fill(const OpCall *c, double scale);
Tensor *op_run(Tape *tape, void *call); /* a Function */

/* The next subset of the optional operands; after the last, 0 again. */
unsigned op_given_after(const OpRow *row, unsigned given);
/* Lists the optional operands that are given: "with r, with b". */
void op_describe(const OpCall *c, char *to, size_t size);

/* The product of the sizes in `letters`; 1 if there are none. */
double op_product(const char *letters, OpSize s);

#endif
