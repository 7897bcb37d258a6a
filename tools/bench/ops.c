/* Every op alone, on the sizes of a small model or on those of the caller. */
#include "tools/bench/bench.h"

#include "ops/base/machine.h"
#include "tools/common/op_table.h"

enum { H = 4 };

typedef struct {
    Bench *b;
    OpCall call;
    real *dy;
} OpRun;

static OpRun run_new(Bench *b, const OpRow *row, OpSize s)
{
    OpRun r = { .b = b, .call = op_call(b->mem, row, s, 0) };

    for (int i = 0; i < OP_OPERANDS; i++)
        if (r.call.x[i])
            bench_fill(b, r.call.x[i]->data, r.call.x[i]->n);
    tape_reset(&b->tape); /* the size of y differs from that of x in some ops */
    r.dy = bench_numbers(b, op_run(&b->tape, &r.call)->n);
    return r;
}

static double run_forward(void *ctx)
{
    OpRun *run = ctx;
    Tape *tape = &run->b->tape;

    tape_reset(tape);
    double start = seconds_now();
    op_run(tape, &run->call);
    return seconds_now() - start;
}

static double run_backward(void *ctx)
{
    OpRun *run = ctx;
    Tape *tape = &run->b->tape;

    tape_reset(tape);
    for (int i = 0; i < OP_OPERANDS; i++)
        if (run->call.x[i])
            run->call.x[i]->has_grad = false;
    Tensor *y = op_run(tape, &run->call);
    double start = seconds_now();
    tape_backward(tape, y, run->dy);
    return seconds_now() - start;
}

double bench_op(Bench *b, const char *name, int rows, int width)
{
    Arena *before = b->mem;

    b->mem = arena_new();
    OpRun run =
        run_new(b, op_row(name), (OpSize){ .B = 1, .T = rows, .C = width, .O = width, .V = width });
    double seconds = bench_best(b, run_forward, &run) + bench_best(b, run_backward, &run);
    arena_free(b->mem);
    b->mem = before;
    return seconds;
}

static Tensor *attend(Tape *tape, const OpCall *c, bool causal)
{
    Tensor *heads = arena_take(tape->mem, sizeof *heads);

    *heads = *c->x[0];
    tensor_reshape(heads, SHAPE(c->size.B, c->size.T, H, c->size.C / H));
    return attention_mix(tape, &(Mix){ .attention = &attention_softmax,
                                       .q = heads,
                                       .k = heads,
                                       .v = heads,
                                       .causal = causal });
}

static Tensor *run_causal(Tape *tape, const OpCall *c)
{
    return attend(tape, c, true);
}

static Tensor *run_bidirectional(Tape *tape, const OpCall *c)
{
    return attend(tape, c, false);
}

/* All scores and sums are 4 BTTC operations, and half of that with a causal mask. */
static const OpOperand qkv[] = { { "qkv", "BTC" }, { 0 } };
static const OpRow attention[] = {
    { "softmax attention, causal", run_causal, qkv, .flops = { "BTTC", 2, 5 } },
    { "softmax attention, bidirectional", run_bidirectional, qkv, .flops = { "BTTC", 4, 10 } },
    { .name = NULL },
};

static double work(OpWork w, OpSize s, bool backward)
{
    return (backward ? w.backward : w.forward) * op_product(w.unit, s);
}

static void print_op(Bench *b, const OpRow *row, OpSize s, bool backward)
{
    char title[96];
    Row r = { .group = "op", .name = title };

    snprintf(title, sizeof title, "%s, %s", row->name, backward ? "backward" : "forward");
    if (!bench_wanted(b, r.group, title))
        return;
    OpRun run = run_new(b, row, s);
    r.seconds = bench_best(b, backward ? run_backward : run_forward, &run);
    r.flops = work(row->flops, s, backward);
    r.bytes = work(row->moved, s, backward) * sizeof(real);
    bench_row(b, r);
    bench_clear(b);
}

static void print_ops(Bench *b, const OpRow *row, OpSize s)
{
    for (; row->name; row++)
        for (int backward = 0; backward < 2 && (row->flops.unit || row->moved.unit); backward++)
            print_op(b, row, s, backward);
}

void bench_ops(Bench *b)
{
    const OpSize s = { .B = 8, .T = 512, .C = 256, .O = 256, .V = 256 };

    printf("\nOps, on %d x %d rows of %d, %d heads\n", s.B, s.T, s.C, H);
    print_ops(b, op_rows, s);
    print_ops(b, attention, s);
}
