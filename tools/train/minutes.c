/* --minutes: measures updates of a few sizes, and sets what the command line leaves open. */
#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/terminal.h"
#include "tools/common/model_options.h"
#include "tools/train/lesson.h"
#include "training/plan.h"

typedef struct {
    const Source *source;
    int vocab;
    Pool *pool;
    double seconds; /* to measure a size */
} Machine;

typedef struct {
    Job job;
    Arena *mem;
    Tape tape;
    Model model;
    Optimiser optimiser;
    Batch batch; /* of any length */
} Trial;

static void trial_open(Trial *t, const Machine *m, PlanSize s)
{
    *t = (Trial){ .job = job_sized(s), .mem = arena_new() };
    t->job.config.vocab = m->vocab;
    t->tape = (Tape){ .mem = arena_new(), .pool = m->pool, .recompute = t->job.recompute };
    t->tape.precision = (Precision)t->job.precision;
    t->batch = source_batch(m->source, t->mem, s.batch * s.context);
    model_init(&t->model, t->job.config, t->mem, t->job.seed);
    freeze_tensors(&t->job.frozen, &t->model.params);
    t->optimiser = t->job.training.optimiser;
    optimiser_init(&t->optimiser, &t->model.params, t->mem);

    const Text line =
        text_format("timing %d x %d, %zu parameters, context %d, batches of %d", s.layers, s.width,
                    params_count(&t->model.params), s.context, s.batch);
    terminal_wrap(stderr, line.at);
}

/* Forward and backward, with each length in turn. */
static double batch_seconds(Trial *t, const Source *source, int number)
{
    const TrainOptions *o = &t->job.training;
    const int context = t->job.config.context,
              T = o->lengths ? o->length[number % o->lengths] : context;
    const Batch b = source_shape(t->batch, (int)((int64_t)o->batch * context / T), T);
    const double start = seconds_now();

    source->batch(source, (uint64_t)number, b);
    tape_reset(&t->tape);
    Tensor *loss = model_losses(&t->tape, &t->model, b, (uint64_t)number);
    tape_backward(&t->tape, loss, arena_zeros(t->tape.mem, loss->n * sizeof(real)));
    return seconds_now() - start;
}

/* What an update does besides. */
static double step_seconds(Trial *t)
{
    const double start = seconds_now();

    model_redraw(&t->model, t->job.seed, t->optimiser.step);
    gradient_norm(t->tape.pool, t->tape.mem, &t->model.params);
    optimiser_step(&t->optimiser, t->tape.pool, 1e-3, 1);
    return seconds_now() - start;
}

/* Batches of an update: the mean, as if all had the largest size of a run with several. */
static double batches_of(const TrainOptions *o)
{
    return batches_tokens(o, 1, o->steps) / o->steps / o->batch;
}

/* The mean of batches and steps for that time, after those that meet cold memory. */
static double clock_size(void *ctx, PlanSize s)
{
    enum { FEWEST = 5 };
    const Machine *m = ctx;
    double batches = 0, steps = 0;
    Trial t;
    int n = 0;

    trial_open(&t, m, s);
    const int lengths = t.job.training.lengths;
    batch_seconds(&t, m->source, 0);
    step_seconds(&t);
    for (; n < FEWEST || (lengths && n % lengths) || batches + steps < m->seconds; n++) {
        batches += batch_seconds(&t, m->source, n);
        steps += step_seconds(&t);
    }
    arena_free(t.tape.mem);
    arena_free(t.mem);
    return (batches_of(&t.job.training) * batches + steps) / n;
}

static void choose(const Job *job, const char *option, Text value)
{
    if (!options_set(job->program, option))
        options_restore(job->program, option, value.at);
}

/* A short convolution, where the mechanism has none by default. With several mechanisms each has
 * settings of its own. */
static void choose_conv(const Job *job, const Attention *a, bool alone)
{
    const Setting *s = attention_takes(a, "conv");

    if (s && !s->value && alone)
        choose(job, "conv", text_format("%d", job->config.task == TASK_CAUSAL ? 4 : 3));
}

static int given(const Job *job, const char *option, int value)
{
    return options_set(job->program, option) ? value : 0;
}

static void choose_all(const Job *job, const Plan *p, double seconds)
{
    choose(job, "n-layer", text_format("%d", p->size.layers));
    choose(job, "n-embd", text_format("%d", p->size.width));
    choose(job, "n-head", text_format("%d", p->size.heads));
    choose(job, "block-size", text_format("%d", p->size.context));
    choose(job, "batch-size", text_format("%d", p->size.batch));
    choose(job, "max-iters", text_format("%d", p->steps));
    choose(job, "dropout", text_format("%g", p->dropout));
    choose(job, "min-lr", text_format("0"));
    choose(job, "max-time", text_format("%.3fs", fmax(seconds, 1e-3)));
}

/* What the user has chosen stays as it is. */
static PlanSize size_given(const Job *job, const Attention *a)
{
    const Config *c = &job->config;
    const OptionList *lengths = job->lengths.n ? &job->lengths : &job->length_stages;
    PlanSize s = { given(job, "n-layer", c->layers), given(job, "n-head", c->heads),
                   given(job, "n-embd", c->width), given(job, "block-size", c->context),
                   given(job, "batch-size", job->training.batch) };

    if (layer_of(a)->one_head && !s.heads)
        s.heads = 1;
    s.context = s.context ? s.context : job_largest(lengths);
    s.batch = s.batch ? s.batch : job_largest(&job->batch_stages);
    return s;
}

static PlanWanted wanted(const Job *job, double seconds, const Attention *a, int mechanisms)
{
    const bool dropout = options_set(job->program, "dropout");

    return (PlanWanted){ .seconds = seconds,
                         .given = size_given(job, a),
                         .mechanisms = mechanisms,
                         .steps = given(job, "max-iters", job->training.steps),
                         .dropout = dropout ? job->config.dropout : (double)NAN,
                         .share = job->config.task == TASK_MLM ? job->mask_share : 1,
                         .evaluations = 10,
                         .some = job->training.eval_iters,
                         .clock = clock_size };
}

/* Reads the text, which has to do for the smallest size. */
static Machine prepare(PlanWanted *w, Job *job)
{
    Job smallest = job_sized(plan_smallest(w));
    const Lesson *l = job->lesson = lesson_open(&smallest);
    const Corpus *c = &l->corpus[0];

    w->batches = batches_of(&smallest.training);
    w->train = (double)l->text.train.n, w->held_back = (double)l->text.validation.n;
    w->bytes = (double)c->train.n + (job->validation_path ? 0 : (double)c->validation.n);
    return (Machine){ l->source, smallest.config.vocab, pool_new(job->threads), w->seconds / 50 };
}

void job_plan(Job *job, double minutes, const Attention *a, int mechanisms)
{
    const double start = seconds_now(), setup = 0.5, seconds = 60 * minutes;

    choose(job, "optimizer", text_format("muon"));
    choose_conv(job, a, mechanisms == 1);
    PlanWanted w = wanted(job, seconds, a, mechanisms);
    Machine m = prepare(&w, job);
    w.ctx = &m;
    Plan p = plan_run(&w);

    pool_free(m.pool);
    plan_shorten(&w, &p, seconds_now() - start + setup);
    for (int i = 0; i < PLAN_REASONS; i++)
        terminal_wrap(stderr, plan_reason(&w, &p, i).at);
    choose_all(job, &p, seconds);
}
