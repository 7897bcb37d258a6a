#include "training/train.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/terminal.h"
#include "training/display.h"
#include "training/pace.h"

#include <string.h>

static const double redraw_seconds = 0.25; /* of the line on a terminal */

typedef struct {
    const Training *t;
    const TrainOptions *o;
    Optimiser optimiser;
    Arena *mem;
    Batch batch;  /* of any length */
    real *weight; /* dL/dloss: of each target of a batch */
    Progress progress;
    Evaluation latest; /* of this part of the run; no targets: there is none */
    Pace pace;
    double asked;                     /* the share of positions whose logits were computed last */
    double start, saved_at, drawn_at; /* when: the loop; the last checkpoint; the line */
    int saved;                        /* the step of that checkpoint; 0: there is none */
    Text failure;                     /* why the run has failed; empty: it has not */
} Loop;

static double tokens_until(const Loop *l, int step)
{
    return batches_until(l->o, l->t->model->config.context, run_spent(l->t->run), step);
}

/* The shape of a batch: rows of any length make up the same number of tokens. */
static Batch shape_of(const Loop *l, uint64_t number)
{
    const int rows = batches_rows(l->o, number), context = l->t->model->config.context;
    const int T = batches_length(l->o, context, l->t->source->seed, number);

    return source_shape(l->batch, (int)((int64_t)rows * context / T), T);
}

/* The mean loss of a batch, and its gradient, added to those of the parameters. */
static double learn(Loop *l, uint64_t number)
{
    Batch b = shape_of(l, number);
    const int rows = b.B * batch_targets(b);
    double sum = 0, targets = 0;

    l->t->source->batch(l->t->source, number, b);
    for (int i = 0; i < rows; i++)
        targets += b.target[i] >= 0;
    for (int i = 0; i < rows; i++)
        l->weight[i] = R(1.0 / targets / l->o->accumulation);
    tape_reset(l->t->tape);
    Tensor *loss = model_losses(l->t->tape, l->t->model, b, number);
    l->asked = targets / rows;
    for (size_t i = 0; i < loss->n; i++)
        sum += (double)loss->data[i];
    tape_backward(l->t->tape, loss, l->weight);
    return sum / targets;
}

/* Updates the weights, unless there is a reason to skip the update. */
static void update(Loop *l, LogLine *line)
{
    Params *params = &l->t->model->params;
    const bool clip = l->o->clip > 0 && line->grad_norm > l->o->clip;
    const Text why =
        skips_add(&l->progress.skips, l->o->spike, line->step, line->loss, line->grad_norm, params);

    line->skipped = why.n > 0;
    if (line->skipped) {
        params_zero_grad(params);
        warn("step %d skipped: %s", line->step, why.at);
    } else {
        optimiser_step(&l->optimiser, l->t->tape->pool, line->rate,
                       clip ? l->o->clip / line->grad_norm : 1);
    }
}

/* If it is interrupted, the progress is still that before it. */
static LogLine step(Loop *l, int number)
{
    const Source *source = l->t->source;
    const int parts = l->o->accumulation;
    LogLine line = { .step = number,
                     .split = "train",
                     .accuracy = (double)NAN,
                     .f1 = (double)NAN,
                     .rate = schedule_rate(&l->o->schedule, number) };
    double start = seconds_now();
    int done = 0;

    model_redraw(l->t->model, source->seed, number - 1);
    for (; done == 0 || (done < parts && !*l->t->stop); done++)
        line.loss += learn(l, (uint64_t)(number - 1) * (uint64_t)parts + (uint64_t)done) / parts;
    if (done < parts) {
        params_zero_grad(&l->t->model->params);
        return line;
    }
    line.grad_norm = gradient_norm(l->t->tape->pool, l->mem, &l->t->model->params);
    update(l, &line);
    l->progress.step = number;
    l->progress.updates = l->optimiser.step;
    double duration = seconds_now() - start;

    pace_step(&l->pace, duration);
    line.bits = source_bits(source, false, line.loss);
    line.tokens = tokens_until(l, number);
    line.tokens_per_second = (line.tokens - tokens_until(l, number - 1)) / duration;
    line.seconds = seconds_now() - l->start;
    return line;
}

/* On a terminal the line is drawn more often than it is logged, and not too often. */
static void show(Loop *l, const LogLine *line, bool logged)
{
    double now = seconds_now(), flops = config_flops(&l->t->model->config, l->asked);

    if (!logged && !(terminal_rewrites() && now > l->drawn_at + redraw_seconds))
        return;
    display_step(line, l->o->steps, line->tokens_per_second * flops / l->o->peak,
                 pace_left(&l->pace, line->step, now - l->start));
    l->drawn_at = now;
}

