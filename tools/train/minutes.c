/* --minutes: measures updates of a few sizes, and sets what the command line leaves open. */
#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/terminal.h"
#include "tools/train/job.h"
#include "training/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const Job *job;
    const Attention *attention;
    const OptimiserKind *kind;
    Pool *pool;
    double seconds; /* of the run */
    int conv;       /* --conv N of each mix; 0: the default */
} Machine;

/* A short convolution, where the mechanism has none by default. With several mechanisms each has
 * settings of its own. */
static int conv_of(const Job *job, const Attention *a, bool alone)
{
    const Setting *s = attention_takes(a, "conv");

    if (!s || s->value || !alone || options_set(job->program, "conv"))
        return 0;
    return job->config.task == TASK_CAUSAL ? 4 : 3;
}

static Config config_of(const Machine *m, PlanSize s)
{
    const char *bpe = strstr(m->job->tokenizer, "bpe:");
    Config c = m->job->config;

    c.attention = m->attention, c.set = settings_default(m->attention);
    c.layers = s.layers, c.width = s.width, c.context = s.context;
    c.heads = layer_of(m->attention)->one_head ? 1 : s.heads;
    c.position = position_default(m->attention);
    c.vocab = bpe ? (int)strtol(bpe + 4, NULL, 10) : 256;
    if (m->conv)
        *setting_at(&c.set, "conv") = m->conv;
    settings_fit_context(&c.set, m->attention, CONTEXT_AT_LEAST, s.context);
    config_check(&c);
    return c;
}

/* Forward and backward. */
static double batch_seconds(Tape *tape, Model *model, Batch b)
{
    const double start = seconds_now();

    tape_reset(tape);
    Tensor *loss = model_losses(tape, model, b, 0);
    real *weight = arena_zeros(tape->mem, loss->n * sizeof *weight);
    tape_backward(tape, loss, weight);
    return seconds_now() - start;
}

static double step_seconds(Tape *tape, Optimiser *o)
{
    const double start = seconds_now();

    optimiser_step(o, tape->pool, 1e-3, 1);
    return seconds_now() - start;
}

/* The mean of batches and steps for a fiftieth of the time, after those that meet cold memory. */
static double clock_size(void *ctx, PlanSize s)
{
    enum { FEWEST = 5 };
    const Machine *m = ctx;
    Arena *mem = arena_new();
    Tape tape = { .mem = arena_new(), .pool = m->pool };
    Optimiser o = { .kind = m->kind, .hyper = m->kind->defaults };
    const size_t bytes = (size_t)s.batch * (size_t)s.context * sizeof(int);
    const Batch b = { .B = s.batch,
                      .T = s.context,
                      .id = arena_zeros(mem, bytes),
                      .target = arena_zeros(mem, bytes) };
    double batches = 0, steps = 0;
    Model model;
    int n = 0;

    model_init(&model, config_of(m, s), mem, 1);
    optimiser_init(&o, &model.params, mem);
    batch_seconds(&tape, &model, b);
    step_seconds(&tape, &o);
    for (; n < FEWEST || batches + steps < m->seconds / 50; n++) {
        batches += batch_seconds(&tape, &model, b);
        steps += step_seconds(&tape, &o);
    }
    arena_free(tape.mem);
    arena_free(mem);
    return (m->job->training.accumulation * batches + steps) / n;
}

static double text_bytes(const Job *job)
{
    struct stat info;
    double bytes = job->files ? 0 : STORIES_BYTES;

    for (int i = 0; i < job->files; i++)
        if (stat(job->file[i], &info) == 0)
            bytes += (double)info.st_size;
    return fmax(bytes, 1);
}

static void choose(const Job *job, const char *option, Text value)
{
    if (!options_set(job->program, option))
        options_restore(job->program, option, value.at);
}

static int given(const Job *job, const char *option, int value)
{
    return options_set(job->program, option) ? value : 0;
}

static void choose_all(const Job *job, const Machine *m, const Plan *p, double seconds)
{
    choose(job, "n-layer", text_format("%d", p->size.layers));
    choose(job, "n-embd", text_format("%d", p->size.width));
    if (!layer_of(m->attention)->one_head)
        choose(job, "n-head", text_format("%d", p->size.heads));
    choose(job, "block-size", text_format("%d", p->size.context));
    choose(job, "batch-size", text_format("%d", p->size.batch));
    choose(job, "max-iters", text_format("%d", p->steps));
    choose(job, "dropout", text_format("%g", p->dropout));
    choose(job, "optimizer", text_format("%s", m->kind->name));
    choose(job, "min-lr", text_format("0"));
    if (m->conv)
        choose(job, "conv", text_format("%d", m->conv));
    choose(job, "max-time", text_format("%.3fs", seconds));
}

/* What the user has chosen stays as it is. */
static PlanSize size_given(const Job *job)
{
    const Config *c = &job->config;

    return (PlanSize){ given(job, "n-layer", c->layers), given(job, "n-head", c->heads),
                       given(job, "n-embd", c->width), given(job, "block-size", c->context),
                       given(job, "batch-size", job->training.batch) };
}

void job_plan(const Job *job, double minutes, const Attention *a, bool alone,
              const OptimiserKind *kind)
{
    enum { EVALUATIONS = 10 };
    const double start = seconds_now(), setup = 0.5, seconds = 60 * minutes;
    Machine m = { .job = job, .attention = a, .pool = pool_new(job->threads), .seconds = seconds };
    m.conv = conv_of(job, a, alone);
    m.kind = options_set(job->program, "optimizer") ? kind : &optimiser_muon;
    const PlanWanted w = { .seconds = seconds,
                           .bytes = text_bytes(job),
                           .given = size_given(job),
                           .steps = given(job, "max-iters", job->training.steps),
                           .dropout = options_set(job->program, "dropout") ? job->config.dropout
                                                                           : (double)NAN,
                           .batches = job->training.accumulation,
                           .share = job->config.task == TASK_MLM ? job->mask_share : 1,
                           .evaluations = EVALUATIONS,
                           .some = job->training.eval_iters,
                           .clock = clock_size,
                           .ctx = &m };
    Plan p = plan_run(&w);

    pool_free(m.pool);
    plan_shorten(&w, &p, seconds_now() - start + setup);
    for (int i = 0; i < PLAN_REASONS; i++)
        terminal_wrap(stderr, plan_reason(&w, &p, i).at);
    choose_all(job, &m, &p, seconds);
}
