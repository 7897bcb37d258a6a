#include "tests/job.h"

#include "data/corpus.h"
#include "data/stories.h"
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Job job;

void job_open(void)
{
    Stories s = stories_write(2, 0, 4000);

    put(in_folder("text"), s.text, s.bytes);
    free(s.text);
    job.threads = 1, job.stop = 0, job.seed = 7, job.resume = false;
    job.kill_at = job.ask_at = job.break_at = job.stop_at_row = 0, job.test = false;
    job.skipped = 0, job.shuffled = false, job.corpus = 0;
    job.break_read = false, job.broken = R(INFINITY);
    job.config = small_variant(0);
    job.config.vocab = 128, job.config.context = 16;
    job.options = (TrainOptions){
        .batch = 3,
        .accumulation = 2,
        .steps = 10,
        .schedule = { .rate = 1e-2, .least = 1e-3, .warmup = 3, .decay = 10 },
        .optimiser = { .kind = &optimiser_adamw, .hyper = optimiser_adamw.defaults },
        .clip = 0.9,
        .eval_interval = 4,
        .eval_iters = 2,
        .log_interval = 3,
        .peak = 1e9,
    };
}

TextSource lesson_open(void)
{
    const char *path = in_folder("text");
    Corpus corpus = corpus_read((CorpusFiles){ .path = &path, .n = 1, .held_back = 0.1 });
    Tokenizer *t = tokenizer_learn("byte", corpus.train);
    TextSource s = source_text(tokens_of(t, corpus.train), tokens_of(t, corpus.validation), 16,
                               job.config.task == TASK_MLM ? config_mask(&job.config) : -1);

    s.source.seed = job.seed, s.shuffled = job.shuffled;
    corpus_free(&corpus);
    tokenizer_free(t);
    return s;
}

void lesson_close(TextSource *s)
{
    tokens_free(&s->train);
    tokens_free(&s->validation);
}

static TextSource learned; /* what do_job() trains on, but for what is wrapped around it */
static int judged;         /* rows */
static real *gain;         /* that all losses depend on */
static real *unread;       /* of the embedding of the last token, which the text does not have */

/* From the first batch of such a step to that of the next. */
static void spoil(uint64_t number)
{
    static real kept;
    static bool spoilt;

    if (number % (uint64_t)job.options.accumulation)
        return;
    if (spoilt)
        *gain = kept;
    spoilt = job.skipped >> (number / (uint64_t)job.options.accumulation + 1) & 1;
    kept = *gain;
    if (spoilt)
        *gain = R(NAN);
}

static void batch_or_die(const Source *s, uint64_t number, Batch batch)
{
    if (job.kill_at && number == (uint64_t)job.kill_at)
        raise(SIGKILL);
    spoil(number);
    if (job.break_at && number == (uint64_t)job.break_at)
        *(job.break_read ? gain : unread) = job.broken;
    job.stop |= job.ask_at && number == (uint64_t)job.ask_at;
    learned.source.batch(s, number, batch);
}

static void row_and_stop(const Source *s, size_t k, Batch row)
{
    job.stop |= ++judged == job.stop_at_row;
    ck_assert(!job.stop || judged < job.stop_at_row + 3); /* the batch of that row, and no other */
    learned.source.row(s, k, row);
}

void do_job(const char *path)
{
    Tape tape = tape_open(job.threads);
    Arena *mem = arena_new();
    TextSource source = learned = lesson_open();
    const Origin origin = { .task = "copy", .corpus = job.corpus }; /* one without a tokenizer */
    Saved *from = job.resume ? saved_read(path, false) : NULL;

    if (from && saved_corpus(from) != job.corpus)
        from->progress.best = HUGE_VAL, from->progress.best_step = 0;
    Run *run = from ? run_resume(path, from, &origin) : run_open(path, NULL, true, &origin);
    Model model;

    if (from) {
        model = from->model;
        model.config.dropout = job.config.dropout;
    } else {
        model_init(&model, job.config, mem, job.seed);
    }
    run_start(run, from ? from->progress.step : 0, "\"command\":\"{\"");
    unread = model.embedding->data + model.embedding->n - 1;
    gain = param_named(&model.params, "norm")->data;
    if (job.kill_at || job.ask_at || job.break_at || job.skipped)
        source.source.batch = batch_or_die;
    if (job.stop_at_row)
        source.source.row = row_and_stop;
    const TrainResult r =
        train(&(Training){ &tape, &model, &source.source, job.test ? &source.source : NULL, run,
                           from, &job.stop },
              &job.options);
    run_close(run);
    if (from)
        saved_free(from);
    lesson_close(&source);
    tape_close(&tape);
    arena_free(mem);
    if (r.why == STOP_DIVERGED)
        exit(EXIT_FAILED);
}

void check_trains(void)
{
    int code = exit_code_of(do_job, folder);

    ck_assert_msg(code == 0, "exit %d: %s", code, said);
}

Model model_of(const char *name, Arena *mem)
{
    Model model;

    safetensors_free(load_checkpoint(in_folder(name), &model, mem));
    return model;
}

Weights trained_weights(int threads)
{
    Weights w;

    job.threads = threads;
    check_trains();
    w.at[0] = file_read(in_folder("model.safetensors"), &w.n[0]);
    w.at[1] = file_read(in_folder("best.safetensors"), &w.n[1]);
    return w;
}

void check_same_files(const Weights *a, const Weights *b, const char *what)
{
    for (int i = 0; i < 2; i++)
        ck_assert_msg(a->n[i] == b->n[i] && memcmp(a->at[i], b->at[i], a->n[i]) == 0,
                      "%s: the %s weights differ", what, i ? "best" : "last");
}

void weights_free(Weights w)
{
    free(w.at[0]), free(w.at[1]);
}

int saved_step(void)
{
    Safetensors *file = safetensors_read(in_folder("model.safetensors"));
    int step = atoi(safetensors_meta(file, "attnc.step"));

    safetensors_free(file);
    return step;
}
