/* Training steps of a whole model, forward, backward, clipping, AdamW, on all threads and on fewer.
 */
#include "tools/bench/bench.h"

#include "model/layer.h"
#include "model/model.h"
#include "ops/base/machine.h"
#include "ops/base/random.h"
#include "training/optimiser.h"

#include <math.h>
#include <string.h>

enum { STEP_TOKENS = 4096 };

typedef struct {
    Bench *b;
    Model *model;
    Optimiser optimiser;
    Batch batch;
    real *weight;
} StepCase;

static void update(StepCase *c)
{
    Pool *pool = c->b->tape.pool;
    double norm = gradient_norm(pool, c->b->mem, &c->model->params);

    optimiser_step(&c->optimiser, pool, 1e-4, norm > 1 ? 1 / norm : 1);
}

static double run(void *ctx)
{
    StepCase *c = ctx;
    Tape *tape = &c->b->tape;
    double start = seconds_now();

    tape_reset(tape);
    tape_backward(tape, model_losses(tape, c->model, c->batch, 0), c->weight);
    update(c);
    return seconds_now() - start;
}

static double run_update(void *ctx)
{
    double start = seconds_now();

    update(ctx);
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
    c.task = m->bidirectional ? TASK_MLM : TASK_CAUSAL;
    c.set = settings_part(m->program, &m->settings, a);
    if (m->bidirectional)
        settings_see_both(m->program, a, &c.set);
    settings_fit_context(&c.set, a, CONTEXT_AT_LEAST, length);
    c.position = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    if (layer_of(a)->one_head && !options_set(m->program, "n-head"))
        c.heads = 1;
    return c;
}

void bench_step_check(const Mechanisms *m)
{
    const Optimiser adamw = { .kind = &optimiser_adamw };

    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n; i++) {
            Config c = bench_config(m, *a, m->lengths.at[i]);

            config_check(&c);
            config_check_memory(&c, (Load){ .tokens = (double)rows_of(m, c.context) * c.context,
                                            .recompute = m->recompute,
                                            .state = optimiser_numbers(&adamw, &c) });
        }
}

