/*
 * The part of a card that needs the run's weights. Whatever reads a checkpoint ends the program if
 * it is damaged, so this happens in a process of its own: a run whose weights cannot be used costs
 * the page its maps and its sample, and its last words are a note.
 */
#include "tools/report/model.h"

#include "model/sample.h"
#include "ops/base/buffer.h"
#include "ops/base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Multiply-adds that the samples of a page take, unless --sample is given. */
static const double WORK_MOST = 2e9;

static bool is_causal(const Record *r)
{
    return strcmp(record_task(r), "causal") == 0;
}

static void write_sample(const Report *report, const Saved *s, Pool *pool, FILE *out)
{
    Sampler *sampler =
        sampler_new(&s->model, pool, (Sampling){ .temperature = 0.8, .top_p = 1, .seed = 1337 },
                    report->sample + 1, 1);
    Buffer text = { 0 };
    Token newline;

    tokenizer_encode(s->tokenizer, (Bytes){ (const unsigned char *)"\n", 1 }, &newline);
    int token = newline;
    sampler_begin(sampler, 0);
    for (int i = 0; i < report->sample; i++) {
        sampler_read(sampler, &token, 1);
        token = sampler_draw(sampler, 0);
        const Bytes bytes = tokenizer_token(s->tokenizer, token);

        buffer_add(&text, bytes.at, bytes.n);
    }
    size_t from = 0;
    while (from < text.n && text.at[from] == '\n')
        from++;
    fputs("<h4>Sample</h4>\n<pre class=\"sample\">", out);
    put_lines(out, (const char *)text.at + from, text.n - from);
    fputs("</pre>\n", out);
    free(text.at);
    sampler_free(sampler);
}

static void write_all(const Report *report, const Record *r, FILE *out)
{
    Saved *s = saved_read(r->checkpoint, false);
    Pool *pool = pool_new(report->threads);

    if (report->sample > 0 && s->tokenizer && s->model.config.task == TASK_CAUSAL)
        write_sample(report, s, pool, out);
    if (report->text)
        maps_write(report, s, pool, out);
    pool_free(pool);
    saved_free(s);
}

/* Its exit code; what it prints is in the two files. */
static int run_child(const Report *report, const Record *r, FILE *out, FILE *errors)
{
    int status;

    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fileno(errors), STDERR_FILENO);
        write_all(report, r, out);
        _exit(fflush(out) == 0 && !ferror(out) ? EXIT_SUCCESS : EXIT_IO);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        die(EXIT_FAILED, "cannot start a process: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* The first line of what the child said, without "attn.c: error: "; empty: it said nothing. */
static Text line_in(FILE *errors)
{
    static const char *const before[] = { "attn.c: error: ", "attn.c: warning: " };
    char line[512] = "", *from = line;

    rewind(errors);
    if (fgets(line, sizeof line, errors))
        line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < 2; i++)
        from += strncmp(line, before[i], strlen(before[i])) == 0 ? strlen(before[i]) : 0;
    return text_format("%s", from);
}

/* A lack of memory is not the run's fault. */
static void note_line(Record *r, int code, Text line)
{
    if (code == EXIT_MEMORY)
        die(code, "%s", line.at);
    if (code != 0)
        record_note(r, "No sample and no maps: %s",
                    line.n ? line.at : "The weights cannot be used.");
    else if (line.n)
        record_note(r, "%s", line.at);
}

/* Whether to draw a sample of the run: by default of the best runs, if their models are small. */
static bool is_sampled(Report *report, const Record *r, FILE *out)
{
    const double work = r->parameters * report->sample;

    if (report->sample == 0 || !r->checkpoint || !is_causal(r))
        return false;
    if (report->patient || (r->rank < HIGHLIGHTED && report->work + work <= WORK_MOST)) {
        report->work += work;
        return true;
    }
    fputs("<p class=\"soft\"><code>--sample 160</code> adds a sample of every run.</p>\n", out);
    return false;
}

void model_write(Report *report, Record *r, FILE *out)
{
    Report wanted = *report;
    int c;

    if (!is_sampled(report, r, out))
        wanted.sample = 0;
    if (!r->checkpoint || (!wanted.sample && !report->text))
        return;
    FILE *part = tmpfile(), *errors = tmpfile();
    if (!part || !errors)
        die(errno == ENOMEM ? EXIT_MEMORY : EXIT_IO, "cannot create a temporary file: %s",
            strerror(errno));
    const int code = run_child(&wanted, r, part, errors);
    if (code == 0)
        for (rewind(part); (c = getc(part)) != EOF;)
            putc(c, out);
    note_line(r, code, line_in(errors));
    fclose(part);
    fclose(errors);
}
