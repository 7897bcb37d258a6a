#include "training/saved.h"

#include "ops/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The beginning of any message about a checkpoint. */
#define PATH "%.200s"
#define OPTION "attnc.option."

enum { PROGRESS = 5, TEXT_BYTES = 40, KEY_BYTES = 128 };

/* The counts of a progress, with their keys in the file. */
typedef struct {
    const char *key;
    int *at;
} Count;

static void counts(Progress *p, Count count[PROGRESS])
{
    count[0] = (Count){ "attnc.step", &p->step };
    count[1] = (Count){ "attnc.evaluated", &p->evaluated };
    count[2] = (Count){ "attnc.bad", &p->bad };
    count[3] = (Count){ "attnc.best_step", &p->best_step };
    count[4] = (Count){ "attnc.updates", &p->updates };
}

/* What is saved with the model. */
typedef struct {
    Arena *mem;
    Meta *meta;
    Entry *entry;
    int metas, entries;
} Parts;

static void put(Parts *parts, const char *key, const char *value)
{
    parts->meta[parts->metas++] = (Meta){ key, value };
}

static char *room(Parts *parts, size_t bytes)
{
    return arena_take(parts->mem, bytes);
}

static void put_progress(Parts *parts, Progress p)
{
    Count count[PROGRESS];
    const double number[] = { p.best, p.loss };
    const char *const key[] = { "attnc.best_val_loss", "attnc.val_loss" };

    counts(&p, count);
    for (int i = 0; i < PROGRESS; i++) {
        char *text = room(parts, TEXT_BYTES);

        snprintf(text, TEXT_BYTES, "%d", *count[i].at);
        put(parts, count[i].key, text);
    }
    for (int i = 0; i < 2; i++)
        if (isfinite(number[i])) {
            char *text = room(parts, TEXT_BYTES);

            snprintf(text, TEXT_BYTES, "%.17g", number[i]);
            put(parts, key[i], text);
        }
}

static void put_origin(Parts *parts, const Origin *o, const char *tokenizer)
{
    char *corpus = room(parts, TEXT_BYTES);

    snprintf(corpus, TEXT_BYTES, "%016llx", (unsigned long long)o->corpus);
    put(parts, "attnc.data", o->task);
    put(parts, "attnc.corpus", corpus);
    if (tokenizer)
        put(parts, "attnc.tokenizer", tokenizer);
    for (int i = 0; i < o->options; i++) {
        char *key = room(parts, KEY_BYTES);

        snprintf(key, KEY_BYTES, OPTION "%s", o->option[i].key);
        put(parts, key, o->option[i].value);
    }
}

/* "optimizer.m.blocks.0.attn.wq" */
static char *moment_name(Arena *mem, const Moment *m, const Param *p)
{
    size_t bytes = strlen(BESIDE) + strlen(m->name) + strlen(p->name) + 2;
    char *name = arena_take(mem, bytes);

    snprintf(name, bytes, BESIDE "%s.%s", m->name, p->name);
    return name;
}

static void put_optimiser(Parts *parts, const Optimiser *o)
{
    Moment moment[OPTIMISER_MOMENTS];

    for (const Param *p = o ? o->params->first : NULL; p; p = p->next)
        for (int i = 0, n = optimiser_moments(o, p, moment); i < n; i++)
            parts->entry[parts->entries++] =
                checkpoint_entry(moment_name(parts->mem, &moment[i], p), p->tensor, moment[i].at);
}

void saved_write(const char *path, const Model *model, const Optimiser *o, Progress progress,
                 const Origin *origin)
{
    Arena *mem = arena_new();
    char *tokenizer = origin->tokenizer ? tokenizer_save(origin->tokenizer) : NULL;
    size_t metas = PROGRESS + 5 + (size_t)origin->options;
    Parts parts = { .mem = mem,
                    .meta = arena_take(mem, metas * sizeof(Meta)),
                    .entry = arena_take(mem, OPTIMISER_MOMENTS * (size_t)model->params.count *
                                                 sizeof(Entry)) };

    put_progress(&parts, progress);
    put_origin(&parts, origin, tokenizer);
    put_optimiser(&parts, o);
    checkpoint_save(path, model, (Beside){ parts.meta, parts.metas, parts.entry, parts.entries });
    free(tokenizer);
    arena_free(mem);
}

