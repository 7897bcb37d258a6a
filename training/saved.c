#include "training/saved.h"

#include "ops/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of any message about a checkpoint. */
#define PATH "%.200s"
#define OPTION "attnc.option."
#define TOKENIZER "attnc.tokenizer"
#define BEST_LOSS "attnc.best_val_loss"
#define LAST_LOSS "attnc.val_loss"

enum { PROGRESS = 5, TEXT_BYTES = 40, KEY_BYTES = 128, STEPS_MOST = 1000000000 };

/* The counts of a progress, with their keys in the file. */
typedef struct {
    const char *key;
    int *at;
} Count;

static void counts(Progress *p, Count count[PROGRESS])
{
    count[0] = (Count){ "attnc.step", &p->step };
    count[1] = (Count){ "attnc.evaluated", &p->evaluated };
    count[2] = (Count){ "attnc.bad", &p->skips.bad };
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
    NamedRecent list[SKIPS_LISTS];
    const double number[] = { p.best, p.loss };
    const char *const key[] = { BEST_LOSS, LAST_LOSS };

    counts(&p, count);
    skips_recent(&p.skips, list);
    for (int i = 0; i < PROGRESS; i++) {
        char *text = room(parts, TEXT_BYTES);

        snprintf(text, TEXT_BYTES, "%d", *count[i].at);
        put(parts, count[i].key, text);
    }
    for (int i = 0; i < 2; i++)
        if (isfinite(number[i]))
            put(parts, key[i], arena_string(parts->mem, text_number(number[i]).at));
    for (int i = 0; i < SKIPS_LISTS; i++)
        if (list[i].at->n > 0)
            put(parts, list[i].key, recent_text(list[i].at, parts->mem));
}

