/* The options of a run that is resumed, or whose weights a new one starts with. */
#include "model/mechanisms.h"
#include "tools/train/job.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/model_options.h"
#include "training/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the option `of` is given again, and `name` was that, divided by a number, by default. */
static bool is_part_of(const Job *job, const char *name, const char *of, double divisor)
{
    const char *whole = saved_option(job->from, of), *part = saved_option(job->from, name);

    return options_given(job->program, of) && whole && part &&
           strtod(part, NULL) == strtod(whole, NULL) / divisor;
}

/* Whether the default of an option follows from one that is given again, so that the schedule of a
 * run that is made longer ends with it. */
static bool follows(const Job *job, const char *name)
{
    if (strcmp(name, "min-lr") == 0)
        return is_part_of(job, name, "learning-rate", 10);
    return strcmp(name, "lr-decay-iters") == 0 && is_part_of(job, name, "max-iters", 1);
}

/* Its best weights are of no use without the optimizer. */
static void check_checkpoint(const char *folder)
{
    const Text best = text_format("%.900s/" SAVED_BEST, folder);

    if (!folder_has_checkpoint(folder) && access(best.at, F_OK) == 0)
        die(EXIT_IO,
            "%.200s cannot be resumed, as it has only its best weights and no optimizer; --init "
            "%.200s starts a new run with them",
            folder, best.at);
}

/* Options of the run remain in force, unless they are given again. */
static void restore_options(const Job *job)
{
    for (const Option *o = job->program->options; o->name; o++) {
        const char *value = o->kind == OPTION_GROUP || job_passes(o->name) || follows(job, o->name)
                                ? NULL
                                : saved_option(job->from, o->name);

        if (value && !options_restore(job->program, o->name, value))
            die(EXIT_DATA, "%.200s: its option %s was '%.60s', which this version does not support",
                job->from->path, o->name, value);
    }
}

/* Not the options that a checkpoint lacks, as they change no number, but that stay in force. */
static bool is_elsewhere(const char *name, const Json *value, const Json *config)
{
    static const char *const missing[] = { "init", "recompute", "save-interval", NULL };

    (void)value, (void)config;
    return !text_is_one(name, missing);
}

/* A run can be resumed without its config.json. */
static void restore_from_config(const Job *job)
{
    static Arena *mem; /* of values, as long as the program */
    Text why = { 0 };

    mem = arena_new();
    const char *path = arena_format(mem, "%s/config.json", job->out_dir);
    const Json *config = access(path, R_OK) == 0 ? job_config(mem, path, &why) : NULL;
    if (!config || config->kind != JSON_OBJECT)
        return;
    options_config(job->program, config, path, is_elsewhere, false, mem);
    const char *preset = json_string(config, "preset"); /* the name: its options are restored */
    if (preset)
        options_restore(job->program, "preset", preset);
}

static void restore_files(Job *job)
{
    const char *validation = saved_option(job->from, "val-file");

    if (validation && strcmp(validation, "-") != 0 && !options_given(job->program, "val-file") &&
        access(validation, R_OK) != 0)
        die(EXIT_IO, "cannot open '%.200s': %s; if it has moved, --val-file says where it is",
            validation, strerror(errno));
    if (job->files == 0 && saved_file(job->from, 0))
        job->file = saved_files(job->from, &job->files); /* valid as long as the program */
}

/* A run only stops at updates that are still to come. */
static void check_stop(const Job *job)
{
    const int at = job->training.stop_at, last = job->training.steps;
    const int step = job->from->progress.step;

    if (at > 0 && at <= step)
        die(EXIT_USAGE, "--stop-at %d: the run is at update %d already", at, step);
    if (last < step)
        die(EXIT_USAGE, "--max-iters %d: the run is at update %d already", last, step);
}

/* What the run learns is not in the configuration of its model. */
static void check_lesson(const Job *job)
{
    const char *task = saved_task(job->from), *share = saved_option(job->from, "val-share");

    if (strcmp(task, job->task) != 0)
        die(EXIT_USAGE, "a resumed run keeps its task: %s, not %s", task, job->task);
    job_check_tokenizer(job);
    if (share && strtod(share, NULL) != job->held_back && (job->labelled || !job->other_corpus))
        die(EXIT_USAGE,
            "a resumed run keeps --val-share %s: it would validate on texts it was trained on",
            share);
}

static void check_kept(const Job *job, const char *name, const char *words, const char *why)
{
    const char *before = saved_option(job->from, name);

    if (before && strcmp(before, options_value(options_find(job->program, name)).at) != 0)
        die(EXIT_USAGE, "a resumed run%s keeps --%s %s: %s", words, name, before, why);
}

/* The best loss so far is that of the task as it was. */
static void check_task(const Job *job)
{
    static const char *const name[] = { "items",      "least",      "noise",
                                        "difficulty", "mask-share", "whole-word" };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        check_kept(job, name[i], "", "its losses would be of two tasks");
}

/* The place in an epoch is a number of batches. */
static void check_epochs(const Job *job)
{
    static const char *const name[] = { "batch-size", "gradient-accumulation-steps" };

    for (int i = 0; job->shuffle && i < 2; i++)
        check_kept(job, name[i], " with --shuffle", "it counts batches of one size");
}

