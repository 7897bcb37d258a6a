/*
 * ./bench: what this machine could do, and what is done with it. Everything is
 * the best of some runs, and a share of the peak that was measured just before
 * in the same process, since the speed of a shared machine drifts.
 */
#include "data/corpus.h"
#include "model/model.h"
#include "ops/error.h"
#include "ops/gemm.h"
#include "ops/kernel.h"
#include "ops/machine.h"
#include "ops/ops.h"
#include "tools/options.h"
#include "training/optimiser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LEAST_RUNS = 3, OPERANDS = 4, STEP_TOKENS = 4096 };

static int threads, section = -1;
static double seconds = 0.3;
static const char *csv_path;
static OptionList lengths = { 2, { 64, 512 } };
static Config reference = { .layers = 6, .heads = 4, .width = 256, .vocab = 256 };
static int batch;

static const char *const sections[] = { "gemm", "ops", "step", NULL };

static Option options[] = {
    { .name = "Options" },
    { "only", OPTION_CHOICE, &section, .choices = sections, .help = "one part of it" },
    { "threads", OPTION_INT, &threads, .max = 1024, .help = "0: one for each processor" },
    { "seconds", OPTION_DURATION, &seconds, .help = "for each row, at least" },
    { "csv", OPTION_TEXT, &csv_path, .help = "write the rows to this file as well" },
    { .name = "The training step" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 1 << 24, .help = "contexts" },
    { "batch-size", OPTION_INT, &batch, .max = 1 << 20,
      .help = "sequences; 0: 4096 tokens' worth, at least 1" },
    { "n-layer", OPTION_INT, &reference.layers, .min = 1, .max = 1000, .help = "blocks" },
    { "n-head", OPTION_INT, &reference.heads, .min = 1, .max = 1024, .help = "heads" },
    { "n-embd", OPTION_INT, &reference.width, .min = 1, .max = 16384, .help = "width" },
    { 0 },
};

static const Program program = {
    .usage = "./bench [options]",
    .summary = "Measures the machine's peak, then products, ops and training steps against it.",
    .options = options,
};

typedef struct {
    Tape tape;
    Arena *mem;
    double peak;
    FILE *csv;
} Bench;

/* One row: work done in a time, in operations or, where memory is the limit, in bytes. */
typedef struct {
    const char *group, *name;
    double seconds, flops, bytes;
} Row;

static void print_row(const Bench *b, Row r)
{
    double flops = r.flops / r.seconds, bytes = r.bytes / r.seconds;

    printf("%-44s %10.3f ms", r.name, 1e3 * r.seconds);
    if (r.flops > 0)
        printf(" %9.1f GFLOP/s %6.1f%%", flops / 1e9, 100 * flops / b->peak);
    else
        printf(" %9.1f GB/s", bytes / 1e9);
    putchar('\n');
    fflush(stdout);
    if (b->csv)
        fprintf(b->csv, "%s,\"%s\",%.9g,%.9g,%.9g,%.9g\n", r.group, r.name, r.seconds, flops, bytes,
                flops / b->peak);
}

/* The least time of body(ctx), which returns the time that counts. */
static double best_of(double (*body)(void *ctx), void *ctx)
{
    double start = seconds_now(), best = HUGE_VAL;

    for (int run = 0; run < LEAST_RUNS || seconds_now() - start < seconds; run++) {
        double t = body(ctx);

        best = t < best ? t : best;
    }
    return best;
}

static real *numbers(Bench *b, size_t n)
{
    real *at = arena_take(b->mem, n * sizeof *at);
    Random r = random_stream(1, RANDOM_TEST, n);

    for (size_t i = 0; i < n; i++)
        at[i] = R(random_uniform(r, i) - 0.5);
    return at;
}

typedef struct {
    Bench *b;
    Product p;
} GemmCase;

static double run_gemm(void *ctx)
{
    GemmCase *c = ctx;
    double start = seconds_now();

    gemm(c->b->tape.pool, c->p);
    return seconds_now() - start;
}

