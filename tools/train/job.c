#include "tools/train/job.h"

#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/base/processors.h"
#include "tools/train/choices.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STORY_SECONDS = 110, TASK_LENGTH = 64 };

static int position = -1, preset = -1, task, optimiser, schedule;
static bool tied, bias;
static SettingsOptions mechanism;
static OptionList lengths;
static bool resume;
static Job job = {
    .config = { .layers = 4, .heads = 4, .width = 128, .context = 256 },
    .training = {
        .batch = 8,
        .accumulation = 1,
        .steps = 1000,
        .schedule = { .rate = (double)NAN, .least = (double)NAN, .warmup = 100, .cooldown = 0.2 },
        .optimiser.hyper = { (double)NAN, (double)NAN, (double)NAN, (double)NAN, false },
        .clip = 1,
        .eval_iters = 20,
        .log_interval = 10,
        .save_seconds = 300,
    },
    .tokenizer = "byte",
    .seed = 1337,
    .sample_tokens = 400,
    .held_back = 0.1,
    .temperature = 0.8,
};

static Option options[] = {
    { .name = "Main options" },
    { "attn", OPTION_CHOICE, &mechanism.attention, .choice = settings_attention,
      .help = "the attention" },
    { "task", OPTION_CHOICE, &task, .choice = choice_task, .help = "what to learn" },
    { "tokenizer", OPTION_TEXT, &job.tokenizer, .word = "NAME",
      .help = "byte, char, or bpe:N with N tokens" },
    { "preset", OPTION_PRESET, &preset, .presets = choice_presets, .help = "a set of options" },
    { .name = "Attention settings" },
    SETTINGS_HERE,
    { .name = "Synthetic tasks" },
    { "symbols", OPTION_INT, &job.shape.symbols, .max = TOKENS_MAX,
      .help = "size of the alphabet; 0: the task's default" },
    { "items", OPTION_INT, &job.shape.items, .max = 1 << 20,
      .help = "number of pairs, triggers, digits, ... in a row; 0: the task's default" },
    { "least", OPTION_INT, &job.shape.least, .max = 1 << 24,
      .help = "listops: minimum length of a row; 0: the task's default" },
    { "noise", OPTION_FLAG, &job.shape.noise, .help = "mqar: random tokens instead of blanks" },
    { "data", OPTION_TEXT, &job.data, .word = "FOLDER",
      .help = "listops: read the Long Range Arena's files" },
    { .name = "Model" },
    { "n-layer", OPTION_INT, &job.config.layers, .min = 1, .max = 1000, .help = "blocks" },
    { "n-head", OPTION_INT, &job.config.heads, .min = 1, .max = 1024, .help = "heads per block" },
    { "n-embd", OPTION_INT, &job.config.width, .min = 1, .max = 16384, .help = "width" },
    { "block-size", OPTION_INT, &job.config.context, .min = 1, .max = 1 << 24, .alias = "context",
      .help = "context, in tokens" },
    { "dropout", OPTION_REAL, &job.config.dropout, .max = 1, .below = true,
      .help = "dropout probability" },
    { "position", OPTION_CHOICE, &position, .choices = position_names,
      .help = "positions; default: rope if the attention supports it, else learned" },
    { "ffn", OPTION_CHOICE, &job.config.ffn, .choices = ffn_names,
      .help = "the feed-forward layer" },
    { "layer-norm", OPTION_CHOICE, &job.config.norm, .choices = norm_names,
      .help = "RMSNorm or LayerNorm" },
    { "tied", OPTION_FLAG, &tied, .help = "share the weights of embedding and output" },
    { "bias", OPTION_FLAG, &bias, .help = "biases in the dense layers" },
    { .name = "Training" },
    { "batch-size", OPTION_INT, &job.training.batch, .min = 1, .max = 1 << 20,
      .help = "sequences per batch" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 1 << 24,
      .help = "give every batch one of these lengths, and the same number of tokens" },
    { "gradient-accumulation-steps", OPTION_INT, &job.training.accumulation, .min = 1,
      .max = 1 << 20, .help = "batches per update" },
    { "max-iters", OPTION_INT, &job.training.steps, .min = 1, .max = 100000000,
      .alias = "steps,max-steps", .help = "updates" },
    { "max-time", OPTION_DURATION, &job.training.max_seconds,
      .help = "time limit, like 90s, 1h30m or 2d; 0: none; default without a CORPUS: 110s" },
    { "stop-at", OPTION_INT, &job.training.stop_at, .max = 100000000,
      .help = "stop after this update, like Ctrl-C, to --resume later; 0: never" },
    { "optimizer", OPTION_CHOICE, &optimiser, .choice = choice_optimiser, .help = "the optimizer" },
    { "schedule", OPTION_CHOICE, &schedule, .choices = schedule_names, .help = "of the rate" },
    { "learning-rate", OPTION_REAL, &job.training.schedule.rate, .alias = "lr",
      .help = "peak learning rate; default: the optimizer's" },
    { "min-lr", OPTION_REAL, &job.training.schedule.least,
      .help = "final learning rate; default: a tenth of the peak" },
    { "warmup-iters", OPTION_INT, &job.training.schedule.warmup, .max = 100000000,
      .help =
          "updates until the peak rate; default: at most a tenth of all, for muon a thirtieth" },
    { "lr-decay-iters", OPTION_INT, &job.training.schedule.decay, .max = 100000000,
      .help = "updates until the final rate; 0: --max-iters" },
    { "cooldown", OPTION_REAL, &job.training.schedule.cooldown, .max = 1,
      .help = "wsd: share of the updates in which the rate decays" },
    { "momentum", OPTION_REAL, &job.training.optimiser.hyper.momentum, .max = 1, .below = true,
      .help = "momentum, for optimizers that have one" },
    { "nesterov", OPTION_FLAG, &job.training.optimiser.hyper.nesterov,
      .help = "sgd: Nesterov's momentum" },
    { "weight-decay", OPTION_REAL, &job.training.optimiser.hyper.decay,
      .help = "weight decay of matrices" },
    { "beta1", OPTION_REAL, &job.training.optimiser.hyper.beta1, .max = 1, .below = true,
      .help = "decay of the first moment" },
    { "beta2", OPTION_REAL, &job.training.optimiser.hyper.beta2, .max = 1, .below = true,
      .help = "decay of the second moment" },
    { "grad-clip", OPTION_REAL, &job.training.clip,
      .help = "clip the gradient norm to this; 0: do not clip" },
    { "seed", OPTION_SEED, &job.seed, .help = "seed of weights, batches and sample" },
    { "threads", OPTION_INT, &job.threads, .max = 1024,
      .help = "threads; 0: all available processors" },
    { "recompute", OPTION_FLAG, &job.recompute,
      .help = "recompute blocks in the backward pass: same bits, less memory, more time" },
    { .name = "Evaluation and results" },
    { "val-file", OPTION_TEXT, &job.validation_path, .help = "validate on this file" },
    { "val-share", OPTION_REAL, &job.held_back, .max = 0.9, .above = true,
      .help = "or on this last part of the text" },
    { "eval-interval", OPTION_INT, &job.training.eval_interval, .max = 100000000,
      .help = "updates between evaluations; 0: a tenth of --max-iters" },
    { "eval-iters", OPTION_INT, &job.training.eval_iters, .max = 1 << 24,
      .help = "batches per evaluation; 0: all of the text" },
    { "log-interval", OPTION_INT, &job.training.log_interval, .min = 1, .max = 100000000,
      .help = "updates between log lines" },
    { "save-interval", OPTION_DURATION, &job.training.save_seconds,
      .help = "save a checkpoint at least this often; 0: only after evaluations" },
    { "resume", OPTION_FLAG, &resume, .help = "continue the run in --out-dir, to the same bits" },
    { "allow-corpus-change", OPTION_FLAG, &job.other_corpus,
      .help = "resume even if the text has changed" },
    { "out-dir", OPTION_TEXT, &job.out_dir, .help = "the run's folder" },
    { "tensorboard", OPTION_FLAG, &job.tensorboard, .help = "also write TensorBoard event files" },
    { "sample-tokens", OPTION_INT, &job.sample_tokens, .max = 1 << 24,
      .help = "length of the sample at the end" },
    { "temperature", OPTION_REAL, &job.temperature, .max = 100,
      .help = "temperature of the sample" },
    { 0 },
};

