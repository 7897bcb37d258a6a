/* Training steps of a whole model: forward, backward, clipping, AdamW. */
#include "tools/bench.h"

#include "data/corpus.h"
#include "model/model.h"
#include "ops/machine.h"
#include "ops/random.h"
#include "training/optimiser.h"

enum { STEP_TOKENS = 4096 };

typedef struct {
    Bench *b;
    Model *model;
    Optimiser optimiser;
    Batch batch;
    real *weight;
} StepCase;

static double run(void *ctx)
{
    StepCase *c = ctx;
    Tape *tape = &c->b->tape;
    double start = seconds_now();

    tape_reset(tape);
    tape_backward(tape, model_losses(tape, c->model, c->batch, 0), c->weight);
    double norm = gradient_norm(tape->pool, c->b->mem, &c->model->params);
    optimiser_step(&c->optimiser, tape->pool, 1e-4, norm > 1 ? 1 / norm : 1);
    return seconds_now() - start;
}

static int rows_of(const Mechanisms *m, int length)
{
    return m->batch ? m->batch : STEP_TOKENS > length ? STEP_TOKENS / length : 1;
}

Config bench_config(const Mechanisms *m, const Attention *a, int length)
{
    Config c = m->model;

    c.context = length, c.attention = a;
    c.set = settings_part(&m->settings, a);
    if ((a->takes & TAKES_HORIZON) && c.set.horizon < length)
        c.set.horizon = length;
    c.position = a->takes & TAKES_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    if (a->frame == FRAME_GATED)
        c.heads = 1;
    return c;
}

void bench_step_check(const Mechanisms *m)
{
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n; i++) {
            Config c = bench_config(m, *a, m->lengths.at[i]);

            config_check(&c);
            config_check_memory(&c, (double)rows_of(m, c.context) * c.context);
        }
}

/* A model, its optimiser, and tokens to train on. */
static void open_case(StepCase *c, Config config, int rows)
{
    Arena *mem = c->b->mem;
    int n = rows * config.context;
    Random r = random_stream(1, RANDOM_TEST, 0);

    model_init(c->model, config, mem, 1);
    c->optimiser = (Optimiser){ .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1 };
    optimiser_init(&c->optimiser, &c->model->params, mem);
    c->batch = (Batch){ .B = rows,
                        .T = config.context,
                        .id = arena_take(mem, (size_t)n * sizeof(int)),
                        .target = arena_take(mem, (size_t)n * sizeof(int)) };
    c->weight = arena_take(mem, (size_t)n * sizeof(real));
    for (int i = 0; i < n; i++) {
        c->batch.id[i] = c->batch.target[i] =
            (int)random_below(r, (uint64_t)i, (uint64_t)config.vocab);
        c->weight[i] = R(1.0 / n);
    }
}

static void bench_length(Bench *b, Config config, int rows)
{
    Model model;
    StepCase c = { .b = b, .model = &model };
    const char *name = config.attention->name;
    int n = rows * config.context;
    char title[96];

    open_case(&c, config, rows);
    double best = bench_best(b, run, &c), held = (double)arena_held(b->tape.mem);
    snprintf(title, sizeof title, "%s %d x %d, context %d, batch %d", name, config.layers,
             config.width, config.context, rows);
    bench_row(b, (Row){ .group = "step",
                        .name = title,
                        .seconds = best,
                        .flops = config_flops(&config) * n,
                        .mechanism = name,
                        .length = config.context,
                        .batch = rows,
                        .held = held / n });
    printf("%44s %10.0f tok/s, %.0f bytes a token for activations and gradients\n", "", n / best,
           held / n);
    bench_clear(b);
}

void bench_step(Bench *b, const Mechanisms *m)
{
    printf("\nTraining steps: forward, backward, clipping, AdamW\n");
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n; i++) {
            int length = m->lengths.at[i];

            bench_length(b, bench_config(m, *a, length), rows_of(m, length));
        }
}
