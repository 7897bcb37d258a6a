#include "training/train.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* After BAD_STEPS in a row without a finite gradient the run has failed. */
enum { BAD_STEPS = 5, DURATIONS = 4096 };

typedef struct {
    const Training *t;
    const TrainOptions *o;
    Optimiser optimiser;
    Arena *mem;
    Batch batch;  /* of any length */
    real *weight; /* dL/dloss: of each target of a batch */
    Progress progress;
    double start, *durations; /* of the last DURATIONS steps of this part of the run */
    int first;                /* the step before the first of those */
    bool on_terminal;
} Loop;

/* Tokens per update; all batches of it have the same number, whatever their length. */
static double step_tokens(const Loop *l)
{
    return (double)l->o->batch * l->t->model->config.context * l->o->accumulation;
}

/* The shape of a batch: its length is drawn, and its rows make up the same number of tokens. */
static Batch shape_of(const Loop *l, uint64_t number)
{
    const TrainOptions *o = l->o;
    int T = l->t->model->config.context;

    if (o->lengths == 0)
        return source_shape(l->batch, o->batch, T);
    Random r = random_stream(l->t->source->seed, RANDOM_LENGTH, number);
    int chosen = o->length[random_below(r, 0, (uint64_t)o->lengths)];

    return source_shape(l->batch, (int)((int64_t)o->batch * T / chosen), chosen);
}

/* The mean loss of a batch, and its gradient, added to those of the parameters. */
static double learn(Loop *l, uint64_t number)
{
    Batch b = shape_of(l, number);
    double sum = 0, targets = 0;

    l->t->source->batch(l->t->source, number, b);
    for (int i = 0; i < b.B * batch_targets(b); i++)
        targets += b.target[i] >= 0;
    for (int i = 0; i < b.B * batch_targets(b); i++)
        l->weight[i] = R(1.0 / targets / l->o->accumulation);
    tape_reset(l->t->tape);
    Tensor *loss = model_losses(l->t->tape, l->t->model, b, number);
    for (size_t i = 0; i < loss->n; i++)
        sum += (double)loss->data[i];
    tape_backward(l->t->tape, loss, l->weight);
    return sum / targets;
}

static noreturn void die_diverged(const Loop *l)
{
    die(EXIT_FAILED,
        "the run diverged: no finite gradient in %d steps; try a smaller --learning-rate; %s%s",
        l->progress.bad,
        l->progress.best_step ? "the best weights so far are in " : "no weights were saved",
        l->progress.best_step ? run_path(l->t->run) : "");
}

/* Skips an update whose gradient is not finite. */
static void update(Loop *l, const LogLine *line)
{
    const TrainOptions *o = l->o;
    bool clip = o->clip > 0 && line->grad_norm > o->clip;

    if (isfinite(line->loss) && isfinite(line->grad_norm)) {
        optimiser_step(&l->optimiser, l->t->tape->pool, line->rate,
                       clip ? o->clip / line->grad_norm : 1);
        l->progress.bad = 0;
        return;
    }
    params_zero_grad(&l->t->model->params);
    warn("step %d: the %s is not finite; the update is skipped", line->step,
         isfinite(line->loss) ? "gradient" : "loss");
    if (++l->progress.bad >= BAD_STEPS)
        die_diverged(l);
}

static LogLine step(Loop *l, int number)
{
    const TrainOptions *o = l->o;
    const Source *source = l->t->source;
    LogLine line = { .step = number,
                     .split = "train",
                     .accuracy = (double)NAN,
                     .rate = schedule_rate(&o->schedule, number) };
    double start = seconds_now();

    for (int i = 0; i < o->accumulation; i++)
        line.loss += learn(l, (uint64_t)(number - 1) * (uint64_t)o->accumulation + (uint64_t)i) /
                     o->accumulation;
    line.grad_norm = gradient_norm(l->t->tape->pool, l->mem, &l->t->model->params);
    update(l, &line);
    l->progress.step = number;
    l->progress.updates = l->optimiser.step;
    double duration = seconds_now() - start;

    l->durations[(number - l->first - 1) % DURATIONS] = duration;
    line.bits = source_bits(source, false, line.loss);
    line.tokens = step_tokens(l) * number;
    line.tokens_per_second = step_tokens(l) / duration;
    line.seconds = seconds_now() - l->start;
    return line;
}

static void print_time(char *to, size_t size, double s)
{
    if (s < 60)
        snprintf(to, size, "%.0fs", s);
    else if (s < 3600)
        snprintf(to, size, "%dm%02ds", (int)s / 60, (int)s % 60);
    else
        snprintf(to, size, "%dh%02dm", (int)s / 3600, (int)s / 60 % 60);
}

/* On a terminal, a line that the next one overwrites. */
static void show(const Loop *l, LogLine line)
{
    const TrainOptions *o = l->o;
    double share = line.tokens_per_second * config_flops(&l->t->model->config) / o->peak;
    char elapsed[32], left[32];

    print_time(elapsed, sizeof elapsed, line.seconds);
    print_time(left, sizeof left, line.seconds / (line.step - l->first) * (o->steps - line.step));
    fprintf(
        stderr,
        "%sstep %d/%d  loss %.4f  lr %.2e  norm %.2f  %.0f tok/s (%.0f%% of peak)  %s, %s left%s",
        l->on_terminal ? "\r\033[K" : "", line.step, o->steps, line.loss, line.rate, line.grad_norm,
        line.tokens_per_second, 100 * share, elapsed, left, l->on_terminal ? "" : "\n");
}