static Program program = {
    .usage = "./train [options] [CORPUS...]",
    .summary = "Trains a small transformer on text files, or, without any, on built-in stories.",
    .options = options,
};

/* Checks that the options fit the attention's layer. */
static void check_layer(const Attention *a)
{
    if (!layer_of(a)->feed_forward && options_given(&program, "ffn"))
        die(EXIT_USAGE, "--ffn does not apply to --attn %s, which has no feed-forward layer",
            a->name);
}

/*
 * Fills in defaults that depend on other options, for config.json: lengths in a mechanism's
 * settings become the context.
 */
static void resolve(const Attention *a)
{
    const int context = job.config.context > 1 ? job.config.context : 2;

    settings_fit_context(&job.config.set, a, CONTEXT_IF_ZERO, context);
    settings_fit_context(&job.config.set, a, CONTEXT_AT_LEAST, job.config.context);
    if (position < 0)
        position = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    if (layer_of(a)->one_head)
        job.config.heads = 1;
}

static void settle_model(void)
{
    Config *c = &job.config;

    c->attention = settings_of(&program, &mechanism, &c->set);
    check_layer(c->attention);
    resolve(c->attention);
    settings_put(&mechanism, &c->set);
    c->position = position;
    c->tied = tied, c->bias = bias;
    c->task = !job.made ? task : job.made->classes ? TASK_CLASSIFY : TASK_CAUSAL;
    c->vocab = job.made ? synthetic_vocab(job.made, job.shape) : 256; /* at least */
    c->classes = c->task != TASK_CLASSIFY ? 0 : job.made ? job.made->classes : job.files;
    config_check(c);
}

