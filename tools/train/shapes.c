#include "ops/base/error.h"
#include "tools/train/job.h"

int job_largest(const OptionList *list)
{
    int most = 0;

    for (int i = 0; i < list->n; i++)
        most = list->at[i] > most ? list->at[i] : most;
    return most;
}

/* Whether the size is to be that of the list's largest: if it was not given, and no run has one. */
static bool is_left_to(const Job *job, const char *size, const OptionList *list)
{
    return list->n > 0 && !options_set(job->program, size) && !job->from;
}

static void settle_sizes(Job *job)
{
    TrainOptions *o = &job->training;
    const OptionList *stages = &job->batch_stages;

    if (is_left_to(job, "batch-size", stages))
        o->batch = job_largest(stages);
    if (stages->n && job->shuffle)
        die(EXIT_USAGE, "--shuffle counts batches of one size, and takes no --batch-stages");
    if (stages->n && o->batch != job_largest(stages))
        die(EXIT_USAGE, "--batch-size %d is not the largest of --batch-stages, which is %d",
            o->batch, job_largest(stages));
    o->size = stages->at;
    o->sizes = stages->n;
}

/* With batches of `rows` times the context. */
static void check_length(const Job *job, const char *option, int length, int rows)
{
    const int64_t tokens = (int64_t)rows * job->config.context;

    if (length > job->config.context)
        die(EXIT_USAGE, "--%s %d is longer than the context: --block-size is %d", option, length,
            job->config.context);
    if (job->config.pairs == PAIRS_TOWERS && length % 2 != 0)
        die(EXIT_USAGE, "--%s %d: --pairs towers takes even lengths, for two texts", option,
            length);
    if (tokens % length != 0)
        die(EXIT_USAGE,
            "--%s %d: a batch has %lld tokens (%d times --block-size %d), not a whole number of "
            "such sequences",
            option, length, (long long)tokens, rows, job->config.context);
}

static void settle_lengths(Job *job)
{
    TrainOptions *o = &job->training;
    const char *option = job->lengths.n ? "lengths" : "length-stages";
    const OptionList *list = job->lengths.n ? &job->lengths : &job->length_stages;

    if (job->lengths.n && job->length_stages.n)
        die(EXIT_USAGE, "--lengths draws lengths, --length-stages takes them in turn: give one");
    if (is_left_to(job, "block-size", list))
        job->config.context = job_largest(list);
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k == 0 || k < o->sizes; k++)
            check_length(job, option, list->at[i], o->sizes ? o->size[k] : o->batch);
    if (list->n && job->shuffle)
        die(EXIT_USAGE, "--shuffle cuts windows of one length, and takes no --%s", option);
    o->length = list->at;
    o->lengths = list->n;
    o->in_turn = job->length_stages.n > 0;
}

/* Checks the task's rows at every length. */
static void check_rows(Job *job)
{
    const TrainOptions *o = &job->training;

    for (int i = -1; job->made && i < o->lengths; i++) {
        job->shape.T = i < 0 ? job->config.context : o->length[i];
        const Text why = synthetic_misfit(job->made, job->shape);

        if (why.n)
            die(EXIT_USAGE, "%s", why.at);
    }
    job->shape.T = job->config.context;
}

void job_shape(Job *job)
{
    settle_sizes(job);
    settle_lengths(job);
    check_rows(job);
}