void job_check_restored(const Job *job)
{
    const char *before = saved_option(job->from, "optimizer");
    const char *now = job->training.optimiser.kind->name;
    Config c = job->config;

    check_lesson(job);
    check_task(job);
    if (!job->made)
        c.vocab = job->from->model.config.vocab; /* given by the tokenizer */
    if (job->labelled)
        c.classes = job->from->model.config.classes; /* and by the labels */
    const Text difference = model_difference(&job->from->model.config, &c);
    if (difference.n)
        die(EXIT_USAGE, "a resumed run keeps its model: %s", difference.at);
    const char *frozen = saved_option(job->from, "freeze");
    const Text freezes = options_value(options_find(job->program, "freeze"));
    if (strcmp(frozen ? frozen : "", freezes.at) != 0)
        die(EXIT_USAGE, "a resumed run keeps --freeze %s", frozen ? frozen : "off");
    const char *average = saved_option(job->from, "ema");
    const bool averaged = average && strtod(average, NULL) > 0;
    if (averaged != (job->training.optimiser.hyper.ema > 0))
        die(EXIT_USAGE, "a resumed run keeps its average: %s --ema",
            averaged ? "it needs" : "it has no");
    if (before && strcmp(before, now) != 0)
        die(EXIT_USAGE, "a resumed run keeps its optimizer: %s, not %s", before, now);
    check_epochs(job);
    check_stop(job);
}

/* The first argument with a run, or else the first of all, if it is a folder and there is no
 * --out-dir; -1: none. */
static int run_argument(const Job *job)
{
    for (int i = 0; i < job->files; i++)
        if (folder_has_run(job->file[i]))
            return i;
    return job->files > 0 && !job->out_dir && file_is_folder(job->file[0]) ? 0 : -1;
}

/* Takes it from the arguments; NULL: there is none. */
static const char *take_run(Job *job, char **argument)
{
    const int run = run_argument(job);

    if (run < 0)
        return NULL;
    char *folder = argument[run];
    for (int i = run; i > 0; i--)
        argument[i] = argument[i - 1];
    argument[0] = folder;
    job->file++, job->files--;
    return folder;
}

/* The run's folder is --out-dir or an argument. */
void job_restore(Job *job, char **argument)
{
    const char *named = take_run(job, argument);

    if (named && job->out_dir && !file_same(named, job->out_dir))
        die(EXIT_USAGE,
            "%.200s and --out-dir %.200s: a run continues in its own folder; copy it first to keep "
            "it as it is",
            named, job->out_dir);
    if (named)
        job->out_dir = named;
    if (!job->out_dir && job->files > 0 && access(job->file[0], F_OK) == 0)
        die(EXIT_USAGE,
            "--resume %.200s: this is a file; a run continues in its folder, which has a " SAVED_LAST,
            job->file[0]);
    if (!job->out_dir && job->files > 0)
        die(EXIT_USAGE, "--resume %.200s: there is no such folder", job->file[0]);
    if (!job->out_dir)
        die(EXIT_USAGE, "--resume needs the folder of a run: ./train --resume FOLDER");
    if (!job->dry_run && folder_has_run(job->out_dir))
        folder_lock(job->out_dir);
    check_checkpoint(job->out_dir);
    job->from = saved_read(job->out_dir, false);
    if (saved_option(job->from, "imported"))
        die(EXIT_USAGE,
            "%.200s cannot be resumed: it was imported, and has no optimizer; --init "
            "starts a new run with its weights",
            job->from->path);
    restore_options(job);
    restore_from_config(job);
    restore_files(job);
}

/* An empty set has no words that its option takes; it is the default. `replaced`: the mechanism in
 * whose place there is another, or NULL. */
static void restore_option(const Job *job, const Setting *key, int value, const Attention *replaced)
{
    const KeyOption o = model_option_of(key, value);
    const char *words = arena_string(job->initial->mem, o.value.at);

    if (options_set(job->program, o.name.at)) /* by --config */
        return;
    if (replaced && job_was_default(replaced, o.name.at, words))
        return;
    if (*words && !options_restore(job->program, o.name.at, words))
        die(EXIT_DATA, "%s: --%s cannot be %s", job->initial->path, o.name.at, words);
}

void job_begin(Job *job, const char *path)
{
    Config mine = job->config, *its;
    const Setting *key;

    job->initial = saved_read(path, false);
    its = &job->initial->model.config;
    const bool replaces = !its->listed && job_replaces(job, config_mechanisms(its).at);
    if (!options_set(job->program, "attn"))
        options_restore(job->program, "attn",
                        arena_string(job->initial->mem, config_mechanisms(its).at));
    const Text why =
        config_read_mechanisms(&mine, options_value(options_find(job->program, "attn")).at);
    if (why.n)
        die(EXIT_USAGE, "--attn: %s", why.at);
    for (int i = 0; (key = config_key(i)); i++)
        if (config_has(&mine, i) && config_has(its, i) && strcmp(key->name, "task") != 0 &&
            model_has_option(its, config_value(its, i)))
            restore_option(job, key, *config_value(its, i), replaces ? its->attention : NULL);
    if (job->initial->tokenizer && !options_set(job->program, "tokenizer"))
        options_restore(job->program, "tokenizer", tokenizer_words(job->initial->tokenizer));
}