/* Batches of all lengths have the same number of tokens. */
static void settle_lengths(void)
{
    TrainOptions *o = &job.training;
    int64_t tokens = (int64_t)o->batch * job.config.context;

    if (lengths.n && !options_given(&program, "block-size") && !job.from) {
        job.config.context = 1;
        for (int i = 0; i < lengths.n; i++)
            if (lengths.at[i] > job.config.context)
                job.config.context = lengths.at[i];
        tokens = (int64_t)o->batch * job.config.context;
    }
    for (int i = 0; i < lengths.n; i++)
        if (lengths.at[i] > job.config.context || tokens % lengths.at[i] != 0)
            die(EXIT_USAGE,
                "--lengths %d: a batch has %lld tokens (%d times --block-size %d), which %s",
                lengths.at[i], (long long)tokens, o->batch, job.config.context,
                lengths.at[i] > job.config.context ? "is for shorter ones"
                                                   : "are not a whole number of such sequences");
    o->length = lengths.at;
    o->lengths = lengths.n;
}

static void settle_optimiser(void)
{
    const OptimiserKind *kind = optimisers[optimiser];
    Optimiser *o = &job.training.optimiser;
    Schedule *s = &job.training.schedule;

    for (const Option *option = program.options; option->name; option++) {
        Text takers = choice_optimisers_with(option->name);

        if (option->given && takers.n && !optimiser_takes(kind, option->name))
            die(EXIT_USAGE, "--%s does not apply to --optimizer %s; it is for %s", option->name,
                kind->name, takers.at);
    }
    o->kind = kind;
    optimiser_complete(kind, &o->hyper);
    if (isnan(s->rate))
        s->rate = kind->rate;
    if (!options_given(&program, "warmup-iters") && !job.from &&
        s->warmup > s->decay / kind->warmup)
        s->warmup = s->decay / kind->warmup;
}

static void settle_training(void)
{
    TrainOptions *o = &job.training;
    Schedule *s = &o->schedule;

    if (options_given(&program, "cooldown") && schedule != SCHEDULE_WSD)
        die(EXIT_USAGE, "--cooldown does not apply to --schedule %s", schedule_names[schedule]);
    s->kind = (ScheduleKind)schedule;
    if (s->decay == 0)
        s->decay = o->steps;
    settle_optimiser();
    if (isnan(s->least))
        s->least = s->rate / 10;
    if (o->eval_interval == 0)
        o->eval_interval = o->steps < 10 ? 1 : o->steps / 10;
    if (job.files == 0 && !job.made && !options_given(&program, "max-time"))
        o->max_seconds = STORY_SECONDS;
}

/* Refuses an option that is for another kind of task. */
static void refuse_option(const char *name, bool wrong)
{
    if (wrong && options_given(&program, name))
        die(EXIT_USAGE, "--%s does not apply to --task %s", name, choice_task(task).name);
}

/* The smallest length that fits the task's defaults. */
static void settle_row_length(void)
{
    job.config.context = job.shape.T = TASK_LENGTH;
    while (job.shape.T < 64 * TASK_LENGTH && synthetic_misfit(job.made, job.shape).n)
        job.config.context = job.shape.T *= 2;
}