static void bench_product(Bench *b, const char *name, Product p)
{
    GemmCase c = { b, p };
    char title[96];

    snprintf(title, sizeof title, "%s  %d x %d x %d", name, p.c.rows, p.a.cols, p.c.cols);
    print_row(b, (Row){ .group = "gemm",
                        .name = title,
                        .seconds = best_of(run_gemm, &c),
                        .flops = 2.0 * p.c.rows * p.c.cols * p.a.cols });
}

static void bench_gemm(Bench *b)
{
    static const int square[] = { 256, 512, 1024, 2048 }, wide[] = { 256, 1024 };
    enum { ROWS = 4096 };

    printf("\nMatrix product: rows x sum x columns\n");
    for (int i = 0; i < 4; i++) {
        int n = square[i];
        size_t size = (size_t)n * (size_t)n;

        bench_product(b, "c = a b",
                      (Product){ .c = matrix(numbers(b, size), n, n),
                                 .a = matrix(numbers(b, size), n, n),
                                 .b = matrix(numbers(b, size), n, n) });
    }
    for (int i = 0; i < 4; i++) {
        int in = wide[i / 2], out = wide[i % 2];
        Matrix x = matrix(numbers(b, (size_t)(ROWS * in)), ROWS, in);
        Matrix y = matrix(numbers(b, (size_t)(ROWS * out)), ROWS, out);
        Matrix w = matrix(numbers(b, (size_t)(in * out)), out, in);

        bench_product(b, "y = x W^T", (Product){ .c = y, .a = x, .b = transposed(w) });
        bench_product(b, "dx = dy W", (Product){ .c = x, .a = y, .b = w });
        bench_product(b, "dW = dy^T x",
                      (Product){ .c = w, .a = transposed(y), .b = x, .over_batch = true });
        arena_reset(b->mem);
    }
}

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
    return attention_softmax.mix(tape,
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

    snprintf(title, sizeof title, "%s, forward", c.name);
    print_row(b, (Row){ "op", title, best_of(run_forward, &c), c.flops, c.forward_bytes });
    snprintf(title, sizeof title, "%s, backward", c.name);
    print_row(b, (Row){ "op", title, best_of(run_backward, &c), backward_flops, c.backward_bytes });
}

static Tensor *operand(Bench *b, int ndim, const int *dim)
{
    Tensor *t = tensor_new(b->mem, ndim, dim);

    t->grad = arena_take(b->mem, t->n * sizeof(real));
    memcpy(t->data, numbers(b, t->n), t->n * sizeof(real));
    return t;
}

static void bench_ops(Bench *b)
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
    Operands in = { .b = b };

    printf("\nOps, on %d x %d rows of %d, %d heads\n", B, T, C, H);
    in.x[0] = operand(b, SHAPE(B, T, C)), in.x[1] = operand(b, SHAPE(B, T, C));
    in.x[2] = operand(b, SHAPE(C, C)), in.x[3] = operand(b, SHAPE(C));
    in.dy = numbers(b, (size_t)(ROWS * C));
    in.id = arena_take(b->mem, ROWS * sizeof *in.id);
    for (int i = 0; i < ROWS; i++)
        in.id[i] = i * 31 % C;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OpCase c = cases[i];
        bool attention = c.apply == apply_causal || c.apply == apply_bidirectional;

        c.in = &in;
        bench_op(b, c, c.flops * (attention ? 2.5 : 2));
    }
    arena_reset(b->mem);
}

typedef struct {
    Bench *b;
    Model *model;
    Adamw adamw;
    Batch batch;
    real *weight;
} StepCase;

static double run_step(void *ctx)
{
    StepCase *c = ctx;
    Tape *tape = &c->b->tape;
    double start = seconds_now();

    tape_reset(tape);
    tape_backward(tape, model_losses(tape, c->model, c->batch, 0), c->weight);
    double norm = gradient_norm(tape->pool, c->b->mem, &c->model->params);
    adamw_step(&c->adamw, tape->pool, 1e-4, norm > 1 ? 1 / norm : 1);
    return seconds_now() - start;
}

