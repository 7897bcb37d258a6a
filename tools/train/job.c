#include "tools/train/job.h"

#include "data/cifar.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/processors.h"
#include "tools/common/follows.h"
#include "tools/common/model_options.h"
#include "tools/train/choices.h"
#include "training/folder.h"

#include <string.h>

enum { TASK_LENGTH = 64 };

static int preset = -1, task, optimiser, schedule;
static ModelOptions model = MODEL_OPTIONS_DEFAULT;
static bool dry_run;
static Start start;
static Job job = {
    .config = { CONFIG_DEFAULT },
    .training = {
        .batch = 8,
        .accumulation = 1,
        .steps = 1000,
        .schedule = { .rate = (double)NAN, .least = (double)NAN, .warmup = WARMUP, .cooldown = 0.2 },
        .optimiser.hyper = HYPER_DEFAULT,
        .clip = 1,
        .eval_iters = 20,
        .log_interval = 10,
        .save_seconds = 300,
    },
    .tokenizer = "byte",
    .seed = 1337,
    .sample_tokens = 400,
    .story_bytes = STORIES_BYTES,
    .held_back = 0.1,
    .mask_share = MASKING_SHARE,
    .temperature = 0.8,
};

static Option options[] = {
    { .name = "Main options" },
    { "attn", OPTION_SEQUENCE, &model.mechanism.layers, .choice = settings_attention,
      .help = "the attention mechanism; with several, layers alternate between them, each with "
              "its settings after ':', as in retnet,softmax:window=64" },
    { "task", OPTION_CHOICE, &task, .choice = choice_task, .help = "what to learn" },
    { "tokenizer", OPTION_TEXT, &job.tokenizer, .word = "NAME",
      .help = "byte, char, or bpe:N with N tokens; or a run, or tokenizer.json, to take it from" },
    { "mask-share", OPTION_REAL, &job.mask_share, .max = 1, .above = true, .below = true,
      .help = "mlm: fraction of tokens to predict" },
    { "whole-word", OPTION_FLAG, &job.whole_word,
      .help = "mlm: mask whole words, runs of letters and digits" },
    { "labels", OPTION_TEXT, &job.labels, .word = "FILE",
      .help = "classify: labelled texts, one per row: a label, a tab and a text (or two), or CSV" },
    { "preset", OPTION_PRESET, &preset, .presets = choice_presets, .alias = "suite",
      .help = "a set of options" },
    { "minutes", OPTION_REAL, &start.minutes, .max = 1e6,
      .help = "train for this long; sizes and updates not given are chosen to suit the text and "
              "the machine; 0: off" },
    { "config", OPTION_TEXT, &start.config, .word = "FILE",
      .help = "take options and texts from a run's config.json" },
    { "init", OPTION_TEXT, &start.init, .word = "RUN",
      .help = "start from a run's weights, with its model and tokenizer options" },
    { "dry-run", OPTION_FLAG, &dry_run,
      .help = "print what would be trained and how long it would take; write nothing" },
    { .name = "Attention settings" },
    SETTINGS_HERE,
    { .name = "Synthetic tasks" },
    { "symbols", OPTION_INT, &job.shape.symbols, .max = TOKENS_MAX,
      .help = "size of the alphabet; 0: the task's default" },
    { "items", OPTION_INT, &job.shape.items, .max = 1 << 20,
      .help = "number of pairs, triggers, digits, ... in a row; 0: the task's default" },
    { "least", OPTION_INT, &job.shape.least, .max = 1 << 24,
      .help = "listops: rows are longer than this; 0: the task's default" },
    { "noise", OPTION_FLAG, &job.shape.noise, .help = "mqar: random tokens instead of blanks" },
    { "difficulty", OPTION_CHOICE, &job.shape.difficulty, .choices = synthetic_difficulties,
      .help = "pathfinder: length of the paths and number of distractors" },
    { "data", OPTION_TEXT, &job.data, .word = "FOLDER",
      .help = "folder with the Long Range Arena's files for listops, or CIFAR-10's for image" },
    { .name = "Model" },
    MODEL_OPTIONS(model, job.config),
    { .name = "Training" },
    { "batch-size", OPTION_INT, &job.training.batch, .min = 1, .max = 1 << 20,
      .help = "sequences per batch" },
    { "lengths", OPTION_LIST, &job.lengths, .min = 1, .max = 1 << 24,
      .help = "draw the length of each batch from these; tokens per batch stay the same" },
    { "length-stages", OPTION_LIST, &job.length_stages, .min = 1, .max = 1 << 24,
      .help = "lengths of batches in turn, each for an equal part of the updates; tokens per batch "
              "stay the same" },
    { "batch-stages", OPTION_LIST, &job.batch_stages, .min = 1, .max = 1 << 20,
      .help = "batch sizes in turn, for equal parts of the updates; --batch-size is the largest" },
    { "shuffle", OPTION_FLAG, &job.shuffle,
      .help = "read each window once per epoch, in random order, instead of random windows" },
    { "gradient-accumulation-steps", OPTION_INT, &job.training.accumulation, .min = 1,
      .max = 1 << 20, .help = "batches per update, whose mean losses count equally" },
    { "max-iters", OPTION_INT, &job.training.steps, .min = 1, .max = 100000000,
      .alias = "steps,max-steps", .help = "updates" },
    { "max-time", OPTION_DURATION, &job.training.max_seconds,
      .help =
          "time limit, such as 90s, 1h30m or 2d; 0: none; default for the built-in stories: 110s" },
    { "stop-at", OPTION_INT, &job.training.stop_at, .max = 100000000,
      .help = "stop after this update, as with Ctrl-C; --resume continues; 0: never" },
    { "optimizer", OPTION_CHOICE, &optimiser, .choice = choice_optimiser, .help = "the optimizer" },
    { "schedule", OPTION_CHOICE, &schedule, .choices = schedule_names,
      .help = "learning rate schedule" },
    { "learning-rate", OPTION_REAL, &job.training.schedule.rate, .alias = "lr",
      .help = "peak learning rate; default: the optimizer's" },
    { "min-lr", OPTION_REAL, &job.training.schedule.least,
      .help = "final learning rate; default: a tenth of the peak" },
    { "warmup-iters", OPTION_INT, &job.training.schedule.warmup, .max = 100000000,
      .help = "updates until the peak rate; default: 100, but at most a tenth of "
              "--lr-decay-iters (muon: a thirtieth)" },
    { "lr-decay-iters", OPTION_INT, &job.training.schedule.decay, .max = 100000000,
      .help = "updates until the final rate; 0: --max-iters" },
    { "cooldown", OPTION_REAL, &job.training.schedule.cooldown, .max = 1,
      .help = "wsd: fraction of the updates in which the rate decays" },
    OPTIMISER_OPTIONS(job.training.optimiser.hyper),
    { "grad-clip", OPTION_REAL, &job.training.clip,
      .help = "clip the gradient norm to this; 0: do not clip" },
    { "skip-spikes", OPTION_REAL, &job.training.spike,
      .help = "skip updates whose loss or gradient norm is more than this many standard deviations "
              "above its mean over the last 128; 0: none" },
    FREEZE_OPTION(job.frozen),
    { "seed", OPTION_SEED, &job.seed, .help = "seed for weights, batches and the sample" },
    THREADS_OPTION(job.threads),
    { "precision", OPTION_CHOICE, &job.precision, .choices = precision_names,
      .help = "format of the operands in products with weights; sums and all else are float. "
              "bf16-tiles, in the order of AMX, is for processors that have it" },
    { "recompute", OPTION_FLAG, &job.recompute,
      .help = "recompute blocks in the backward pass: less memory, more time, identical results" },
    { .name = "Evaluation and results" },
    { "val-file", OPTION_TEXT, &job.validation_path, .word = "FILE",
      .help = "validate on this file" },
    { "labels-val", OPTION_TEXT, &job.labels_val, .word = "FILE",
      .help = "validate on these labelled texts" },
    { "val-share", OPTION_REAL, &job.held_back, .max = 0.9, .above = true,
      .help = "fraction of the text, at its end, to validate on" },
    { "story-bytes", OPTION_INT, &job.story_bytes, .min = 1, .max = 1 << 30,
      .help = "built-in stories: bytes to train on; another tenth is for validation" },
    { "eval-interval", OPTION_INT, &job.training.eval_interval, .max = 100000000,
      .help = "updates between evaluations; 0: a tenth of --max-iters" },
    { "eval-iters", OPTION_INT, &job.training.eval_iters, .max = 1 << 24,
      .help = "batches per evaluation; 0: the whole validation text" },
    { "log-interval", OPTION_INT, &job.training.log_interval, .min = 1, .max = 100000000,
      .help = "updates between log lines" },
    { "save-interval", OPTION_DURATION, &job.training.save_seconds,
      .help = "save a checkpoint at least this often; 0: only after evaluations" },
    { "resume", OPTION_FLAG, &start.resume,
      .help = "continue a run as if never interrupted: --resume RUN, or the one in --out-dir" },
    { "auto-resume", OPTION_FLAG, &start.automatic,
      .help = "resume the run in --out-dir if it has a checkpoint, else start it" },
    { "allow-corpus-change", OPTION_FLAG, &job.other_corpus,
      .help = "resume even if the text has changed" },
    { "out-dir", OPTION_TEXT, &job.out_dir, .word = "FOLDER", .alias = "out,output,output-dir",
      .help = "the run's folder" },
    { "overwrite", OPTION_FLAG, &start.overwrite, .help = "replace an existing run in --out-dir" },
    { "tensorboard", OPTION_FLAG, &job.tensorboard, .help = "also write TensorBoard event files" },
    { "sample-tokens", OPTION_INT, &job.sample_tokens, .max = 1 << 24,
      .help = "length of the sample at the end" },
    { "temperature", OPTION_REAL, &job.temperature, .max = 100,
      .help = "temperature of the sample" },
    { 0 },
};

