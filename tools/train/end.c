/* Why a run ended, and how to continue it. */
#include "ops/base/error.h"
#include "tools/train/print.h"
#include "training/folder.h"

#include <string.h>
#include <unistd.h>

static Text signal_name(int number)
{
    return number == SIGINT    ? text_format("Ctrl-C")
           : number == SIGTERM ? text_format("SIGTERM")
           : number == SIGHUP  ? text_format("SIGHUP")
           : number == SIGUSR1 ? text_format("SIGUSR1")
                               : text_format("signal %d", number);
}

void show_end(const Show *s, const TrainResult *r, int signal)
{
    const Text why = r->why == STOP_ASKED  ? signal_name(signal)
                     : r->why == STOP_AT   ? text_format("--stop-at")
                     : r->why == STOP_TIME ? text_format("the time limit is reached")
                                           : text_format("all updates are done");

    say(stderr, "stopped at step %d of %d: %s", r->steps, s->job->training.steps, why.at);
}

/* Options of this part of the run alone, which are not restored. */
static void put_passing(const Program *program)
{
    static const char *const kept[] = { "threads", "max-time", NULL };

    for (const Option *o = program->options; o->name; o++)
        if (o->given && text_is_one(o->name, kept))
            fprintf(stderr, " --%s %s", o->name, options_value(o).at);
}

static bool reads_standard_input(const Job *job)
{
    const char *const others[] = { job->labels, job->labels_val, job->validation_path };
    bool reads = false;

    for (int i = 0; i < job->files; i++)
        reads |= strcmp(job->file[i], "-") == 0;
    for (int i = 0; i < 3; i++)
        reads |= others[i] && strcmp(others[i], "-") == 0;
    return reads;
}

void show_command(const Show *s, const TrainResult *r)
{
    const TrainOptions *o = &s->job->training;
    const char *folder = run_path(s->run);

    if (!r->saved)
        return;
    fflush(stdout);
    if (r->why == STOP_DIVERGED)
        fprintf(stderr,
                "from its checkpoint of step %d the run would diverge again; at a tenth of "
                "the learning rate it may not:\n    ",
                r->saved);
    else
        fprintf(stderr, "%sto %s%s:\n    ", r->why >= STOP_STEPS ? "\n" : "",
                r->why == STOP_STEPS ? "train longer" : "continue",
                reads_standard_input(s->job) ? ", with the same text on standard input" : "");
    text_shell(s->job->word[0], stderr);
    fputs(" --resume ", stderr);
    fputs(*folder == '-' ? "./" : "", stderr); /* so that it is not taken for an option */
    text_shell(folder, stderr);
    put_passing(s->job->program);
    if (r->why == STOP_STEPS)
        fprintf(stderr, " --max-iters %d", o->steps > 50000000 ? 100000000 : 2 * o->steps);
    if (r->why == STOP_DIVERGED)
        fprintf(stderr, " --learning-rate %s", text_format("%.3g", o->schedule.rate / 10).at);
    fputc('\n', stderr);
}

/* Whether the run that was replaced will be put back. */
static bool comes_back(const Job *job)
{
    return job->overwrite &&
           access(text_format("%.900s/" FOLDER_ASIDE, job->out_dir).at, F_OK) == 0;
}

noreturn void die_diverged(const Show *s, const TrainResult *r)
{
    const bool best = r->best_step && (r->saved || !comes_back(s->job));

    show_command(s, r);
    die(EXIT_FAILED, "the run diverged at step %d: %s; try a smaller --learning-rate; %s%s",
        r->steps, r->failure.at,
        best       ? "the best weights so far are in "
        : r->saved ? "the last checkpoint is in "
                   : "no weights were saved",
        best || r->saved ? run_path(s->run) : "");
}
