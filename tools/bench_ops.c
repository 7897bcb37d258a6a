/* Every op alone, on the sizes of a small model. */
#include "tools/bench.h"

#include "ops/machine.h"
#include "ops/ops.h"

enum { OPERANDS = 4 };

/* An op on operands of its own: what it does, and the work of its forward and backward. */
typedef struct OpCase {
    const char *name;
    Tensor *(*apply)(Tape *tape, const struct OpCase *c);
    double flops; /* forward; the backward has twice as many, attention two and a half times */
    double forward_bytes, backward_bytes; /* the numbers that must be read and written */
    const struct Operands *in;
} OpCase;

typedef struct Operands {
    Bench *b;
    Tensor *x[OPERANDS];
    int *id;
    real *dy;
} Operands;

enum { B = 8, T = 512, H = 4, C = 256, ROWS = B * T };

static Tensor *apply_dense(Tape *tape, const OpCase *c)
{
    return op_dense(tape, (Dense){ .x = c->in->x[0], .w = c->in->x[2] });
}

static Tensor *apply_dense_gelu(Tape *tape, const OpCase *c)
{
    return op_dense(tape, (Dense){ .x = c->in->x[0], .w = c->in->x[2], .f = &activation_gelu });
}

static Tensor *apply_embedding(Tape *tape, const OpCase *c)
{
    return op_embedding(tape, (Embedding){ .table = c->in->x[2], .id = c->in->id, .B = B, .T = T });
}

static Tensor *apply_rmsnorm(Tape *tape, const OpCase *c)
{
    return op_rmsnorm(tape, c->in->x[0], c->in->x[3]);
}

static Tensor *apply_layernorm(Tape *tape, const OpCase *c)
{
    return op_layernorm(tape, c->in->x[0], c->in->x[3], c->in->x[3]);
}

static Tensor *apply_gelu(Tape *tape, const OpCase *c)
{
    return op_activation(tape, c->in->x[0], &activation_gelu);
}

static Tensor *apply_silu(Tape *tape, const OpCase *c)
{
    return op_activation(tape, c->in->x[0], &activation_silu);
}

static Tensor *apply_swiglu(Tape *tape, const OpCase *c)
{
    return op_swiglu(tape, c->in->x[0], c->in->x[1]);
}

static Tensor *apply_add(Tape *tape, const OpCase *c)
{
    return op_add(tape, c->in->x[0], c->in->x[1]);
}

static Tensor *apply_dropout(Tape *tape, const OpCase *c)
{
    return op_dropout(tape, c->in->x[0], 0.1, random_stream(1, RANDOM_DROPOUT, 1));
}

static Tensor *apply_cross_entropy(Tape *tape, const OpCase *c)
{
    return op_cross_entropy(tape, c->in->x[0], c->in->id);
}

static Tensor *attend(Tape *tape, const OpCase *c, bool causal)
{
    Tensor q = *c->in->x[0], *heads = arena_take(tape->mem, sizeof *heads);

    *heads = q;
    tensor_reshape(heads, SHAPE(B, T, H, C / H));
    return attention_mix(&attention_softmax, tape,
                         (Mix){ .q = heads, .k = heads, .v = heads, .causal = causal });
}

static Tensor *apply_causal(Tape *tape, const OpCase *c)
{
    return attend(tape, c, true);
}

static Tensor *apply_bidirectional(Tape *tape, const OpCase *c)
{
    return attend(tape, c, false);
}

static double run_forward(void *ctx)
{
    OpCase *c = ctx;
    Tape *tape = &c->in->b->tape;

    tape_reset(tape);
    double start = seconds_now();
    c->apply(tape, c);
    return seconds_now() - start;
}

static double run_backward(void *ctx)
{
    OpCase *c = ctx;
    Tape *tape = &c->in->b->tape;

    tape_reset(tape);
    for (int i = 0; i < OPERANDS; i++)
        c->in->x[i]->has_grad = false;
    Tensor *y = c->apply(tape, c);
    double start = seconds_now();
    tape_backward(tape, y, c->in->dy);
    return seconds_now() - start;
}

static void bench_op(Bench *b, OpCase c, double backward_flops)
{
    char title[96];
    Row r = { .group = "op", .name = title };

    snprintf(title, sizeof title, "%s, forward", c.name);
    if (bench_wanted(b, r.group, title)) {
        r.seconds = bench_best(b, run_forward, &c), r.flops = c.flops, r.bytes = c.forward_bytes;
        bench_row(b, r);
    }
    snprintf(title, sizeof title, "%s, backward", c.name);
    if (bench_wanted(b, r.group, title)) {
        r.seconds = bench_best(b, run_backward, &c), r.flops = backward_flops;
        r.bytes = c.backward_bytes;
        bench_row(b, r);
    }
}

static Operands operands(Bench *b)
{
    Operands in = { .b = b };

    in.x[0] = bench_operand(b, SHAPE(B, T, C)), in.x[1] = bench_operand(b, SHAPE(B, T, C));
    in.x[2] = bench_operand(b, SHAPE(C, C)), in.x[3] = bench_operand(b, SHAPE(C));
    in.dy = bench_numbers(b, (size_t)(ROWS * C));
    in.id = arena_take(b->mem, ROWS * sizeof *in.id);
    for (int i = 0; i < ROWS; i++)
        in.id[i] = i * 31 % C;
    return in;
}

void bench_ops(Bench *b)
{
    const double block = (double)ROWS * C * sizeof(real), dense = 2.0 * ROWS * C * C;
    const double scores = 2 * 2.0 * B * T * T * C;
    const OpCase cases[] = {
        { "dense", apply_dense, dense, 0, 0, NULL },
        { "dense of gelu", apply_dense_gelu, dense, 0, 0, NULL },
        { "softmax attention, causal", apply_causal, scores / 2, 0, 0, NULL },
        { "softmax attention, bidirectional", apply_bidirectional, scores, 0, 0, NULL },
        { "embedding", apply_embedding, 0, block, block, NULL },
        { "rmsnorm", apply_rmsnorm, 0, 2 * block, 3 * block, NULL },
        { "layernorm", apply_layernorm, 0, 2 * block, 3 * block, NULL },
        { "gelu", apply_gelu, 0, 2 * block, 3 * block, NULL },
        { "silu", apply_silu, 0, 2 * block, 3 * block, NULL },
        { "swiglu", apply_swiglu, 0, 3 * block, 5 * block, NULL },
        { "add", apply_add, 0, 3 * block, 3 * block, NULL },
        { "dropout", apply_dropout, 0, 2 * block, 2 * block, NULL },
        { "cross entropy", apply_cross_entropy, 0, block, 2 * block, NULL },
    };
    const Operands in = operands(b);

    printf("\nOps, on %d x %d rows of %d, %d heads\n", B, T, C, H);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OpCase c = cases[i];
        bool attention = c.apply == apply_causal || c.apply == apply_bidirectional;

        c.in = &in;
        bench_op(b, c, c.flops * (attention ? 2.5 : 2));
    }
    bench_clear(b);
}