static Program program = {
    .usage = "./train [options] [CORPUS...]",
    .summary = "Trains a small transformer on text files, or on built-in stories if none is given.",
    .options = options,
};

static void settle_model(void)
{
    Config *c = &job.config;

    model.seed = job.seed;
    model_options_settle(&program, &model, job.from ? &job.from->model.config : NULL, c);
    c->vocab = job.made ? synthetic_vocab(job.made, job.shape) : 256; /* at least */
    c->classes = job.made                ? job.made->classes
                 : task == TASK_CLASSIFY ? (job.labelled ? 2 /* at least */ : job.files)
                                         : 0;
    c->from_last = job.made && job.made->from_last;
    config_check(c);
}

static void settle_optimiser(void)
{
    const OptimiserKind *kind = optimisers[optimiser];
    Schedule *s = &job.training.schedule;

    optimiser_options_settle(&program, kind, &job.training.optimiser);
    if (isnan(s->rate))
        s->rate = kind->rate;
    if (!options_set(&program, "warmup-iters") && !job.from)
        s->warmup = (int)follows_warmup(kind, s->decay);
}

static void settle_training(void)
{
    TrainOptions *o = &job.training;
    Schedule *s = &o->schedule;

    s->kind = (ScheduleKind)schedule;
    job_check_unused(&job);
    s->decay = s->decay ? s->decay : o->steps;
    settle_optimiser();
    if (isnan(s->least))
        s->least = s->rate / 10;
    if (o->eval_interval == 0)
        o->eval_interval = (int)follows_eval_interval(o->steps);
    if (job.files == 0 && !job.made && !job.labels && !options_set(&program, "max-time"))
        o->max_seconds = STORY_SECONDS;
}