static void settle_rows(void)
{
    const Synthetic *made = job.made;
    const unsigned takes = made ? made->takes : 0;

    refuse_option("symbols", !(takes & SYNTHETIC_SYMBOLS));
    refuse_option("items", !(takes & SYNTHETIC_ITEMS));
    refuse_option("least", !(takes & SYNTHETIC_LEAST));
    refuse_option("noise", !(takes & SYNTHETIC_NOISE));
    refuse_option("data", !made || strcmp(made->name, "listops") != 0);
    refuse_option("tokenizer", made);
    refuse_option("val-file", made);
    refuse_option("val-share", made);
    if (made && job.files > 0)
        die(EXIT_USAGE, "--task %s generates its data: it takes no text, but there is %s",
            made->name, text_cut(job.file[0], 60).at);
    if (made && !options_given(&program, "block-size") && lengths.n == 0 && !job.from)
        settle_row_length();
}

/* For all lengths. */
static void check_shape(void)
{
    for (int i = -1; job.made && i < lengths.n; i++) {
        job.shape.T = i < 0 ? job.config.context : lengths.at[i];
        Text why = synthetic_misfit(job.made, job.shape);

        if (why.n)
            die(EXIT_USAGE, "%s", why.at);
    }
    job.shape.T = job.config.context;
}

static void settle_text(void)
{
    const Text wrong = tokenizer_wrong(job.tokenizer);

    if (wrong.n)
        die(EXIT_USAGE, "--tokenizer %s %s", text_cut(job.tokenizer, 60).at, wrong.at);
    if (task == TASK_CLASSIFY && (job.files < 2 || job.files > CLASSES_MAX))
        die(EXIT_USAGE, "--task classify needs from 2 to %d files, not %d", CLASSES_MAX, job.files);
    if (task == TASK_CLASSIFY && job.validation_path)
        die(EXIT_USAGE, "--val-file does not apply to --task classify, where every file is a class "
                        "of which a part is held back");
}

/* Options of the run remain in force, unless they are given again. */
static void restore_options(void)
{
    for (const Option *o = program.options; o->name; o++) {
        const char *value =
            o->kind == OPTION_GROUP || job_passes(o->name) ? NULL : saved_option(job.from, o->name);

        if (value && !options_restore(&program, o->name, value))
            die(EXIT_DATA, "%.200s: its option %s was '%.60s', which this version does not support",
                job.from->path, o->name, value);
    }
}

static void restore_files(void)
{
    int n = 0;

    while (saved_file(job.from, n))
        n++;
    if (job.files > 0 || n == 0)
        return;
    const char **file = xmalloc((size_t)n * sizeof *file);
    for (job.files = 0; job.files < n; job.files++)
        file[job.files] = saved_file(job.from, job.files);
    job.file = file; /* valid as long as the program */
}

static void check_resumed(void)
{
    Config c = job.config;

    c.vocab = job.from->model.config.vocab; /* given by the tokenizer */
    Text difference = config_difference(&job.from->model.config, &c);
    if (difference.n)
        die(EXIT_USAGE, "a resumed run keeps its model: %s", difference.at);
    const char *before = saved_option(job.from, "optimizer");
    if (before && strcmp(before, optimisers[optimiser]->name) != 0)
        die(EXIT_USAGE, "a resumed run keeps its optimizer: %s, not %s", before,
            optimisers[optimiser]->name);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The run's folder is --out-dir or the first argument. */
static void read_saved(void)
{
    if (!job.out_dir && job.files > 0 && is_folder(job.file[0])) {
        job.out_dir = *job.file++;
        job.files--;
    }
    if (!job.out_dir)
        die(EXIT_USAGE, "--resume needs a run: give its folder, --out-dir FOLDER");
    job.from = saved_read(job.out_dir, false);
    restore_options();
    restore_files();
}

Job job_read(int argc, char **argv)
{
    job.program = &program;
    job.command = argc > 0 ? argv[0] : "./train";
    settings_add(&program, &mechanism, true);
    job.files = options_parse(&program, argc, argv);
    job.file = (const char *const *)argv;
    if (resume)
        read_saved();
    job.made = task >= TASKS_OF_TEXT ? synthetics[task - TASKS_OF_TEXT] : NULL;
    settle_text();
    settle_rows();
    settle_lengths();
    check_shape();
    settle_model();
    settle_training();
    if (job.threads == 0)
        job.threads = processors_available();
    if (job.from)
        check_resumed();
    job.task = choice_task(task).name;
    job.preset = preset >= 0;
    job_check_memory(&job);
    return job;
}