/* Fails on numbers that are not finite. The weights are exchanged for their averages. */
static bool save_exchanged(Loop *l, bool best)
{
    double start = seconds_now();

    const Text broken = saved_not_finite(l->t->model, &l->optimiser);
    if (broken.n) {
        l->failure = text_format("numbers that are not finite in %s", broken.at);
        return false;
    }
    if (best)
        run_save_best(l->t->run, l->t->model, &l->optimiser, l->progress);
    else
        run_save(l->t->run, l->t->model, &l->optimiser, l->progress);
    pace_mean(&l->pace.saves, 1, seconds_now() - start);
    return true;
}

static bool save(Loop *l, bool best)
{
    optimiser_exchange(&l->optimiser);
    const bool saved = save_exchanged(l, best);
    optimiser_exchange(&l->optimiser);
    return saved;
}

static bool save_last(Loop *l)
{
    if (!save(l, false))
        return false;
    l->saved_at = seconds_now();
    l->saved = l->progress.step;
    return true;
}

static Evaluation evaluate_rows(Loop *l, const Source *source, double rows)
{
    const Reading r = { source, l->o->batch, (size_t)rows, NULL, NULL, l->t->stop };
    double start = seconds_now();

    optimiser_exchange(&l->optimiser);
    Evaluation e = evaluate(l->t->tape, l->t->model, r);
    optimiser_exchange(&l->optimiser);
    pace_mean(&l->pace.rows, rows, seconds_now() - start);
    return e;
}

static LogLine log_evaluation(const Loop *l, const char *split, Evaluation e)
{
    LogLine line = { .step = l->progress.step,
                     .split = split,
                     .last = strcmp(split, "final") == 0,
                     .loss = e.loss,
                     .bits = source_bits(l->t->source, true, e.loss),
                     .accuracy = e.accuracy,
                     .f1 = e.f1,
                     .rate = (double)NAN,
                     .grad_norm = (double)NAN,
                     .tokens = tokens_until(l, l->progress.step),
                     .tokens_per_second = (double)NAN,
                     .seconds = seconds_now() - l->start };

    run_log(l->t->run, line);
    return line;
}

/* On the same few rows every time; the best weights are chosen by them. False: interrupted, or
 * failed. */
static bool validate(Loop *l)
{
    Progress *p = &l->progress;
    Evaluation e = l->latest = evaluate_rows(l, l->t->source, l->pace.some);

    if (*l->t->stop)
        return false;
    LogLine line = log_evaluation(l, "val", e);
    const bool best = e.loss < run_best(l->t->run, &(int){ 0 });

    p->evaluated = p->step;
    if (e.loss < p->best)
        p->best = e.loss, p->best_step = p->step;
    if (best && !save(l, true))
        return false;
    display_validation(&line, best);
    return true;
}

/* If an evaluation is due after this step and has not been done. False: interrupted, or failed. */
static bool validate_if_due(Loop *l)
{
    int step = l->progress.step;

    if (step == 0 || step % l->o->eval_interval != 0 || l->progress.evaluated == step)
        return true;
    bool done = validate(l);
    return (l->progress.skips.bad > 0 || save_last(l)) && done; /* as in save_is_due() */
}

static Pace pace_of(const Training *t, const TrainOptions *o)
{
    double all = (double)t->source->rows(t->source, t->model->config.context);
    double some = (double)o->eval_iters * o->batch;

    return (Pace){ .steps = o->steps,
                   .interval = o->eval_interval,
                   .batch = (double)o->batch * o->accumulation,
                   .some = some > 0 ? fmin(some, all) : all,
                   .all = all,
                   .test = t->test ? (double)t->test->rows(t->test, t->model->config.context) : 0,
                   .limit = o->max_seconds };
}

static void loop_open(Loop *l)
{
    const Training *t = l->t;
    const TrainOptions *o = l->o;
    int n = o->batch * t->model->config.context;

    l->mem = arena_new();
    l->batch = source_batch(t->source, l->mem, n);
    l->weight = arena_take(l->mem, (size_t)n * sizeof(real));
    l->optimiser = o->optimiser;
    optimiser_init(&l->optimiser, &t->model->params, l->mem);
    l->progress = (Progress){ .best = HUGE_VAL, .loss = (double)NAN };
    if (t->from) {
        l->progress = t->from->progress;
        l->progress.loss = (double)NAN;
        saved_optimiser(t->from, &l->optimiser);
        optimiser_exchange(&l->optimiser);
    }
    l->saved = l->progress.step;
    l->start = l->saved_at = seconds_now();
}

/* Whether the run ends after this step, and why. */
static Stop stop_after(Loop *l, const LogLine *line)
{
    l->failure = skips_failure(&l->progress.skips);
    if (l->failure.n)
        return STOP_DIVERGED;
    if (*l->t->stop)
        return STOP_ASKED;
    if (line->step == l->o->steps)
        return STOP_STEPS;
    if (line->step == l->o->stop_at)
        return STOP_AT;
    return pace_is_over(&l->pace, line->step, line->seconds) ? STOP_TIME : STOP_NOT;
}

