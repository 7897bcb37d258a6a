/* Every op alone, on the sizes of a small model or on those that are asked for. */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/ops.h"

#include <string.h>

enum { B = 8, T = 512, H = 4, C = 256, ROWS = B * T };

typedef struct {
    Bench *b;
    int rows, width;
    Tensor *x, *other, *table, *gain; /* other is as large as x, the table is width x width */
    int *id;
    real *dy;
} Operands;

/* What an op does, and the work of its forward and backward on ROWS x C. */
typedef struct {
    const char *name;
    Tensor *(*apply)(Tape *tape, const Operands *in);
    double flops;                         /* forward */
    double back;                          /* times as many backward */
    double forward_bytes, backward_bytes; /* the numbers that must be read and written */
} OpCase;

typedef struct {
    const OpCase *c;
    const Operands *in;
} OpRun;

static Tensor *apply_dense(Tape *tape, const Operands *in)
{
    return op_dense(tape, (Dense){ .x = in->x, .w = in->table });
}

static Tensor *apply_dense_gelu(Tape *tape, const Operands *in)
{
    return op_dense(tape, (Dense){ .x = in->x, .w = in->table, .f = &activation_gelu });
}

static Tensor *apply_embedding(Tape *tape, const Operands *in)
{
    return op_embedding(tape,
                        (Embedding){ .table = in->table, .id = in->id, .B = in->rows / T, .T = T });
}

static Tensor *apply_rmsnorm(Tape *tape, const Operands *in)
{
    return op_rmsnorm(tape, in->x, in->gain);
}

static Tensor *apply_layernorm(Tape *tape, const Operands *in)
{
    return op_layernorm(tape, in->x, in->gain, in->gain);
}

static Tensor *apply_gelu(Tape *tape, const Operands *in)
{
    return op_activation(tape, in->x, &activation_gelu);
}

static Tensor *apply_silu(Tape *tape, const Operands *in)
{
    return op_activation(tape, in->x, &activation_silu);
}

static Tensor *apply_swiglu(Tape *tape, const Operands *in)
{
    return op_swiglu(tape, in->x, in->other);
}

static Tensor *apply_add(Tape *tape, const Operands *in)
{
    return op_add(tape, in->x, in->other);
}

static Tensor *apply_dropout(Tape *tape, const Operands *in)
{
    return op_dropout(tape, in->x, 0.1, random_stream(1, RANDOM_DROPOUT, 1));
}

static Tensor *apply_cross_entropy(Tape *tape, const Operands *in)
{
    return op_cross_entropy(tape, in->x, in->id);
}

static Tensor *attend(Tape *tape, const Operands *in, bool causal)
{
    Tensor *heads = arena_take(tape->mem, sizeof *heads);

    *heads = *in->x;
    tensor_reshape(heads, SHAPE(in->rows / T, T, H, in->width / H));
    return attention_mix(tape, &(Mix){ .attention = &attention_softmax,
                                       .q = heads,
                                       .k = heads,
                                       .v = heads,
                                       .causal = causal });
}

static Tensor *apply_causal(Tape *tape, const Operands *in)
{
    return attend(tape, in, true);
}

static Tensor *apply_bidirectional(Tape *tape, const Operands *in)
{
    return attend(tape, in, false);
}

/* Numbers of ROWS x C in bytes; operations of a product of them, and of all scores and sums. */
#define BLOCK ((double)ROWS * C * sizeof(real))
#define DENSE (2.0 * ROWS * C * C)
#define SCORES (2 * 2.0 * B * T * T * C)

