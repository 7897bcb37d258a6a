#include "tools/train/print.h"
#include "model/mechanisms.h"

#include "data/stream.h"
#include "model/layer.h"
#include "model/sample.h"
#include "ops/base/error.h"
#include "ops/base/terminal.h"
#include "ops/kernel/precision.h"
#include "tools/common/shown.h"
#include "tools/train/curves.h"
#include "training/display.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void say(FILE *out, const char *fmt, ...)
{
    Text line = { 0 };
    va_list ap;

    va_start(ap, fmt);
    line.n = (size_t)vsnprintf(line.at, sizeof line.at, fmt, ap);
    va_end(ap);
    terminal_wrap(out, line.at);
}

Text job_name(const Job *job)
{
    Text name = shown_name(job->made     ? job->task
                           : job->labels ? job->labels
                           : job->files  ? job->file[0]
                                         : "stories");

    text_add(&name, "-%s", config_mechanism_names(&job->config).at);
    if (!job->made && job->config.task != TASK_CAUSAL)
        text_add(&name, "-%s", job->task);
    return name;
}

/* Whether it predicts what nanoGPT's characters of an English text are. */
static bool is_of_characters(const Show *s)
{
    const char *words = s->tokenizer ? tokenizer_words(s->tokenizer) : "";

    return s->model->config.task == TASK_CAUSAL &&
           (strcmp(words, "byte") == 0 || strcmp(words, "char") == 0);
}

/* What is predicted: "byte", "masked character". */
static Text target_of(const Show *s)
{
    const char *words = s->tokenizer ? tokenizer_words(s->tokenizer) : "";
    Text text = { 0 };

    if (!s->tokenizer || s->model->config.task == TASK_CLASSIFY)
        text_add(&text, "%s", s->source->target);
    else
        text_add(&text, "%s%s", s->model->config.task == TASK_MLM ? "masked " : "",
                 strcmp(words, "byte") == 0   ? "byte"
                 : strcmp(words, "char") == 0 ? "character"
                                              : "token");
    return text;
}

/* What ends the run, and what is done on the way. */
static void show_plan(const Show *s)
{
    const TrainOptions *o = &s->job->training;

    Text limit = { 0 };

    if (o->max_seconds > 0)
        limit =
            text_format("; time limit %s%s",
                        o->max_seconds < 60 ? text_format("%gs", o->max_seconds).at
                                            : display_time(o->max_seconds).at,
                        options_set(s->job->program, "max-time") ? "" : " (--max-time changes it)");
    say(stderr, "%d update%s, an evaluation every %d%s", o->steps, o->steps == 1 ? "" : "s",
        o->eval_interval, limit.at);
    if (s->job->from)
        say(stderr, "resuming after step %d", s->job->from->progress.step);
}

static void show_text(const Show *s)
{
    const Config *c = &s->model->config;
    const char *name = s->job->files ? s->job->file[0] : "built-in stories";
    size_t train = s->corpus->train.n, validation = s->corpus->validation.n;

    for (int i = 1; c->task == TASK_CLASSIFY && i < c->classes; i++) {
        train += s->corpus[i].train.n;
        validation += s->corpus[i].validation.n;
    }
    say(stderr, "%s%s: %zu bytes to train on, %zu to validate, %d tokens in the vocabulary (%s)",
        shown_plain(name).at, s->job->files > 1 ? " and others" : "", train, validation, c->vocab,
        tokenizer_words(s->tokenizer));
    if (c->task == TASK_CLASSIFY)
        say(stderr, "a window is from one of %d files: guessing is right %.1f%% of the time",
            c->classes, 100 * s->source->chance);
    if (c->task == TASK_MLM)
        say(stderr, "%g%% of the tokens are masked%s and predicted from both sides",
            100 * s->job->mask_share, s->job->whole_word ? ", whole words at a time," : ",");
    if (c->task == TASK_CAUSAL && s->corpus->floor > 0)
        say(stderr, "its true entropy is %.4f bits/byte: no model does better", s->corpus->floor);
}

static void show_labels(const Show *s)
{
    const Config *c = &s->model->config;
    const LabelSource *labels = (const LabelSource *)s->source;
    const bool paired = s->source->paired;
    const size_t train = labels->train->rows, held_back = labels->held_back->rows;
    const size_t cut = label_rows_cut(labels->train, c->context, paired) +
                       label_rows_cut(labels->held_back, c->context, paired);

    say(stderr,
        "%s: %zu %s to train on, %zu to validate, %d labels, %d tokens in the vocabulary (%s)",
        shown_plain(s->job->labels ? s->job->labels : "labelled passages of built-in stories").at,
        train, labels->train->texts == 2 ? "pairs of texts" : "rows", held_back, c->classes,
        c->vocab, tokenizer_words(s->tokenizer));
    say(stderr,
        "%zu of %zu rows are longer than the context and are cut; guessing is right %.1f%% of the time",
        cut, train + held_back, 100 * s->source->chance);
}

