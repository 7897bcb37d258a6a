/* Which options a run saves, and the memory it needs. */
#include "tools/train/job.h"

#include "ops/base/file.h"

#include <stdint.h>
#include <string.h>

bool job_passes(const char *name)
{
    static const char *const passing[] = {
        "config",  "dry-run",       "preset",      "resume",
        "init",    "overwrite",     "stop-at",     "allow-corpus-change",
        "out-dir", "threads",       "max-time",    "recompute",
        "minutes", "save-interval", "auto-resume", NULL
    };

    return text_is_one(name, passing);
}

const Meta *job_options(const Job *j, Arena *mem, int *n)
{
    size_t rows = (size_t)j->files + (j->names ? (size_t)j->names->n + 1 : 0);

    for (const Option *o = j->program->options; o->name; o++)
        rows++;
    Meta *meta = arena_take(mem, rows * sizeof *meta);

    *n = 0;
    for (const Option *o = j->program->options; o->name; o++) {
        if (o->kind == OPTION_GROUP || job_passes(o->name))
            continue;
        Text value = options_value(o);
        char *copy = arena_take(mem, value.n + 1);

        memcpy(copy, value.at, value.n + 1);
        if (value.n)
            meta[(*n)++] = (Meta){ o->name, copy };
    }
    for (int i = 0; i < j->files; i++)
        meta[(*n)++] = (Meta){ arena_format(mem, "file.%d", i), j->file[i] };
    for (int i = 0; j->names && i < j->names->n; i++)
        meta[(*n)++] = (Meta){ arena_format(mem, "label.%d", i), j->names->name[i] };
    if (j->names)
        meta[(*n)++] = (Meta){ "texts", j->texts > 1 ? "2" : "1" };
    return meta;
}

static void put_markdown(FILE *out, void *ctx)
{
    Arena *mem = arena_new();
    int n;
    const Meta *option = job_options(ctx, mem, &n);

    for (int i = 0; i < n; i++)
        fprintf(out, "    --%s %s\n", option[i].key, option[i].value);
    arena_free(mem);
}

char *job_markdown(const Job *j)
{
    size_t bytes;

    return print_to_memory(put_markdown, (void *)(uintptr_t)j, &bytes);
}

Load job_load(const Job *j)
{
    return (Load){ .tokens = (double)j->training.batch * j->config.context,
                   .recompute = j->recompute,
                   .state = optimiser_numbers(&j->training.optimiser, &j->config) };
}

void job_check_memory(const Job *j)
{
    config_check_memory(&j->config, job_load(j));
}
