#include "training/train.h"

#include "ops/error.h"
#include "ops/machine.h"
#include "training/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* BAD_STEPS without a finite gradient in a row, and the run has failed. */
enum { BAD_STEPS = 5, DURATIONS = 4096 };

typedef struct {
    Tape *tape;
    Model *model;
    const Corpus *corpus;
    Run *run;
    const TrainOptions *o;
    Adamw adamw;
    Arena *mem;
    Batch batch;
    real *weight;             /* of each target of the batch in the mean: dL/dloss */
    double targets;           /* of a batch: every one has as many */
    double start, *durations; /* of the last DURATIONS steps */
    double best, last_speed;
    int best_step, bad;
    bool on_terminal;
} Loop;

/* The mean loss of a batch, and its gradient, added to those of the parameters. */
static double learn(Loop *l, uint64_t number)
{
    Batch b = l->batch;
    double sum = 0;

    task_batch(&l->model->config, l->corpus->train, l->o->seed, number, b);
    tape_reset(l->tape);
    Tensor *loss = model_losses(l->tape, l->model, b, number);
    for (size_t i = 0; i < loss->n; i++)
        sum += (double)loss->data[i];
    tape_backward(l->tape, loss, l->weight);
    return sum / l->targets;
}

/* One update. A gradient that is not finite is thrown away, and the weights stay. */
static LogLine step(Loop *l, int number)
{
    const TrainOptions *o = l->o;
    LogLine line = { .step = number,
                     .split = "train",
                     .accuracy = (double)NAN,
                     .rate = schedule_rate(&o->schedule, number) };
    double start = seconds_now(), tokens = (double)l->batch.B * l->batch.T * o->accumulation;

    for (int i = 0; i < o->accumulation; i++)
        line.loss += learn(l, (uint64_t)(number - 1) * (uint64_t)o->accumulation + (uint64_t)i) /
                     o->accumulation;
    line.grad_norm = gradient_norm(l->tape->pool, l->mem, &l->model->params);
    if (isfinite(line.loss) && isfinite(line.grad_norm)) {
        bool clip = o->clip > 0 && line.grad_norm > o->clip;

        adamw_step(&l->adamw, l->tape->pool, line.rate, clip ? o->clip / line.grad_norm : 1);
        l->bad = 0;
    } else {
        params_zero_grad(&l->model->params);
        warn("step %d: the %s is not finite; the weights stay as they are", number,
             isfinite(line.loss) ? "gradient" : "loss");
        if (++l->bad >= BAD_STEPS)
            die(EXIT_FAILED,
                "the run diverged: no finite gradient in %d steps; a smaller --learning-rate may "
                "do; %s%s",
                l->bad, l->best_step ? "the best weights so far are in " : "no weights were saved",
                l->best_step ? run_path(l->run) : "");
    }
    double duration = seconds_now() - start;

    l->durations[(number - 1) % DURATIONS] = duration;
    line.tokens = tokens * number;
    line.tokens_per_second = tokens / duration;
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

/* A line that the next one overwrites, on a terminal; else a line every so often. */
static void show(const Loop *l, LogLine line)
{
    const TrainOptions *o = l->o;
    double share = line.tokens_per_second * config_flops(&l->model->config) / o->peak;
    char elapsed[32], left[32];

    print_time(elapsed, sizeof elapsed, line.seconds);
    print_time(left, sizeof left, line.seconds / line.step * (o->steps - line.step));
    fprintf(
        stderr,
        "%sstep %d/%d  loss %.4f  lr %.2e  norm %.2f  %.0f tok/s (%.0f%% of peak)  %s, %s left%s",
        l->on_terminal ? "\r\033[K" : "", line.step, o->steps, line.loss, line.rate, line.grad_norm,
        line.tokens_per_second, 100 * share, elapsed, left, l->on_terminal ? "" : "\n");
}

static void show_validation(const Loop *l, int number, Evaluation e, bool best)
{
    fprintf(stderr, "%sstep %d: validation loss %.4f  ppl %.3f  ", l->on_terminal ? "\r\033[K" : "",
            number, e.loss, exp(e.loss));
    if (l->model->config.task == TASK_MLM)
        fprintf(stderr, "accuracy %.1f%%%s\n", 100 * e.accuracy, best ? " *" : "");
    else
        fprintf(stderr, "bits/byte %.4f%s\n", e.loss / log(2), best ? " *" : "");
}

/* On the same few windows every time: by these the best weights are chosen. */
static void validate(Loop *l, int number)
{
    size_t windows = (size_t)l->o->eval_iters * (size_t)l->o->batch;
    Evaluation e = evaluate(l->tape, l->model, l->corpus->validation, l->o->batch, windows);
    bool best = e.loss < l->best;
    LogLine line = { .step = number,
                     .split = "val",
                     .loss = e.loss,
                     .accuracy = e.accuracy,
                     .rate = (double)NAN,
                     .grad_norm = (double)NAN,
                     .tokens = (double)l->batch.B * l->batch.T * l->o->accumulation * number,
                     .tokens_per_second = (double)NAN,
                     .seconds = seconds_now() - l->start };

    run_log(l->run, line);
    if (best) {
        l->best = e.loss, l->best_step = number;
        run_save(l->run, "best.safetensors", l->model, (CheckpointNote){ number, e.loss });
    }
    show_validation(l, number, e, best);
}

static void loop_open(Loop *l)
{
    const TrainOptions *o = l->o;
    int T = l->model->config.context, n = o->batch * T;

    l->mem = arena_new();
    l->batch = (Batch){ o->batch, T, arena_take(l->mem, (size_t)n * sizeof(int)),
                        arena_take(l->mem, (size_t)n * sizeof(int)) };
    l->weight = arena_take(l->mem, (size_t)n * sizeof(real));
    l->targets = (double)o->batch * task_targets(&l->model->config, T);
    for (int i = 0; i < n; i++)
        l->weight[i] = R(1.0 / l->targets / o->accumulation);
    l->durations = arena_zeros(l->mem, DURATIONS * sizeof(double));
    l->adamw = (Adamw){ .beta1 = o->beta1, .beta2 = o->beta2, .epsilon = 1e-8, .decay = o->decay };
    adamw_init(&l->adamw, &l->model->params, l->mem);
    l->best = HUGE_VAL;
    l->on_terminal = isatty(STDERR_FILENO);
    l->start = seconds_now();
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

TrainResult train(Tape *tape, Model *model, const Corpus *corpus, Run *run, const TrainOptions *o,
                  const volatile sig_atomic_t *stop)
{
    Loop l = { .tape = tape, .model = model, .corpus = corpus, .run = run, .o = o };
    int number = 0;
    bool last = o->steps == 0;

    loop_open(&l);
    while (!last) {
        LogLine line = step(&l, ++number);

        last = number == o->steps || *stop || (o->max_seconds > 0 && line.seconds > o->max_seconds);
        if (number % o->log_interval == 0 || number == 1 || last) {
            run_log(run, line);
            show(&l, line);
        }
        if (last) /* before anything that takes time: whoever asked to stop may ask again */
            run_save(run, "model.safetensors", model, (CheckpointNote){ number, (double)NAN });
        if (!*stop && (number % o->eval_interval == 0 || last))
            validate(&l, number);
    }
    int measured = number < DURATIONS ? number : DURATIONS;
    qsort(l.durations, (size_t)measured, sizeof *l.durations, by_size);
    TrainResult result = { .best = l.best,
                           .best_step = l.best_step,
                           .steps = number,
                           .interrupted = *stop,
                           .seconds = seconds_now() - l.start,
                           .step_seconds = l.durations[measured / 2] };
    if (!result.interrupted) {
        result.last = evaluate(tape, model, corpus->validation, o->batch, 0);
        run_save(run, "model.safetensors", model, (CheckpointNote){ number, result.last.loss });
    }
    arena_free(l.mem);
    return result;
}