static void show_validation(const Loop *l, const LogLine *line, bool best)
{
    fprintf(stderr, "%sstep %d: validation loss %.4f  ppl %.3f", l->on_terminal ? "\r\033[K" : "",
            line->step, line->loss, exp(line->loss));
    if (!isnan(line->accuracy))
        fprintf(stderr, "  accuracy %.1f%%", 100 * line->accuracy);
    if (!isnan(line->bits))
        fprintf(stderr, "  bits/byte %.4f", line->bits);
    fprintf(stderr, "%s\n", best ? " *" : "");
}

static void save(const Loop *l, const char *name)
{
    run_save(l->t->run, name, l->t->model, &l->optimiser, l->progress);
}

static LogLine log_evaluation(const Loop *l, const char *split, Evaluation e)
{
    LogLine line = { .step = l->progress.step,
                     .split = split,
                     .loss = e.loss,
                     .bits = source_bits(l->t->source, true, e.loss),
                     .accuracy = e.accuracy,
                     .rate = (double)NAN,
                     .grad_norm = (double)NAN,
                     .tokens = step_tokens(l) * l->progress.step,
                     .tokens_per_second = (double)NAN,
                     .seconds = seconds_now() - l->start };

    run_log(l->t->run, line);
    return line;
}

/* On the same few rows every time; the best weights are chosen by them. */
static void validate(Loop *l)
{
    Progress *p = &l->progress;
    size_t rows = (size_t)l->o->eval_iters * (size_t)l->o->batch;
    Evaluation e = evaluate(l->t->tape, l->t->model, l->t->source, l->o->batch, rows);
    LogLine line = log_evaluation(l, "val", e);
    bool best = e.loss < p->best;

    p->evaluated = p->step;
    if (best) {
        p->best = e.loss, p->best_step = p->step;
        save(l, "best.safetensors");
    }
    show_validation(l, &line, best);
}

/* If an evaluation is due after this step and has not been done. */
static void validate_if_due(Loop *l)
{
    int step = l->progress.step;

    if (step == 0 || step % l->o->eval_interval != 0 || l->progress.evaluated == step)
        return;
    validate(l);
    save(l, "model.safetensors");
}

static void loop_open(Loop *l)
{
    const Training *t = l->t;
    const TrainOptions *o = l->o;
    int n = o->batch * t->model->config.context;

    l->mem = arena_new();
    l->batch = source_batch(t->source, l->mem, n);
    l->weight = arena_take(l->mem, (size_t)n * sizeof(real));
    l->durations = arena_zeros(l->mem, DURATIONS * sizeof(double));
    l->optimiser = o->optimiser;
    optimiser_init(&l->optimiser, &t->model->params, l->mem);
    l->progress = (Progress){ .best = HUGE_VAL, .loss = (double)NAN };
    if (t->from) {
        l->progress = t->from->progress;
        l->progress.loss = (double)NAN;
        saved_optimiser(t->from, &l->optimiser);
    }
    l->first = l->progress.step;
    l->on_terminal = isatty(STDERR_FILENO);
    l->start = seconds_now();
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Until the steps are done or the time is over; true if the run was interrupted before. */
static bool run_steps(Loop *l)
{
    const TrainOptions *o = l->o;
    const volatile sig_atomic_t *stop = l->t->stop;

    while (l->progress.step < o->steps) {
        LogLine line = step(l, l->progress.step + 1);
        bool end = line.step == o->steps, asked = *stop || (line.step == o->stop_at && !end);
        bool last = asked || end || (o->max_seconds > 0 && line.seconds > o->max_seconds);

        if (line.step % o->log_interval == 0 || line.step == 1 || last) {
            run_log(l->t->run, line);
            show(l, line);
        }
        if (last) /* first, before anything that takes time: the user may interrupt again */
            save(l, "model.safetensors");
        if (asked)
            return true;
        validate_if_due(l);
        if (last)
            return *stop;
    }
    return *stop;
}

/*
 * Evaluates on all validation data. The last weights may be the best ones, but the checkpoint
 * does not count this evaluation: if the run is made longer, none was due here.
 */
static void judge(Loop *l, TrainResult *r)
{
    const Training *t = l->t;
    Progress *p = &l->progress, before = *p;

    r->last = evaluate(t->tape, t->model, t->source, l->o->batch, 0);
    if (p->evaluated != p->step)
        validate(l);
    r->best = p->best;
    r->best_step = p->best_step;
    log_evaluation(l, "final", r->last);
    *p = before;
    p->loss = r->last.loss;
    save(l, "model.safetensors");
}

static double median_step(Loop *l)
{
    int steps = l->progress.step - l->first, n = steps < DURATIONS ? steps : DURATIONS;

    qsort(l->durations, (size_t)n, sizeof *l->durations, by_size);
    return l->durations[n / 2];
}

TrainResult train(const Training *t, const TrainOptions *o)
{
    Loop l = { .t = t, .o = o };
    TrainResult result = { 0 };

    loop_open(&l);
    validate_if_due(&l);
    result.interrupted = run_steps(&l);
    result.steps = l.progress.step;
    result.step_seconds = median_step(&l);
    if (!result.interrupted)
        judge(&l, &result);
    result.seconds = seconds_now() - l.start;
    arena_free(l.mem);
    return result;
}