static const char *meta_of(const Saved *s, const char *key)
{
    const char *value = safetensors_meta(s->file, key);

    if (!value)
        die(EXIT_DATA, PATH " has no %s: it is not a checkpoint of a run", s->path, key);
    return value;
}

static void read_progress(Saved *s)
{
    Count count[PROGRESS];
    const char *best = safetensors_meta(s->file, "attnc.best_val_loss"),
               *loss = safetensors_meta(s->file, "attnc.val_loss");

    counts(&s->progress, count);
    for (int i = 0; i < PROGRESS; i++) {
        const char *value = meta_of(s, count[i].key);
        char *end;
        long n = strtol(value, &end, 10);

        if (*value < '0' || *value > '9' || *end || n < 0 || n > 1000000000)
            die(EXIT_DATA, PATH ": %s is '%.40s', which is not a number of steps", s->path,
                count[i].key, value);
        *count[i].at = (int)n;
    }
    s->progress.best = best ? strtod(best, NULL) : HUGE_VAL;
    s->progress.loss = loss ? strtod(loss, NULL) : (double)NAN;
}

static void read_tokenizer(Saved *s)
{
    const char *saved = safetensors_meta(s->file, "attnc.tokenizer");

    if (!saved)
        return;
    s->tokenizer = tokenizer_load(saved);
    if (!s->tokenizer)
        die(EXIT_DATA, PATH ": this version does not know its tokenizer", s->path);
    int size = tokenizer_size(s->tokenizer), vocab = s->model.config.vocab;

    if (vocab != size + (s->model.config.task == TASK_MLM))
        die(EXIT_DATA, PATH ": the tokenizer has %d tokens, which is not what a model of %d takes",
            s->path, size, vocab);
}

static void find_file(Saved *s, const char *path, bool best)
{
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const char *name = best ? "/best.safetensors" : "/model.safetensors";

    if (best && !folder)
        die(EXIT_USAGE, "--best needs a run's folder, and %.200s is not one", path);
    if (snprintf(s->path, sizeof s->path, "%s%s", path, folder ? name : "") >= (int)sizeof s->path)
        die(EXIT_IO, "the path %.60s... is too long", path);
    if (folder && stat(s->path, &info) != 0)
        die(EXIT_IO, "%.200s is not a run's folder: there is no %s in it (%s)", path, name + 1,
            strerror(errno));
}

Saved *saved_read(const char *path, bool best)
{
    Saved *s = xmalloc(sizeof *s);

    *s = (Saved){ .mem = arena_new() };
    find_file(s, path, best);
    s->file = checkpoint_load(s->path, &s->model, s->mem);
    read_progress(s);
    read_tokenizer(s);
    return s;
}

void saved_free(Saved *s)
{
    if (s->tokenizer)
        tokenizer_free(s->tokenizer);
    safetensors_free(s->file);
    arena_free(s->mem);
    free(s);
}

const char *saved_task(const Saved *s)
{
    return meta_of(s, "attnc.data");
}

uint64_t saved_corpus(const Saved *s)
{
    return strtoull(meta_of(s, "attnc.corpus"), NULL, 16);
}

const char *saved_option(const Saved *s, const char *name)
{
    char key[KEY_BYTES];

    snprintf(key, sizeof key, OPTION "%s", name);
    return safetensors_meta(s->file, key);
}

const char *saved_file(const Saved *s, int i)
{
    char name[32];

    snprintf(name, sizeof name, "file.%d", i);
    return saved_option(s, name);
}

void saved_optimiser(const Saved *s, Optimiser *o)
{
    Moment moment[OPTIMISER_MOMENTS];

    o->step = s->progress.updates;
    for (const Param *p = o->params->first; p; p = p->next)
        for (int i = 0, n = optimiser_moments(o, p, moment); i < n; i++)
            checkpoint_fill(
                s->file, s->path,
                checkpoint_entry(moment_name(s->mem, &moment[i], p), p->tensor, moment[i].at));
}
