/*
 * The options of a config.json: that of a run, to do as it did, or one that was written by hand.
 *
 *     a run's    facts about the run and its folder are left out; what follows from other options,
 *                or from the mechanism, does so again, where the command line changes them
 *     by hand    everything in it is an option, and "texts" are names of files
 */
#include "tools/common/follows.h"
#include "tools/train/choices.h"
#include "tools/train/job.h"

#include "ops/base/error.h"
#include "ops/base/file.h"

#include <stdlib.h>
#include <string.h>

/* That of a run records the command and the version. */
static bool is_of_run(const Json *config)
{
    return json_find(config, "command") || json_find(config, "version");
}

/* The run's mechanism, if --attn names another, or --task a task that may have other defaults. */
static const Attention *replaced;

static bool was_default(const char *name, const Json *value)
{
    const char *words = value->kind == JSON_STRING ? value->string
                        : value->kind != JSON_BOOL ? NULL
                        : value->number > 0        ? "on"
                                                   : "off";
    const Text number = value->kind == JSON_NUMBER ? text_number(value->number) : (Text){ 0 };

    words = number.n ? number.at : words;
    return words && job_was_default(replaced, name, words);
}

static bool is_skipped(const char *name, const Json *value, const Json *config)
{
    static const char *const kept[] = { "init", "max-time", "recompute", "save-interval", NULL };

    if (options_fact(name) || !is_of_run(config))
        return options_fact(name);
    if (value->kind == JSON_NUMBER && value->number == follows_from(config, name))
        return true;
    if (replaced && was_default(name, value))
        return true;
    if (strcmp(name, "pattern-seed") == 0 && options_follow_seed(config, "pattern_seed"))
        return true;
    return job_passes(name) && !text_is_one(name, kept);
}

/* The name of a text: by itself, or with its size and hash. */
static const char *name_of(const Json *text)
{
    return text->kind == JSON_STRING ? text->string : json_string(text, "file");
}

static const char **names_of(const Json *texts, int n, const char *path, Arena *mem)
{
    const char **file = arena_take(mem, (size_t)n * sizeof *file);
    const Json *text = texts->kind == JSON_ARRAY ? texts->first : texts;

    for (int i = 0; i < n; i++, text = text->next)
        if (!(file[i] = name_of(text)))
            die(EXIT_DATA, "%.120s: texts must be a list of files, such as [\"corpus.txt\"]", path);
    return file;
}

/* Whether the command line names another task than that of the configuration. */
static bool has_other_task(const Job *job, const Json *config)
{
    const char *its = json_string(config, "task");

    return its && options_given(job->program, "task") &&
           strcmp(options_value(options_find(job->program, "task")).at, its) != 0;
}

/* Whether the command line asks for data that are not texts. */
static bool takes_no_texts(const Job *job)
{
    const Option *task = options_find(job->program, "task");

    return options_given(job->program, "labels") ||
           (task->given && choice_rows(*(const int *)task->at));
}

/* The files that were read; in a run's, the last one is that of val_file. */
static void configure_files(Job *job, const Json *config, const char *path, Arena *mem)
{
    const Json *texts = json_find(config, "texts");
    const bool has_last = is_of_run(config) && json_string(config, "val_file");
    const bool is_list = texts && texts->kind == JSON_ARRAY;
    const int n = is_list ? texts->count - has_last : texts && texts->kind != JSON_NULL;

    if (n <= 0)
        return;
    job->file = names_of(texts, n, path, mem);
    job->files = n;
}

const Json *job_config(Arena *mem, const char *path, Text *why)
{
    size_t bytes;
    char *text = (char *)file_read(path, &bytes);
    const Json *config = json_read(mem, text, bytes, why);

    free(text);
    return config;
}

static const char *path_of(Arena *mem, const char *path)
{
    return file_is_folder(path) ? arena_format(mem, "%s/config.json", path) : path;
}

static const Json *open_config(Arena *mem, const char *path)
{
    Text why = { 0 };
    const Json *config = job_config(mem, path, &why);

    if (!config || config->kind != JSON_OBJECT)
        die(EXIT_DATA, "%s %s; --config takes the config.json of a run", text_cut(path, 120).at,
            config ? "is not a JSON object" : why.at);
    if (!is_of_run(config) && json_string(config, "config"))
        die(EXIT_DATA, "%.120s: a configuration cannot name another one", path);
    return config;
}

/* Of values, which are kept as long as the program. */
static Arena *values(void)
{
    static Arena *mem;

    return mem = mem ? mem : arena_new();
}

const char *job_config_folder(const char *path)
{
    Arena *mem = values();
    const Json *config = open_config(mem, path_of(mem, path));

    return is_of_run(config) ? NULL : json_string(config, "out_dir");
}

void job_configure(Job *job, const char *path)
{
    Arena *mem = values();

    path = path_of(mem, path);
    const Json *config = open_config(mem, path);
    const char *attn = is_of_run(config) ? json_string(config, "attn") : NULL;
    replaced = attn && (job_replaces(job, attn) || has_other_task(job, config))
                   ? attention_find(attn)
                   : NULL;
    job->repeats = is_of_run(config);
    const bool takes_texts = job->files == 0 && !takes_no_texts(job);
    options_config(job->program, config, path, is_skipped, !job->repeats, mem);
    job->its_texts = json_find(config, "texts");
    if (takes_texts && !(job->repeats && (json_string(config, "labels") || job->data)))
        configure_files(job, config, path, mem);
}

/* Whether a text has that name, but had another hash when the configuration was written. */
static bool has_changed(const Json *was, const CorpusFile *is)
{
    const char *name = json_string(was, "file"), *hash = json_string(was, "hash");

    return name && hash && strcmp(name, is->path) == 0 && strtoull(hash, NULL, 16) != is->hash;
}

void job_compare_texts(const Job *job, const Corpus *corpus, int n)
{
    for (const Json *j = job->its_texts ? job->its_texts->first : NULL; j; j = j->next)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < corpus[i].files; k++)
                if (has_changed(j, &corpus[i].file[k]))
                    warn("%s has changed since the run of --config: results will differ",
                         text_cut(corpus[i].file[k].path, 120).at);
}