/* "12.5%", "0.012%" */
static Text percent(double share)
{
    return text_format(share >= 0.001 ? "%.1f%%" : "%.2g%%", 100 * share);
}

static void show_task(const Show *s)
{
    const Synthetic *made = s->job->made;

    say(stderr, "%s: %s, %d tokens in the vocabulary; guessing is right %s of the time", made->name,
        made->summary, s->model->config.vocab, percent(s->source->chance).at);
    if (!s->job->data)
        return;
    const LraSource *files = (const LraSource *)s->source;
    const int context = s->model->config.context;
    const size_t rows = files->train->rows + files->held_back->rows,
                 cut = lra_longer(files->train, context) + lra_longer(files->held_back, context);
    if (cut > 0)
        warn("%zu of %zu rows are longer than the context and are cut: --block-size sets it", cut,
             rows);
}

/* What --init took over. */
static void show_transfer(const Show *s)
{
    const Transfer *t = s->transfer;
    const Text path = text_cut(s->job->initial->path, 200);

    say(stderr, "starts with %d tensors of %s%s%s%s%s", t->copied, shown_plain(path.at).at,
        t->initialised.n ? "; initialised: " : "", t->initialised.at,
        t->left.n ? "; not used: " : "", t->left.at);
}

void show_banner(const Show *s)
{
    const Config *c = &s->model->config;
    const Job *job = s->job;
    const Text set = settings_text(c);

    say(stderr, "%s attention%s%s%s, %d x %d, %d head%s, context %d, positions %s, ffn %s",
        config_mechanisms(c).at, set.n ? " (" : "", set.at, set.n ? ")" : "", c->layers, c->width,
        c->heads, c->heads == 1 ? "" : "s", c->context, position_names[c->position],
        ffn_names[config_feeds(c) ? c->ffn : FFN_NONE]);
    say(stderr, "%zu parameters%s, %.2f MFLOP per token, about %.0f MiB of memory",
        params_count(&s->model->params), job->frozen.n ? " to train" : "", config_flops(c, 1) / 1e6,
        fmax(1, round(config_memory(c, job_load(job)) / 0x1p20)));
    if (job->initial)
        show_transfer(s);
    if (s->job->made)
        show_task(s);
    else if (s->job->labelled)
        show_labels(s);
    else
        show_text(s);
    if (job->precision != PRECISION_FLOAT)
        say(stderr, "%s products %s", precision_names[job->precision],
            precision_how((Precision)job->precision));
    const Text peak = isnan(job->training.peak)
                          ? (Text){ 0 }
                          : text_format(", peak %.0f GFLOP/s", job->training.peak / 1e9);

    say(stderr, "%d thread%s, vectors of %d bits%s, seed %llu; %s%s", job->threads,
        job->threads == 1 ? "" : "s", VECTOR * 8, peak.at, (unsigned long long)job->seed,
        s->run ? "run in " : "nothing is written", s->run ? shown_plain(run_path(s->run)).at : "");
    show_plan(s);
}

/* The lowest possible loss in nats per target; 0: unknown. */
static double floor_of(const Show *s)
{
    bool causal = s->tokenizer && s->model->config.task == TASK_CAUSAL;

    return causal ? s->corpus->floor * log(2) * s->source->bytes[1] : 0;
}

void show_picture(const Show *s)
{
    Text name = job_name(s->job), target = target_of(s);

    curves_draw(s->run, name.at, target.at, floor_of(s));
}

static void print_quality(const Show *s, Evaluation e, bool whole)
{
    const Config *c = &s->model->config;
    double bits = source_bits(s->source, true, e.loss);
    Text line = text_format("validation loss %s nats/%s, ppl %s", text_fixed(e.loss, 4).at,
                            target_of(s).at, text_fixed(exp(e.loss), 3).at);

    if (!isnan(bits))
        text_add(&line, ", %.4f bits/byte", bits);
    if (!isnan(e.accuracy))
        text_add(&line, ", accuracy %.1f%%", 100 * e.accuracy);
    if (!isnan(e.f1))
        text_add(&line, ", macro-F1 %.4f", e.f1);
    say(stdout, "%s (%s%.0f targets, %s, context %d)", line.at, whole ? "all " : "", e.targets,
        whole ? "side by side" : "spread over all", c->context);
    if (!isnan(s->source->chance))
        say(stdout,
            "for comparison: guessing is right %s of the time, the most frequent answer %.1f%%",
            percent(s->source->chance).at,
            100 * source_majority(s->source, c->context, config_outputs(c)));
}