static const OpCase cases[] = {
    { "dense", apply_dense, DENSE, 2, 0, 0 },
    { "dense of gelu", apply_dense_gelu, DENSE, 2, 0, 0 },
    { "softmax attention, causal", apply_causal, SCORES / 2, 2.5, 0, 0 },
    { "softmax attention, bidirectional", apply_bidirectional, SCORES, 2.5, 0, 0 },
    { "embedding", apply_embedding, 0, 0, BLOCK, BLOCK },
    { "rmsnorm", apply_rmsnorm, 0, 0, 2 * BLOCK, 3 * BLOCK },
    { "layernorm", apply_layernorm, 0, 0, 2 * BLOCK, 3 * BLOCK },
    { "gelu", apply_gelu, 0, 0, 2 * BLOCK, 3 * BLOCK },
    { "silu", apply_silu, 0, 0, 2 * BLOCK, 3 * BLOCK },
    { "swiglu", apply_swiglu, 0, 0, 3 * BLOCK, 5 * BLOCK },
    { "add", apply_add, 0, 0, 3 * BLOCK, 3 * BLOCK },
    { "dropout", apply_dropout, 0, 0, 2 * BLOCK, 2 * BLOCK },
    { "cross entropy", apply_cross_entropy, 0, 0, BLOCK, 2 * BLOCK },
};
enum { CASES = sizeof cases / sizeof *cases };

static double run_forward(void *ctx)
{
    const OpRun *run = ctx;
    Tape *tape = &run->in->b->tape;

    tape_reset(tape);
    double start = seconds_now();
    run->c->apply(tape, run->in);
    return seconds_now() - start;
}

static double run_backward(void *ctx)
{
    const OpRun *run = ctx;
    const Operands *in = run->in;
    Tape *tape = &in->b->tape;

    tape_reset(tape);
    in->x->has_grad = in->other->has_grad = in->table->has_grad = in->gain->has_grad = false;
    Tensor *y = run->c->apply(tape, in);
    double start = seconds_now();
    tape_backward(tape, y, in->dy);
    return seconds_now() - start;
}

static Operands operands(Bench *b, int rows, int width)
{
    Operands in = { .b = b, .rows = rows, .width = width };

    in.x = bench_operand(b, SHAPE(rows, width)), in.other = bench_operand(b, SHAPE(rows, width));
    in.table = bench_operand(b, SHAPE(width, width)), in.gain = bench_operand(b, SHAPE(width));
    in.dy = bench_numbers(b, (size_t)rows * (size_t)width);
    in.id = arena_take(b->mem, (size_t)rows * sizeof *in.id);
    for (int i = 0; i < rows; i++)
        in.id[i] = (int)(i * 31L % width);
    return in;
}

static const OpCase *case_of(const char *name)
{
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    BUG("there is no op %s", name);
}

double bench_op(Bench *b, const char *name, int rows, int width)
{
    Arena *before = b->mem;

    b->mem = arena_new();
    Operands in = operands(b, rows, width);
    OpRun run = { case_of(name), &in };
    double seconds = bench_best(b, run_forward, &run) + bench_best(b, run_backward, &run);
    arena_free(b->mem);
    b->mem = before;
    return seconds;
}

static void print_op(const OpCase *c, const Operands *in)
{
    char title[96];
    Row r = { .group = "op", .name = title };
    OpRun run = { c, in };

    snprintf(title, sizeof title, "%s, forward", c->name);
    if (bench_wanted(in->b, r.group, title)) {
        r.seconds = bench_best(in->b, run_forward, &run), r.flops = c->flops;
        r.bytes = c->forward_bytes;
        bench_row(in->b, r);
    }
    snprintf(title, sizeof title, "%s, backward", c->name);
    if (bench_wanted(in->b, r.group, title)) {
        r.seconds = bench_best(in->b, run_backward, &run), r.flops = c->back * c->flops;
        r.bytes = c->backward_bytes;
        bench_row(in->b, r);
    }
}

void bench_ops(Bench *b)
{
    const Operands in = operands(b, ROWS, C);

    printf("\nOps, on %d x %d rows of %d, %d heads\n", B, T, C, H);
    for (int i = 0; i < CASES; i++)
        print_op(&cases[i], &in);
    bench_clear(b);
}
