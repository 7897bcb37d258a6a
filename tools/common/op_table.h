/*
 * The table of ops: every op of ops/ops.h in the ways it is used. The tests, ./gradcheck and
 * ./bench loop over its rows.
 */
#ifndef TOOLS_COMMON_OP_TABLE_H
#define TOOLS_COMMON_OP_TABLE_H

#include "ops/ops.h"
#include "tools/common/derivative.h"

/*
 * Batch, length, width, width of the output, vocabulary. A shape names them with a letter per
 * dimension, "BTC"; two more letters are 1 and P = OP_FROM + T + 1, the number of positions.
 */
typedef struct {
    int B, T, C, O, V;
} OpSize;

enum { OP_OPERANDS = 4, OP_FROM = 1 }; /* OP_FROM: the position of a sequence's first token */

typedef struct {
    const char *name, *shape; /* "O?" is optional, "PC=" a constant, which has no gradient */
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
    const OpOperand *operand; /* those with a batch come first; the last has no name */
    struct {
        const char *shape; /* NULL: the op reads no integers */
        int (*at)(int i, OpSize s);
    } id; /* tokens, targets or lengths */
    const Activation *f;
    double p;            /* of dropout */
    OpWork flops, moved; /* moved: numbers read and written. With neither, ./bench skips the row */
} OpRow;

extern const OpRow op_rows[]; /* the last has no name */
const OpRow *op_row(const char *name);

/* An op with operands of certain sizes; x[i] is NULL where operand i is not given. */
struct OpCall {
    const OpRow *row;
    OpSize size;
    Tensor *x[OP_OPERANDS];
    const int *id;
};

/* The operands of a row, and bit i of `given` says whether optional operand i is among them. */
OpCall op_call(Arena *mem, const OpRow *row, OpSize s, unsigned given);
/* Normal numbers times `scale` for all operands. */
void op_fill(const OpCall *c, double scale);
Tensor *op_run(Tape *tape, void *call); /* a Function */

/* The next subset of the optional operands; after the last, 0 again. */
unsigned op_given_after(const OpRow *row, unsigned given);
/* Which optional operands are given: "with r, with b". */
void op_describe(const OpCall *c, char *to, size_t size);

/* The product of the sizes that `letters` name; 1 without letters. */
double op_product(const char *letters, OpSize s);

#endif