/* Refuses an option that applies only to other kinds of task. */
static void refuse_option(const char *name, bool wrong)
{
    if (wrong && options_given(&program, name))
        die(EXIT_USAGE, "--%s does not apply to --task %s", name, choice_task(task).name);
}

/* The task's length, or the smallest that fits its defaults. */
static void settle_row_length(void)
{
    job.config.context = job.shape.T = job.made->length ? job.made->length : TASK_LENGTH;
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
    refuse_option("difficulty", !(takes & SYNTHETIC_DIFFICULTY));
    refuse_option("data", made != &synthetic_listops && made != &cifar_task);
    refuse_option("tokenizer", made);
    if (options_given(&program, "labels") && task != TASK_CLASSIFY)
        die(EXIT_USAGE, "--labels FILE needs --task classify");
    refuse_option("labels-val", task != TASK_CLASSIFY);
    refuse_option("shuffle", made || task == TASK_CLASSIFY);
    refuse_option("val-file", made);
    refuse_option("val-share", made);
    refuse_option("story-bytes", made || task == TASK_CLASSIFY);
    if (made == &cifar_task && !job.data == !job.files)
        die(EXIT_USAGE, "--task image takes %s",
            job.data ? "--data or files, not both"
                     : "the binary files of CIFAR-10: --data FOLDER, or data_batch_1.bin ...");
    if (made && made != &cifar_task && job.files > 0)
        die(EXIT_USAGE, "--task %s generates its own data and takes no text, but got %s",
            made->name, text_cut(job.file[0], 60).at);
    if (made && !options_set(&program, "block-size") && job.lengths.n == 0 &&
        job.length_stages.n == 0 && !job.from)
        settle_row_length();
}

