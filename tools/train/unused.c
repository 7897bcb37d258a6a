/* Options that would change nothing, or contradict each other, are mistakes: they are refused. */
#include "ops/base/error.h"
#include "tools/train/job.h"

static void refuse(const Job *job, const char *option, bool unused, const char *with)
{
    if (unused && options_given(job->program, option))
        die(EXIT_USAGE, "--%s does not apply %s", option, with);
}

void job_check_unused(const Job *job)
{
    const Schedule *s = &job->training.schedule;
    const bool constant = s->kind == SCHEDULE_CONSTANT;
    const Text schedule = text_format("to --schedule %s", schedule_names[s->kind]);

    refuse(job, "cooldown", s->kind != SCHEDULE_WSD, schedule.at);
    refuse(job, "min-lr", constant, schedule.at);
    refuse(job, "lr-decay-iters", constant, schedule.at);
    refuse(job, "n-inner", job->config.ffn == FFN_NONE && !job->config.from_last, "to --ffn none");
    refuse(job, "cautious-decay", job->training.optimiser.hyper.decay == 0, "to --weight-decay 0");
    refuse(job, "temperature", job->sample_tokens == 0, "to --sample-tokens 0");
    refuse(job, "temperature", job->made || !config_decodes(&job->config),
           "to a model that continues no text");
    refuse(job, "init-out", job->from, "to --resume: weights are the run's");
    refuse(job, "init-out", job->initial, "to --init: weights are the run's");
    refuse(job, "allow-corpus-change", !job->from, "to a new run; it is for --resume");
}

void job_check_sizes(const Job *job)
{
    const Config *c = &job->config;
    const Schedule *s = &job->training.schedule;

    if (c->listed > c->layers && !job->from) /* an older version did not mind */
        die(EXIT_USAGE, "--attn has %d mechanisms for %d layer%s: the last would not be used",
            c->listed, c->layers, c->layers == 1 ? "" : "s");
    if (s->least > s->rate && options_given(job->program, "min-lr"))
        die(EXIT_USAGE, "--min-lr %g is above --learning-rate %g", s->least, s->rate);
    if (job->training.stop_at > job->training.steps)
        die(EXIT_USAGE, "--stop-at %d: the run ends at update %d", job->training.stop_at,
            job->training.steps);
    if (s->decay > 0 && s->warmup >= s->decay && s->decay < job->training.steps)
        warn("--warmup-iters %d ends after --lr-decay-iters %d: the rate never reaches its peak",
             s->warmup, s->decay);
    if (s->warmup >= job->training.steps && schedule_rate(s, job->training.steps) < s->rate &&
        options_given(job->program, "warmup-iters"))
        warn("--warmup-iters %d: the run ends at update %d, before the peak of the rate", s->warmup,
             job->training.steps);
}
