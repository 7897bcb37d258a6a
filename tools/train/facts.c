/* Where a run comes from: the command, the texts, the program, the machine. */
#include "ops/base/machine.h"
#include "tools/train/job.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void put_command(FILE *out, void *ctx)
{
    const Job *j = ctx;

    for (int i = 0; i < j->words; i++) {
        fputs(i ? " " : "", out);
        text_shell(j->word[i], out);
    }
}

static void put_texts(const Facts *f, FILE *out)
{
    const char *between = "";

    fputs("[", out);
    for (int i = 0; i < f->corpora; i++)
        for (int k = 0; k < f->corpus[i].files; k++) {
            const CorpusFile *file = &f->corpus[i].file[k];

            fprintf(out, "%s{\"file\":", between);
            text_json(file->path, out);
            fprintf(out, ",\"bytes\":%zu,\"hash\":\"%016llx\"}", file->bytes,
                    (unsigned long long)file->hash);
            between = ",";
        }
    fputs("]", out);
}

static void put_labels(const Facts *f, FILE *out)
{
    const Labels *names = f->job->names;

    fprintf(out, "%s\"label_names\":%s[", f->between, f->space);
    for (int i = 0; i < names->n; i++) {
        fputs(i ? "," : "", out);
        text_json(names->name[i], out);
    }
    fputs("]", out);
}

static void put_text(const char *key, const char *text, const Facts *f, FILE *out)
{
    fprintf(out, "%s\"%s\":%s", f->between, key, f->space);
    text_json(text, out);
}

static void put_facts(FILE *out, void *ctx)
{
    const Facts *f = ctx;
    const Build build = build_facts();
    size_t bytes;
    char *command = print_to_memory(put_command, (void *)(uintptr_t)f->job, &bytes);

    fprintf(out, "\"command\":%s", f->space);
    text_json(command, out);
    fprintf(out, "%s\"texts\":%s", f->between, f->space);
    put_texts(f, out);
    if (f->job->names)
        put_labels(f, out);
    fprintf(out, "%s\"parameters\":%s%zu", f->between, f->space, f->parameters);
    put_text("version", attn_version, f, out);
    put_text("commit", build.commit, f, out);
    put_text("compiler", build.compiler.at, f, out);
    put_text("flags", build.flags, f, out);
    put_text("cpu", machine_name().at, f, out);
    put_text("host", machine_host().at, f, out);
    put_text("started", f->job->started.at, f, out);
    free(command);
}

/* In a log the options do not tell the number of threads. */
static void put_log_facts(FILE *out, void *ctx)
{
    const Facts *f = ctx;

    put_facts(out, ctx);
    fprintf(out, "%s\"threads\":%s%d", f->between, f->space, f->job->threads);
}

static void put_config(FILE *out, void *ctx)
{
    Facts *f = ctx;
    size_t bytes;

    f->between = ",\n  ", f->space = " ";
    char *facts = print_to_memory(put_facts, f, &bytes);
    options_json(f->job->program, facts, out);
    free(facts);
}

void job_record(const Job *j, Run *run, Facts f)
{
    size_t bytes;

    f.job = j, f.between = ",", f.space = "";
    char *members = print_to_memory(put_log_facts, &f, &bytes);
    run_start(run, j->from ? j->from->progress.step : 0, members);
    free(members);
    run_file(run, "config.json", put_config, &f);
}