static int rows_of(int length)
{
    return batch ? batch : STEP_TOKENS > length ? STEP_TOKENS / length : 1;
}

/* The model of a length. What cannot be trained is refused before anything is measured. */
static Config config_of(int length)
{
    Config c = reference;

    c.context = length, c.attention = &attention_softmax;
    config_check(&c);
    config_check_memory(&c, (double)rows_of(length) * length);
    return c;
}

static void bench_length(Bench *b, int length)
{
    Config config = config_of(length);
    Model model;
    int rows = rows_of(length), n = rows * length;
    StepCase c = { .b = b, .model = &model };
    char title[96];

    model_init(&model, config, b->mem, 1);
    c.adamw = (Adamw){ .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1 };
    adamw_init(&c.adamw, &model.params, b->mem);
    c.batch = (Batch){ rows, length, arena_take(b->mem, (size_t)n * sizeof(int)),
                       arena_take(b->mem, (size_t)n * sizeof(int)) };
    c.weight = arena_take(b->mem, (size_t)n * sizeof(real));
    for (int i = 0; i < n; i++) {
        c.batch.id[i] = c.batch.target[i] =
            (int)random_below(random_stream(1, RANDOM_TEST, 0), (uint64_t)i, 256);
        c.weight[i] = R(1.0 / n);
    }
    double best = best_of(run_step, &c), held = (double)arena_held(b->tape.mem);

    snprintf(title, sizeof title, "softmax %d x %d, context %d, batch %d", config.layers,
             config.width, length, rows);
    print_row(b, (Row){ .group = "step",
                        .name = title,
                        .seconds = best,
                        .flops = config_flops(&config) * n });
    printf("%44s %10.0f tok/s, %.0f bytes a token for activations and gradients\n", "", n / best,
           held / n);
    arena_free(b->tape.mem);
    b->tape.mem = arena_new();
    arena_reset(b->mem);
}

int main(int argc, char **argv)
{
    if (options_parse(&program, argc, argv) > 0)
        die(EXIT_USAGE, "bench takes options only, not '%.60s'", argv[0]);
    if (threads == 0)
        threads = machine_processors();
    for (int i = 0; i < lengths.n; i++)
        config_of(lengths.at[i]);

    Bench b = { .tape = { .mem = arena_new(), .pool = pool_new(threads) }, .mem = arena_new() };
    struct rusage usage;

    if (csv_path && !(b.csv = fopen(csv_path, "w")))
        die(EXIT_IO, "cannot write %.200s: %s", csv_path, strerror(errno));
    b.peak = machine_peak(b.tape.pool);
    printf("peak of %d threads: %.1f GFLOP/s, vectors of %d bits\n", threads, b.peak / 1e9,
           VECTOR * 8);
    if (b.csv)
        fprintf(b.csv, "group,name,seconds,flop_s,byte_s,share_of_peak\n");
    if (section < 0 || section == 0)
        bench_gemm(&b);
    if (section < 0 || section == 1)
        bench_ops(&b);
    if (section < 0 || section == 2)
        printf("\nTraining steps: forward, backward, clipping, AdamW\n");
    for (int i = 0; (section < 0 || section == 2) && i < lengths.n; i++)
        bench_length(&b, lengths.at[i]);
    getrusage(RUSAGE_SELF, &usage);
    printf("\npeak memory of the process: %.1f MiB\n", (double)usage.ru_maxrss / 1024);
    if (b.csv && fclose(b.csv) != 0)
        die(EXIT_IO, "cannot write %.200s: %s", csv_path, strerror(errno));
    pool_free(b.tape.pool);
    arena_free(b.tape.mem);
    arena_free(b.mem);
    if (fflush(stdout) != 0 || ferror(stdout))
        die(EXIT_IO, "cannot write to standard output");
    return 0;
}