/* A checkpoint of weights that are about to diverge would be no use. */
static bool save_is_due(const Loop *l)
{
    return l->o->save_seconds > 0 && l->progress.skips.bad == 0 &&
           seconds_now() - l->saved_at >= l->o->save_seconds;
}

/* Why it goes no further where nothing was due. */
static Stop stopped(const Loop *l)
{
    return l->failure.n ? STOP_DIVERGED : STOP_ASKED;
}

static Stop run_steps(Loop *l)
{
    Stop why = STOP_NOT;

    while (!why && l->progress.step < l->o->steps) {
        LogLine line = step(l, l->progress.step + 1);
        if (l->progress.step < line.step) {
            if (l->progress.step > 0)
                save_last(l);
            return stopped(l);
        }
        why = stop_after(l, &line);
        line.last = why == STOP_ASKED || why == STOP_AT || why == STOP_DIVERGED;
        bool logged = line.step % l->o->log_interval == 0 || line.step == 1 || line.skipped || why;

        if (logged)
            run_log(l->t->run, line);
        if (why == STOP_DIVERGED)
            return why;
        show(l, &line, logged);
        if ((why || save_is_due(l)) && !save_last(l)) /* before a second signal may end it */
            return stopped(l);
        if (why != STOP_ASKED && why != STOP_AT && !validate_if_due(l))
            why = stopped(l);
    }
    return why ? why : STOP_STEPS;
}

/* On data that no choice depended on, if there is such. False: interrupted. */
static bool judge_test(Loop *l, TrainResult *r)
{
    const double rows = pace_test_rows(&l->pace, seconds_now() - l->start);

    if (!l->t->test)
        return true;
    r->test = evaluate_rows(l, l->t->test, rows);
    r->whole_test = rows >= l->pace.test;
    return !*l->t->stop;
}

/*
 * Evaluates on all validation data, or what there is time for. The last weights may be the best
 * ones, but the progress does not count this evaluation: if the run is made longer, none was due
 * here. False: interrupted, or failed.
 */
static bool judge(Loop *l, TrainResult *r)
{
    Progress *p = &l->progress, before = *p;

    if (p->evaluated != p->step && !validate(l))
        return false;
    double rows = pace_last_rows(&l->pace, seconds_now() - l->start);
    bool done = rows <= l->pace.some && l->latest.targets > 0;
    r->last = done ? l->latest : evaluate_rows(l, l->t->source, rows);
    if (*l->t->stop || !judge_test(l, r))
        return false;
    if (!isfinite(r->last.loss)) {
        l->failure = text_format("the validation loss is not finite");
        return false;
    }
    r->whole = rows >= l->pace.all;
    r->best = run_best(l->t->run, &r->best_step);
    if (l->t->test)
        log_evaluation(l, "test", r->test);
    log_evaluation(l, "final", r->last);
    *p = before;
    p->loss = r->last.loss;
    return save_last(l);
}

TrainResult train(const Training *t, const TrainOptions *o)
{
    Loop l = { .t = t, .o = o, .pace = pace_of(t, o) };
    TrainResult result = { 0 };

    loop_open(&l);
    result.before = l.progress.step;
    result.why = validate_if_due(&l) ? run_steps(&l) : stopped(&l);
    result.steps = l.progress.step;
    result.skipped = l.progress.step - l.progress.updates;
    result.best = run_best(t->run, &result.best_step);
    result.step_seconds = pace_median_step(&l.pace);
    if (result.why >= STOP_STEPS && !judge(&l, &result))
        result.why = stopped(&l);
    terminal_end_line();
    optimiser_exchange(&l.optimiser); /* what was saved and evaluated stays in the model */
    result.failure = l.failure;
    result.saved = l.saved;
    result.seconds = seconds_now() - l.start;
    arena_free(l.mem);
    return result;
}

Estimate train_estimate(const Training *t, const TrainOptions *o)
{
    enum { FEWEST = 2, MOST = 20 };
    const double patience = 2; /* seconds */
    Loop l = { .t = t, .o = o, .pace = pace_of(t, o) };

    loop_open(&l);
    const int before = l.progress.step;
    for (int i = 1; i <= MOST && !*t->stop; i++)
        if (i <= FEWEST || seconds_now() - l.start < patience)
            step(&l, before + i);
    evaluate_rows(&l, t->source, fmin(l.pace.some, o->batch));
    const double limit = o->max_seconds > 0 ? o->max_seconds : HUGE_VAL;
    const Estimate e = { fmin(pace_left(&l.pace, before, 0) * batches_growth(o, before), limit),
                         pace_median_step(&l.pace) };
    arena_free(l.mem);
    return e;
}
