/* The ops, each with every subset of its optional operands. */
#include "ops/ops.h"
#include "tools/gradcheck/gradcheck.h"

enum { B = 2, T = 3, C = 5, O = 4, V = 7 };

/* What an op may be given. */
typedef enum { X, Y, W, BIAS, RESIDUAL, GAIN, SHIFT, TABLE, POSITIONS, LOGITS, ROW, KINDS } Kind;

static const struct {
    const char *name;
    int ndim, dim[4];
} kinds[KINDS] = {
    [X] = { "x", 3, { B, T, C } },
    [Y] = { "y", 3, { B, T, C } },
    [W] = { "w", 2, { O, C } },
    [BIAS] = { "b", 1, { O } },
    [RESIDUAL] = { "r", 3, { B, T, O } },
    [GAIN] = { "gain", 1, { C } },
    [SHIFT] = { "bias", 1, { C } },
    [TABLE] = { "table", 2, { V, C } },
    [POSITIONS] = { "position", 2, { T + 2, C } },
    [LOGITS] = { "x", 3, { B, T, V } },
    [ROW] = { "x", 2, { 1, C } },
};

/* Some of them again, and one that is no target. */
static const int tokens[B * T] = { 2, 6, 2, 0, 5, 6 }, targets[B * T] = { 1, 6, -1, 0, 3, 3 };
static const int lengths[B] = { T, T - 1 };

typedef struct Op {
    const char *name;
    Tensor *(*run)(Tape *tape, const struct Op *op, Tensor *const *at); /* NULL: not given */
    const Activation *f;
    unsigned needs, may; /* 1 << X ...: operands that it has, and may have */
} Op;

static Tensor *run_activation(Tape *tape, const Op *op, Tensor *const *at)
{
    return op_activation(tape, at[X], op->f);
}

static Tensor *run_swiglu(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_swiglu(tape, at[X], at[Y]);
}

static Tensor *run_add(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_add(tape, at[X], at[Y]);
}

static Tensor *run_dropout(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_dropout(tape, at[X], 0.3, random_stream(3, RANDOM_DROPOUT, 1));
}

static Tensor *run_dense(Tape *tape, const Op *op, Tensor *const *at)
{
    return op_dense(
        tape, (Dense){ .x = at[X], .w = at[W], .b = at[BIAS], .r = at[RESIDUAL], .f = op->f });
}

static Tensor *run_rmsnorm(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_rmsnorm(tape, at[X], at[GAIN]);
}

static Tensor *run_layernorm(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_layernorm(tape, at[X], at[GAIN], at[SHIFT]);
}

static Tensor *run_scale_offset(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_scale_offset(tape, at[X], at[GAIN], at[SHIFT]);
}

static Tensor *run_repeat(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_repeat(tape, at[ROW], T);
}

static Tensor *run_mean(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_mean(tape, at[X], lengths);
}

static Tensor *run_embedding(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_embedding(
        tape,
        (Embedding){ .table = at[TABLE], .position = at[POSITIONS], .id = tokens, .B = B, .T = T });
}

static Tensor *run_cross_entropy(Tape *tape, const Op *op, Tensor *const *at)
{
    (void)op;
    return op_cross_entropy(tape, at[LOGITS], targets);
}

static const Op ops[] = {
    { "gelu", run_activation, &activation_gelu, 1 << X, 0 },
    { "silu", run_activation, &activation_silu, 1 << X, 0 },
    { "swiglu", run_swiglu, NULL, 1 << X | 1 << Y, 0 },
    { "add", run_add, NULL, 1 << X | 1 << Y, 0 },
    { "dropout", run_dropout, NULL, 1 << X, 0 },
    { "dense", run_dense, NULL, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "dense of gelu", run_dense, &activation_gelu, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "dense of silu", run_dense, &activation_silu, 1 << X | 1 << W, 1 << BIAS | 1 << RESIDUAL },
    { "rmsnorm", run_rmsnorm, NULL, 1 << X | 1 << GAIN, 0 },
    { "layernorm", run_layernorm, NULL, 1 << X | 1 << GAIN | 1 << SHIFT, 0 },
    { "scale and offset", run_scale_offset, NULL, 1 << X | 1 << GAIN | 1 << SHIFT, 0 },
    { "repeat", run_repeat, NULL, 1 << ROW, 0 },
    { "mean", run_mean, NULL, 1 << X, 0 },
    { "embedding", run_embedding, NULL, 1 << TABLE, 1 << POSITIONS },
    { "cross entropy", run_cross_entropy, NULL, 1 << LOGITS, 0 },
};

typedef struct {
    const Op *op;
    Tensor *at[KINDS];
} OpCase;

static Tensor *apply_op(Tape *tape, void *ctx)
{
    const OpCase *c = ctx;

    return c->op->run(tape, c->op, c->at);
}

static void check_op_with(Report *r, const Op *op, unsigned given)
{
    OpCase o = { .op = op };
    Case c = { .name = op->name, .f = apply_op, .ctx = &o };
    int at = 0;

    for (int k = 0; k < KINDS; k++) {
        if (!(given >> k & 1))
            continue;
        o.at[k] = leaf(r->mem, 40 + (uint64_t)k, 1, kinds[k].ndim, kinds[k].dim);
        put_operand(&c, kinds[k].name, o.at[k]);
        if (op->may >> k & 1)
            at += snprintf(c.set + at, sizeof c.set - (size_t)at, "%swith %s", at ? ", " : "",
                           kinds[k].name);
    }
    check(r, &c);
}

void check_ops(Report *r)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        /* every subset of what it may have, the empty one first */
        unsigned some = 0;

        do {
            check_op_with(r, &ops[i], ops[i].needs | some);
            some = (some - ops[i].may) & ops[i].may;
        } while (some);
        sum_up(r, ops[i].name, "");
    }
}