static void settle_text(void)
{
    refuse_option("mask-share", task != TASK_MLM);
    refuse_option("whole-word", task != TASK_MLM);
    job_settle_tokenizer(&job);
    if (task == TASK_CLASSIFY)
        job_settle_classes(&job);
    else if (job.files > 0 && options_given(&program, "story-bytes"))
        die(EXIT_USAGE, "--story-bytes is for the built-in stories, but a text is given");
    job_check_validation(&job);
}

/* A checkpoint with half of an option could not be read. */
static void check_lengths(void)
{
    for (const Option *o = program.options; o->name; o++)
        if (o->kind != OPTION_GROUP && !job_passes(o->name) &&
            options_value(o).n >= sizeof((Text *)0)->at - 1)
            die(EXIT_USAGE,
                "--%s is too long to be saved with the run: the limit is %zu characters", o->name,
                sizeof((Text *)0)->at - 2);
}

static void check_folder(void)
{
    job_check_texts(&job);
    if (!job.from && job.out_dir)
        folder_check(job.out_dir, start.overwrite);
}

/* Checks and locks the run's folder before anything is written to it. */
static void settle_folder(void)
{
    check_folder();
    if (!job.from && job.out_dir && !dry_run && folder_has_run(job.out_dir))
        folder_lock(job.out_dir);
}

/* What follows from other options. */
static void settle(void)
{
    job_shape(&job);
    settle_model();
    settle_training();
    check_lengths();
}

Job job_sized(PlanSize s)
{
    const Job asked = job;
    const ModelOptions said = model;

    job.config.layers = s.layers, job.config.heads = s.heads, job.config.width = s.width;
    job.config.context = s.context, job.training.batch = s.batch;
    settle();
    const Job sized = job;
    job = asked, model = said;
    return sized;
}

static void settle_plan(void)
{
    const OptionSequence *attn = &model.mechanism.layers;

    refuse_option("minutes", job.made || task == TASK_CLASSIFY);
    if (start.minutes == 0 || job.made)
        return;
    check_folder();
    job_plan(&job, start.minutes, attentions[attn->at[0]], attn->n);
}

/* Copies the arguments, which options_parse() reorders. */
static void keep_words(int argc, char **argv)
{
    static char name[] = "./train", *alone[] = { name };

    job.word = argc > 0 ? xmalloc((size_t)argc * sizeof *job.word) : alone;
    job.words = argc > 0 ? argc : 1;
    for (int i = 0; i < argc; i++)
        job.word[i] = argv[i];
}

/* Whether all options of a preset have its values, by whatever way; but for how long it trains. */
static bool has_values_of(const char *name)
{
    const Preset *p = choice_presets;

    while (strcmp(p->name, name) != 0)
        p++;
    for (int i = 0; p->values[i][0]; i++)
        if (strcmp(p->values[i][0], "max-iters") != 0 &&
            strcmp(options_value(options_find(&program, p->values[i][0])).at, p->values[i][1]) != 0)
            return false;
    return true;
}

Job job_read(int argc, char **argv)
{
    job.program = &program;
    keep_words(argc, argv);
    job.started = machine_time();
    model_options_add(&program, &model);
    job.files = options_parse(&program, argc, argv);
    job.file = (const char *const *)argv;
    job_start(&job, &start);
    if (start.config && !start.resume)
        job_configure(&job, start.config);
    job_check_start(&job, &start);
    job.dry_run = dry_run;
    if (start.resume)
        job_restore(&job, argv);
    job.made = choice_rows(task);
    job.config.task = !job.made ? task : job.made->classes ? TASK_CLASSIFY : TASK_CAUSAL;
    if (start.init && !start.resume)
        job_begin(&job, start.init);
    settle_text();
    settle_rows();
    settle_plan();
    settle();
    job_check_sizes(&job);
    job.threads = job.threads ? job.threads : processors_available();
    job.task = choice_task(task).name;
    if (job.from)
        job_check_restored(&job);
    job.nanogpt = has_values_of("nanogpt-cpu");
    job.overwrite = start.overwrite;
    job_check_memory(&job);
    settle_folder();
    return job;
}