static void put_origin(Parts *parts, const Origin *o, const char *tokenizer)
{
    char *corpus = room(parts, TEXT_BYTES);

    snprintf(corpus, TEXT_BYTES, "%016llx", (unsigned long long)o->corpus);
    put(parts, "attnc.data", o->task);
    put(parts, "attnc.corpus", corpus);
    if (tokenizer)
        put(parts, TOKENIZER, tokenizer);
    for (int i = 0; i < o->options; i++) {
        const size_t bytes = sizeof OPTION + strlen(o->option[i].key);
        char *key = room(parts, bytes);

        snprintf(key, bytes, OPTION "%s", o->option[i].key);
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

static void write_as(const char *path, const char *as, const Model *model, const Optimiser *o,
                     Progress progress, const Origin *origin)
{
    Arena *mem = arena_new();
    char *tokenizer = origin->tokenizer ? tokenizer_save(origin->tokenizer) : NULL;
    size_t metas = PROGRESS + SKIPS_LISTS + 5 + (size_t)origin->options;
    Parts parts = { .mem = mem,
                    .meta = arena_take(mem, metas * sizeof(Meta)),
                    .entry = arena_take(mem, OPTIMISER_MOMENTS * (size_t)model->params.count *
                                                 sizeof(Entry)) };

    put_progress(&parts, progress);
    put_origin(&parts, origin, tokenizer);
    put_optimiser(&parts, o);
    checkpoint_save(path, model,
                    (Contents){ parts.entry, parts.entries, parts.meta, parts.metas, as });
    free(tokenizer);
    arena_free(mem);
}

void saved_write(const char *path, const Model *model, const Optimiser *o, Progress progress,
                 const Origin *origin)
{
    write_as(path, NULL, model, o, progress, origin);
}

void saved_write_next(const char *path, const Model *model, const Optimiser *o, Progress progress,
                      const Origin *origin)
{
    write_as(path, SAVED_PREVIOUS, model, o, progress, origin);
}

static bool all_finite(const real *x, size_t n)
{
    size_t i = 0;

    while (i < n && isfinite(x[i]))
        i++;
    return i == n;
}

Text saved_not_finite(const Model *model, const Optimiser *o)
{
    Moment moment[OPTIMISER_MOMENTS];

    for (const Param *p = model->params.first; p; p = p->next) {
        if (!all_finite(p->tensor->data, p->tensor->n))
            return text_format("%.200s", p->name);
        for (int i = 0, n = optimiser_moments(o, p, moment); i < n; i++)
            if (!all_finite(moment[i].at, moment[i].n))
                return text_format(BESIDE "%s.%.200s", moment[i].name, p->name);
    }
    return (Text){ 0 };
}

static const char *meta_of(const Saved *s, const char *key)
{
    const char *value = safetensors_meta(s->file, key);

    if (!value)
        die(EXIT_DATA, PATH " has no %s: it is not a checkpoint of a run", s->path, key);
    return value;
}

static int read_count(const Saved *s, const char *key)
{
    const char *value = meta_of(s, key);
    char *end;
    long n = strtol(value, &end, 10);

    if (*value < '0' || *value > '9' || *end || n < 0 || n > STEPS_MOST)
        die(EXIT_DATA, PATH ": %s is '%.40s', which is not a number of steps", s->path, key, value);
    return (int)n;
}

static double read_loss(const Saved *s, const char *key, double missing)
{
    const char *value = safetensors_meta(s->file, key);
    char *end;

    if (!value)
        return missing;
    double loss = strtod(value, &end);
    if (end == value || *end || !isfinite(loss))
        die(EXIT_DATA, PATH ": %s is '%.40s', which is not a finite number", s->path, key, value);
    return loss;
}

static void read_skips(const Saved *s, Skips *skips, int step)
{
    NamedRecent list[SKIPS_LISTS];

    skips_recent(skips, list);
    for (int i = 0; i < SKIPS_LISTS; i++) {
        const char *value = safetensors_meta(s->file, list[i].key);

        if (!recent_read(list[i].at, value ? value : ""))
            die(EXIT_DATA, PATH ": %s is not a list of at most %d finite numbers", s->path,
                list[i].key, SKIPS_WINDOW);
    }
    if (!skips_are_possible(skips, step))
        die(EXIT_DATA, PATH ": its skipped steps or its recent losses contradict its progress",
            s->path);
}

static void read_progress(Saved *s)
{
    Progress *p = &s->progress;
    Count count[PROGRESS];

    counts(p, count);
    for (int i = 0; i < PROGRESS; i++)
        *count[i].at = read_count(s, count[i].key);
    p->best = read_loss(s, BEST_LOSS, HUGE_VAL);
    p->loss = read_loss(s, LAST_LOSS, (double)NAN);
    if (p->evaluated > p->step || p->best_step > p->evaluated ||
        p->skips.bad > p->step - p->updates || (p->best_step > 0) != isfinite(p->best))
        die(EXIT_DATA,
            PATH ": its progress contradicts itself: %d steps, %d of them updates and %d skipped "
                 "at the end, evaluated at %d, best at %d with the loss %s",
            s->path, p->step, p->updates, p->skips.bad, p->evaluated, p->best_step,
            text_number(p->best).at);
    read_skips(s, &p->skips, p->step);
}

/* Its index in task_names; -1: it is not a task of text. */
static int text_task(const Saved *s)
{
    const char *task = saved_task(s);

    for (int i = 0; task_names[i]; i++)
        if (strcmp(task, task_names[i]) == 0)
            return i;
    return -1;
}

/* Tasks of text need a tokenizer; synthetic ones have none. */
static void read_tokenizer(Saved *s)
{
    const char *saved = safetensors_meta(s->file, TOKENIZER);
    const int task = text_task(s), modelled = (int)s->model.config.task;

    if (task >= 0 && task != modelled)
        die(EXIT_DATA, PATH ": its task is %.40s, but its model is for %s", s->path, saved_task(s),
            task_names[modelled]);
    if ((task >= 0) != (saved != NULL))
        die(EXIT_DATA, PATH ": its task is %.40s, but it has %s", s->path, saved_task(s),
            saved ? "a tokenizer" : "no tokenizer");
    if (!saved)
        return;
    s->tokenizer = tokenizer_load(saved);
    if (!s->tokenizer)
        die(EXIT_DATA, PATH ": this version does not know its tokenizer", s->path);
    int size = tokenizer_size(s->tokenizer), vocab = s->model.config.vocab;

    if (vocab != size + (s->model.config.task == TASK_MLM))
        die(EXIT_DATA, PATH ": the tokenizer has %d tokens, but the model has %d", s->path, size,
            vocab);
}

void saved_load(Saved *s)
{
    s->mem = arena_new();
    s->file = safetensors_read(s->path);
    checkpoint_model(s->file, s->path, &s->model, s->mem);
    read_progress(s);
    read_tokenizer(s);
}

void saved_drop(Saved *s)
{
    if (s->tokenizer)
        tokenizer_free(s->tokenizer);
    if (s->file)
        safetensors_free(s->file);
    if (s->mem) /* there may have been no memory for it */
        arena_free(s->mem);
    s->tokenizer = NULL, s->file = NULL, s->mem = NULL;
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

/* "file.3" */
static const char *numbered_option(const Saved *s, const char *of, int i)
{
    char name[32];

    snprintf(name, sizeof name, "%s.%d", of, i);
    return saved_option(s, name);
}

const char *saved_file(const Saved *s, int i)
{
    return numbered_option(s, "file", i);
}

const char **saved_files(const Saved *s, int *n)
{
    for (*n = 0; saved_file(s, *n);)
        ++*n;
    const char **file = xmalloc(((size_t)*n + 1) * sizeof *file);
    for (int i = 0; i < *n; i++) {
        file[i] = saved_file(s, i);
        if (strcmp(file[i], "-") != 0 && access(file[i], R_OK) != 0)
            die(EXIT_IO, "cannot open '%.200s': %s; if it has moved, give %s after the run's",
                file[i], strerror(errno), *n > 1 ? "the paths of all texts" : "its path");
    }
    return file;
}

const char *saved_label(const Saved *s, int i)
{
    return numbered_option(s, "label", i);
}

Labels saved_labels(const Saved *s)
{
    Labels l = { 0 };
    const char *name;

    while (l.n < LABELS_MAX && (name = saved_label(s, l.n)))
        l.name[l.n++] = strcpy(xmalloc(strlen(name) + 1), name);
    if (l.n > 0 && l.n != s->model.config.classes)
        die(EXIT_DATA, PATH " has %d labels, but %d classes", s->path, l.n,
            s->model.config.classes);
    return l;
}

int saved_texts(const Saved *s)
{
    const char *texts = saved_option(s, "texts");

    return !texts ? 0 : strcmp(texts, "2") == 0 ? 2 : 1;
}

static int entries_beside(const Safetensors *file)
{
    int n = 0;

    for (int i = 0; i < file->entries; i++)
        n += strncmp(file->entry[i].name, BESIDE, strlen(BESIDE)) == 0;
    return n;
}

static void check_not_negative(const Saved *s, const char *name, const real *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] < 0)
            die(EXIT_DATA, PATH ": number %zu of %s is negative", s->path, i, name);
}

void saved_optimiser(const Saved *s, Optimiser *o)
{
    Moment moment[OPTIMISER_MOMENTS];
    int left = entries_beside(s->file);

    o->step = s->progress.updates;
    for (const Param *p = o->params->first; p; p = p->next)
        for (int i = 0, n = optimiser_moments(o, p, moment); i < n; i++, left--) {
            const char *name = moment_name(s->mem, &moment[i], p);

            checkpoint_fill(s->file, s->path, checkpoint_entry(name, p->tensor, moment[i].at));
            if (moment[i].square)
                check_not_negative(s, name, moment[i].at, moment[i].n);
        }
    if (left)
        die(EXIT_DATA, PATH " has %d tensor%s that %s does not know", s->path, left,
            left == 1 ? "" : "s", o->kind->name);
}