void show_result(const Show *s, const TrainResult *r, double setup)
{
    const int steps = r->steps - r->before;

    say(stdout, "%d step%s in %.1f s (median %.1f ms), after %.1f s of setup", steps,
        steps == 1 ? "" : "s", r->seconds, 1e3 * r->step_seconds, setup);
    if (r->skipped)
        say(stdout, "of the run's %d updates %d were skipped", r->steps, r->skipped);
    say(stdout, "best evaluation %.4f at step %d", r->best, r->best_step);
    print_quality(s, r->last, r->whole);
    if (r->test.targets > 0)
        say(stdout, "test accuracy %.1f%% (%s%.0f rows)", 100 * r->test.accuracy,
            r->whole_test ? "all " : "", r->test.targets);
    if (s->job->nanogpt && is_of_characters(s))
        say(stdout,
            "for comparison: in these sizes nanoGPT reached 1.88 on tinyshakespeare, in 2000 "
            "updates");
    if (floor_of(s) > 0)
        say(stdout, "true entropy    %.4f nats/byte, %.4f bits/byte", s->corpus->floor * log(2),
            s->corpus->floor);
    say(stdout, "files in %s: model.safetensors best.safetensors log.jsonl config.json %sloss.svg",
        shown_plain(run_path(s->run)).at, s->tokenizer ? "tokenizer.json " : "");
}

bool show_estimate(const Show *s, const Training *t)
{
    const Estimate e = train_estimate(t, &s->job->training);

    if (*t->stop)
        return false;
    say(stdout, "expected time %s, at %.1f ms per update", display_time(e.seconds).at,
        1e3 * e.step_seconds);
    return true;
}

/* Prints tokens in one line, with '_' for masked ones. */
static void print_tokens(const Show *s, const int *id, int n)
{
    const int mask = config_mask(&s->model->config);
    Stream out = { .out = stdout, .one_line = true };

    for (int t = 0; t < n; t++)
        stream_write(&out, id[t] == mask ? (Bytes){ (const unsigned char *)"_", 1 }
                                         : tokenizer_token(s->tokenizer, id[t]));
    stream_end(&out);
    putchar('\n');
}

static void show_written(const Show *s, Pool *pool, const volatile sig_atomic_t *stop)
{
    const Job *job = s->job;
    Sampling how = { .temperature = job->temperature, .top_p = 1, .seed = job->seed };
    Sampler *sampler = sampler_new(s->model, pool, how, job->sample_tokens, 1);
    Token *token = xmalloc(sizeof *token);
    Stream out = { .out = stdout, .skip = true };
    int next;

    tokenizer_encode(s->tokenizer, (Bytes){ (const unsigned char *)"\n", 1 }, token);
    next = *token;
    printf("\na sample:\n");
    for (int i = 0; i < job->sample_tokens && !*stop; i++) {
        sampler_read(sampler, &next, 1);
        next = sampler_draw(sampler, 0);
        stream_write(&out, tokenizer_token(s->tokenizer, next));
    }
    stream_end(&out);
    putchar('\n');
    sampler_free(sampler);
    free(token);
}

/* The first held-back row with its targets masked, and the model's predictions. */
static void show_filled(const Show *s, Tape *tape)
{
    const Config *c = &s->model->config;
    int T = s->job->sample_tokens < c->context ? s->job->sample_tokens : c->context;
    int targets = 0, right = 0;
    Arena *mem = arena_new();
    Batch row = source_shape(source_batch(s->source, mem, T), 1, T);

    s->source->row(s->source, 0, row);
    for (int t = 0; t < T; t++)
        row.id[t] = row.target[t] < 0 ? row.id[t] : config_mask(c);
    tape_reset(tape);
    const Tensor *logits = model_outputs(tape, s->model, row, 0);
    printf("\nmasked:\n");
    print_tokens(s, row.id, T);
    for (int t = 0; t < T; t++)
        if (row.target[t] >= 0) {
            row.id[t] = sample_likeliest(logits->data + (size_t)t * (size_t)c->vocab, c->vocab);
            right += row.id[t] == row.target[t];
            targets++;
        }
    printf("filled in, %d of %d right:\n", right, targets);
    print_tokens(s, row.id, T);
    arena_free(mem);
}

/* A held-back row, and below it the model's predictions. */
static void show_answered(const Show *s, Tape *tape)
{
    const Config *c = &s->model->config;
    const Job *job = s->job;
    Arena *mem = arena_new();
    Batch row = source_shape(source_batch(s->source, mem, c->context), 1, c->context);

    s->source->row(s->source, 0, row);
    tape_reset(tape);
    const Tensor *logits = model_outputs(tape, s->model, row, 0);
    printf("\na held-back row, with predicted : correct tokens\n");
    shown_answers(job->made, job->shape, row, logits->data, config_outputs(c));
    arena_free(mem);
}

void show_sample(const Show *s, Tape *tape, const volatile sig_atomic_t *stop)
{
    tape->forward_only = true;
    if (s->job->made)
        show_answered(s, tape);
    else if (config_decodes(&s->model->config))
        show_written(s, tape->pool, stop);
    else if (s->model->config.task == TASK_MLM)
        show_filled(s, tape);
}