/* A model, its optimiser, and tokens to train on. */
static void open_case(StepCase *c, Config config, int rows)
{
    Arena *mem = c->b->mem;
    int n = rows * config.context;
    Random r = random_stream(1, RANDOM_TEST, 0);

    model_init(c->model, config, mem, 1);
    c->optimiser = (Optimiser){ .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults };
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

static Text title_of(const Bench *b, const Config *c, int rows)
{
    const Text set = settings_text(c);

    return text_format("%s %d x %d, context %d, batch %d%s%s%s; %d heads%s%s", c->attention->name,
                       c->layers, c->width, c->context, rows,
                       c->task == TASK_CAUSAL ? "" : ", bidirectional", bench_precision(b),
                       b->tape.recompute ? ", recompute" : "", c->heads, set.n ? ", " : "", set.at);
}

static void print_inside(StepCase *c, int rows, double step)
{
    double multiply = bench_inside(c->b, c->model, rows);
    double pass = bench_passes(c->b, c->model, rows) + bench_best(c->b, run_update, c);

    printf("%44s of which products and attention alone %.1f%%\n", "", 100 * multiply / step);
    printf("%44s norms, activations, loss and optimiser alone %.1f%%\n", "", 100 * pass / step);
}

static void bench_length(Bench *b, Config config, int rows, Growth *g)
{
    Model model;
    StepCase c = { .b = b, .model = &model };
    Text title = title_of(b, &config, rows);
    int n = rows * config.context;

    if (!bench_wanted(b, "step", title.at))
        return;
    open_case(&c, config, rows);
    double best = bench_best(b, run, &c), held = (double)arena_held(b->tape.mem) / n;
    bench_row(b, (Row){ .group = "step",
                        .name = title.at,
                        .seconds = best,
                        .flops = config_flops(&config, 1) * n,
                        .mechanism = config.attention->name,
                        .length = config.context,
                        .batch = rows,
                        .held = held });
    printf("%44s %10.0f tok/s, %.0f bytes a token for activations and gradients\n", "", n / best,
           held);
    arena_free(b->tape.mem); /* so that later parts do not add to it in the peak memory */
    b->tape.mem = arena_new();
    print_inside(&c, rows, best);
    g->length[g->n] = config.context, g->time[g->n] = best / n, g->held[g->n] = held, g->n++;
    bench_clear(b);
}

void bench_step(Bench *b, const Mechanisms *m)
{
    Growth growth[2];
    int n = 0;

    printf("\nTraining steps: forward, backward%s, clipping, AdamW\n",
           m->recompute ? " that runs blocks again" : "");
    for (const Attention *const *a = m->attentions; *a; a++, n++) {
        Growth *g = &growth[n % 2];

        *g = (Growth){ .attention = *a };
        for (int i = 0; i < m->lengths.n; i++) {
            Config c = bench_config(m, *a, m->lengths.at[i]);
            MixSize s = config_mix_size(&c);

            g->grows = bench_grows(*a, &s);
            b->tape.recompute = m->recompute;
            bench_length(b, c, rows_of(m, c.context), g);
        }
    }
    growth_print_crossing(growth, n);
}

/* Runs the step with each pool in turn, so that drifting speed affects all of them alike. */
static void interleave(Bench *b, StepCase *c, Pool *const *pool, double *best, int n)
{
    double start = seconds_now();

    for (int i = 0; i < n; i++)
        best[i] = HUGE_VAL;
    for (int times = 0; bench_again(b, times, start); times++)
        for (int i = 0; i < n; i++) {
            b->tape.pool = pool[i];
            best[i] = fmin(best[i], run(c));
        }
}

static void print_scaling(Bench *b, Row r, int threads, double one)
{
    const double times = one / r.seconds;
    const Text name = text_format("%d thread%s, %s", threads, threads > 1 ? "s" : "", r.name);

    r.name = name.at;
    printf("%7d %12.0f tok/s %8.2f x one thread %6.1f%%", threads, r.batch * r.length / r.seconds,
           times, 100 * times / threads);
    bench_row_end(b, r);
}

static void scale(Bench *b, Config config, int rows, const Text *title)
{
    enum { MOST = 12 };
    Pool *pool[MOST], *all = b->tape.pool;
    double best[MOST];
    Model model;
    StepCase c = { .b = b, .model = &model };
    Row r = { .group = "scaling", .name = title->at, .mechanism = config.attention->name };
    int n = 0;

    r.length = config.context, r.batch = rows, r.flops = config_flops(&config, 1) * rows * r.length;
    for (int threads = 1; threads < pool_threads(all) && n < MOST - 1; threads *= 2)
        pool[n++] = pool_new(threads);
    pool[n++] = all;
    open_case(&c, config, rows);
    interleave(b, &c, pool, best, n);
    for (int i = 0; i < n; i++) {
        r.seconds = best[i];
        print_scaling(b, r, pool_threads(pool[i]), best[0]);
        if (pool[i] != all)
            pool_free(pool[i]);
    }
    b->tape.pool = all;
    bench_clear(b);
}

static bool some_wanted(const Bench *b, const Text *title)
{
    for (int i = 0; i < b->rows.n; i++)
        if (strcmp(b->rows.at[i].group, "scaling") == 0 && strstr(b->rows.at[i].name, title->at) &&
            bench_wanted(b, "scaling", b->rows.at[i].name))
            return true;
    return !b->slower_only;
}

void bench_scaling(Bench *b, const Mechanisms *m)
{
    for (const Attention *const *a = m->attentions; *a; a++)
        for (int i = 0; i < m->lengths.n; i++) {
            Config c = bench_config(m, *a, m->lengths.at[i]);
            int rows = rows_of(m, c.context);
            Text title = title_of(b, &c, rows);

            if (!some_wanted(b, &title))
                continue;
            printf("\nThreads, in turn: %.*s\n", (int)strcspn(title.at, ";"), title.at);
            scale(b, c, rows, &title);
        }
}
