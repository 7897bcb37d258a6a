/* ./train: reads the data, trains, and reports. */
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/kernel/peak.h"
#include "tools/common/model_options.h"
#include "tools/common/signals.h"
#include "tools/train/job.h"
#include "tools/train/lesson.h"
#include "tools/train/print.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stop;

static bool same_tokens(const Saved *saved, const Tokenizer *t, const Config *c)
{
    if (!saved->tokenizer || !t)
        return saved->tokenizer == t && saved->model.config.vocab == c->vocab;
    return tokenizer_same(saved->tokenizer, t);
}

/* About half a second's work; less is done sooner than the machine is measured. */
static const double WORTH_MEASURING = 3e10;

/* The machine's operations per second, or NaN if the run is over too soon for it to matter. */
static double peak_for(const Job *job, Pool *pool)
{
    const TrainOptions *o = &job->training;
    const double tokens = batches_tokens(o, job->config.context, o->steps);

    return config_flops(&job->config, 1) * tokens < WORTH_MEASURING ? (double)NAN
                                                                    : peak_flops(pool);
}

/* New weights, or those of the resumed run, or of the initial one, in `mem`. */
static Model make_model(const Job *job, const Lesson *l, Arena *mem, Transfer *transfer)
{
    Model model;

    if (job->from) {
        model = job->from->model;
        model.config.dropout = job->config.dropout;
    } else {
        model_init(&model, job->config, mem, job->seed);
    }
    if (job->initial)
        *transfer = transfer_weights(&model, &job->initial->model,
                                     same_tokens(job->initial, l->tokenizer, &job->config));
    freeze_tensors(&job->frozen, &model.params);
    return model;
}

static void write_tokenizer(FILE *out, void *tokenizer)
{
    tokenizer_json(tokenizer, out);
}

static Run *open_run(const Job *job, const Lesson *l, const Model *model, const Origin *origin)
{
    const Text name = job_name(job);
    Run *run = job->from ? run_resume(job->out_dir, job->from, origin)
                         : run_open(job->out_dir, name.at, job->overwrite, origin);

    const Facts facts = { .parameters = params_count(&model->params),
                          .corpus = l->corpus,
                          .corpora = l->n > 0 ? l->n : 1 };

    job_record(job, run, facts);
    if (job->tensorboard) {
        char *config = job_markdown(job);

        run_board(run, job->from ? job->from->progress.step + 1 : -1, config);
        free(config);
    }
    if (l->tokenizer)
        run_file(run, "tokenizer.json", write_tokenizer, l->tokenizer);
    return run;
}

/* Trains, and shows what came of it; the exit code. */
static int run(Show *show, Training *t, TrainOptions *o, double start)
{
    const double setup = seconds_now() - start;

    if (o->max_seconds > 0) /* which began with the program */
        o->max_seconds = fmax(o->max_seconds - setup, 1e-3);
    const TrainResult result = train(t, o);
    const bool complete = result.why >= STOP_STEPS;

    show_picture(show);
    if (result.why == STOP_DIVERGED)
        die_diverged(show, &result);
    show_end(show, &result, (int)stop);
    if (complete)
        show_result(show, &result, setup);
    if (complete && show->job->sample_tokens > 0 && !stop)
        show_sample(show, t->tape, &stop);
    show_command(show, &result);
    return stop ? 128 + (int)stop : complete ? 0 : EXIT_INTERRUPTED;
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    int code = EXIT_SUCCESS;
    Job job = job_read(argc, argv);
    Lesson *lesson = lesson_open(&job);
    Tape tape = { .mem = arena_new(), .pool = pool_new(job.threads), .recompute = job.recompute };
    Arena *mem = arena_new();
    job_compare_texts(&job, lesson->corpus, lesson->n > 0 ? lesson->n : 1);
    Origin origin = { .task = job.task, .tokenizer = lesson->tokenizer, .corpus = lesson->hash };

    tape.precision = (Precision)job.precision;
    job.threads = pool_threads(tape.pool);
    signals_ask_batch(&stop);
    origin.option = job_options(&job, mem, &origin.options);
    Transfer transfer;
    Model model = make_model(&job, lesson, mem, &transfer);
    job.training.peak = peak_for(&job, tape.pool);
    Run *folder = job.dry_run ? NULL : open_run(&job, lesson, &model, &origin);
    Show show = {
        &job, &model, lesson->source, lesson->tokenizer, lesson->corpus, folder, &transfer
    };
    const Source *test = lesson->lra.test.rows > 0 ? &lesson->test.source : NULL;
    Training training = { &tape, &model, lesson->source, test, folder, job.from, &stop };

    show_banner(&show);
    if (job.dry_run)
        code = show_estimate(&show, &training) ? code : 128 + (int)stop;
    else
        code = run(&show, &training, &job.training, start);
    if (folder)
        run_close(folder);
    lesson_free(lesson, &job);
    if (job.from)
        saved_free(job.from);
    if (job.initial)
        saved_free(job.initial);
    pool_free(tape.pool);
    arena_free(tape.mem);
    arena_free(mem);
    options_finish();
    return code;
}
