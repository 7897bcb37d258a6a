/* ./train: reads the data, trains, and reports. */
#include "data/cifar.h"
#include "data/corpus.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/kernel/peak.h"
#include "tools/train/job.h"
#include "tools/train/print.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stop;

/* A signal ends the run after its step; a later one, but not the copy that timeout(1) sends to
 * the process and to its group, ends the program. */
static void ask_to_stop(int number)
{
    static double first;

    if (!stop)
        first = seconds_now();
    else if (seconds_now() - first > 0.5)
        signal(number, SIG_DFL), raise(number);
    stop = number;
}

static void catch_signals(void)
{
    struct sigaction a = { .sa_flags = SA_RESTART }, before;

    sigfillset(&a.sa_mask);
    a.sa_handler = ask_to_stop;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGUSR1, &a, NULL); /* what batch systems send before their time limit */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &a, NULL); /* respects nohup, for runs that outlive the terminal */
}

/* The data of a run. */
typedef struct {
    Corpus corpus[CLASSES_MAX]; /* one, or one per class */
    int n;
    uint64_t hash;
    Tokenizer *tokenizer;
    TextSource text;
    ClassSource classes;
    RowSource rows;
    LabelCorpus labelled;
    Labels names;
    LabelRows of_labels[2]; /* to train on, and to validate */
    LabelSource labels;
    Lra lra;
    LraSource arena, test;
    Source *source; /* one of these */
} Lesson;

/* The text is not that of the run to resume. */
static void check_hash(const Lesson *l, const Job *job)
{
    if (job->from && saved_corpus(job->from) != l->hash && !job->other_corpus)
        die(EXIT_DATA,
            "the text differs from the one that the run in %.200s was trained on; "
            "--allow-corpus-change resumes anyway",
            job->out_dir);
}

static Corpus read_corpus(const Job *job, int first, int files)
{
    if (job->files == 0)
        return corpus_stories(job->seed, (size_t)job->story_bytes);
    return corpus_read(
        (CorpusFiles){ job->file + first, files, job->validation_path, job->held_back });
}

static void read_files(Lesson *l, const Job *job)
{
    l->n = job->config.task == TASK_CLASSIFY ? job->files : 1;
    for (int i = 0; i < l->n; i++) {
        l->corpus[i] = l->n > 1 ? read_corpus(job, i, 1) : read_corpus(job, 0, job->files);
        l->hash = corpus_hash(&l->corpus[i]) + 3 * l->hash;
    }
    check_hash(l, job);
}

/* That of the resumed run, or of the initial one unless another is asked for; or NULL. */
static Tokenizer *known_tokenizer(const Job *job)
{
    if (job->from)
        return job->from->tokenizer;
    return job->initial && !options_given(job->program, "tokenizer") ? job->initial->tokenizer
                                                                     : NULL;
}

/* Learns from all training data, unless it is known. */
static Tokenizer *learn_tokenizer(const Lesson *l, const Job *job)
{
    Tokenizer *known = known_tokenizer(job);
    size_t n = 0;

    if (known)
        return known;
    if (l->n == 1)
        return tokenizer_learn(job->tokenizer, l->corpus[0].train);
    for (int i = 0; i < l->n; i++)
        n += l->corpus[i].train.n;
    unsigned char *all = xmalloc(n + 1);
    n = 0;
    for (int i = 0; i < l->n; i++) {
        memcpy(all + n, l->corpus[i].train.at, l->corpus[i].train.n);
        n += l->corpus[i].train.n;
    }
    Tokenizer *t = tokenizer_learn(job->tokenizer, (Bytes){ all, n });
    free(all);
    return t;
}

static void make_source(Lesson *l, const Job *job)
{
    int context = job->config.context;

    if (job->config.task == TASK_CLASSIFY) {
        l->classes.n = l->n;
        for (int i = 0; i < l->n; i++) {
            l->classes.train[i] = tokens_of(l->tokenizer, l->corpus[i].train);
            l->classes.validation[i] = tokens_of(l->tokenizer, l->corpus[i].validation);
        }
        source_classes(&l->classes, context);
        l->source = &l->classes.source;
    } else {
        int mask = job->config.task == TASK_MLM ? tokenizer_size(l->tokenizer) : -1;

        l->text = source_text(tokens_of(l->tokenizer, l->corpus[0].train),
                              tokens_of(l->tokenizer, l->corpus[0].validation), context, mask);
        l->text.masking = (Masking){ job->mask_share, job->whole_word ? l->tokenizer : NULL };
        l->text.shuffled = job->shuffle;
        l->source = &l->text.source;
    }
}

/* Labelled texts, with the labels of the resumed run if there is one. */
static void read_labels(Lesson *l, Job *job)
{
    const LabelFiles files = { job->labels, job->labels_val, job->held_back, job->seed };

    l->labelled = label_corpus(files);
    l->hash = l->labelled.hash;
    check_hash(l, job);
    l->names = job->from ? saved_labels(job->from) : labels_of(&l->labelled.train);
    labels_check(&l->names, &l->labelled.train);
    labels_check(&l->names, &l->labelled.validation);
    job->names = &l->names;
    job->texts = l->labelled.train.texts;
    job->config.classes = l->names.n;
    if (config_has_towers(&job->config) && job->texts == 1)
        die(EXIT_USAGE, "--pairs towers compares two texts, but the rows of %.200s have one",
            job->labels);
}

/* From the labelled texts, or from the stories that the built-in ones are like. */
static Tokenizer *learn_from_labelled(const Lesson *l, const Job *job)
{
    Tokenizer *known = known_tokenizer(job);

    if (known)
        return known;
    if (!job->labels) {
        Corpus stories = corpus_stories(job->seed, STORIES_BYTES);
        Tokenizer *t = tokenizer_learn(job->tokenizer, stories.train);

        corpus_free(&stories);
        return t;
    }
    const Bytes all = label_rows_text(&l->labelled.train);
    Tokenizer *t = tokenizer_learn(job->tokenizer, all);
    free((void *)(uintptr_t)all.at);
    return t;
}

static void make_labels(Lesson *l, Job *job)
{
    const LabelledTexts *const texts[] = { &l->labelled.train, &l->labelled.validation };

    read_labels(l, job);
    l->tokenizer = learn_from_labelled(l, job);
    for (int i = 0; i < 2; i++)
        l->of_labels[i] = label_rows(texts[i], &l->names, l->tokenizer);
    l->labels = source_labels(&l->of_labels[0], &l->of_labels[1], &job->config);
    l->source = &l->labels.source;
}

static void make_rows(Lesson *l, const Job *job)
{
    double chance = synthetic_chance(job->made, job->shape);

    if (job->data || job->files > 0) {
        l->lra = job->made != &cifar_task ? lra_read(job->data)
                 : job->data              ? cifar_read_folder(job->data)
                                          : cifar_read(job->file, job->files);
        l->arena = source_lra(&l->lra.train, &l->lra.validation, chance);
        l->test = source_lra(&l->lra.train, &l->lra.test, chance);
        l->source = &l->arena.source;
    } else {
        l->rows = source_rows(job->made, job->shape);
        l->source = &l->rows.source;
    }
}

static Lesson *lesson_open(Job *job)
{
    Lesson *l = xmalloc(sizeof *l);

    memset(l, 0, sizeof *l);
    if (job->made) {
        make_rows(l, job);
    } else if (job->labelled) {
        make_labels(l, job);
    } else {
        read_files(l, job);
        l->tokenizer = learn_tokenizer(l, job);
        make_source(l, job);
    }
    if (l->tokenizer)
        job->config.vocab = tokenizer_size(l->tokenizer) + (job->config.task == TASK_MLM);
    l->source->seed = job->seed;
    job_check_memory(job);
    return l;
}

static void lesson_free(Lesson *l, const Job *job)
{
    for (int i = 0; i < l->n; i++) {
        corpus_free(&l->corpus[i]);
        tokens_free(&l->classes.train[i]);
        tokens_free(&l->classes.validation[i]);
    }
    tokens_free(&l->text.train);
    tokens_free(&l->text.validation);
    for (int i = 0; i < 2; i++)
        label_rows_free(&l->of_labels[i]);
    labels_free(&l->names);
    label_corpus_free(&l->labelled);
    lra_free(&l->lra);
    const Saved *s = job->from ? job->from : job->initial;
    if (l->tokenizer && !(s && s->tokenizer == l->tokenizer))
        tokenizer_free(l->tokenizer);
    free(l);
}

static bool same_tokens(const Saved *saved, const Tokenizer *t, const Config *c)
{
    if (!saved->tokenizer || !t)
        return saved->tokenizer == t && saved->model.config.vocab == c->vocab;
    char *one = tokenizer_save(saved->tokenizer), *other = tokenizer_save(t);
    const bool same = strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

static void freeze(const Job *job, Params *params)
{
    for (int i = 0; i < job->frozen.n; i++)
        if (params_freeze(params, job->frozen.at[i]) == 0)
            die(EXIT_USAGE, "--freeze %s matches no tensor; some names are %s, %s, %s",
                job->frozen.at[i], params->first->name, params->first->next->name,
                params->first->next->next->name);
    if (params_count(params) == 0)
        die(EXIT_USAGE, "--freeze leaves nothing to train");
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
    freeze(job, &model.params);
    return model;
}

static void write_tokenizer(FILE *out, void *tokenizer)
{
    tokenizer_json(tokenizer, out);
}

/* The files of labelled texts, and how many there are. */
static int labelled_files(const Lesson *l, CorpusFile file[2])
{
    const LabelledTexts *const texts[] = { &l->labelled.train, &l->labelled.validation };
    int n = 0;

    for (int i = 0; i < 2; i++)
        if (texts[i]->from_file)
            file[n++] = (CorpusFile){ texts[i]->path, texts[i]->bytes, texts[i]->hash };
    return n;
}

static Run *open_run(const Job *job, const Lesson *l, const Model *model, const Origin *origin)
{
    const Text name = job_name(job);
    Run *run = job->from ? run_resume(job->out_dir, job->from, origin)
                         : run_open(job->out_dir, name.at, job->overwrite, origin);

    CorpusFile file[2];
    const Corpus labelled = { .file = file, .files = labelled_files(l, file) };
    const Facts facts = { .parameters = params_count(&model->params),
                          .corpus = job->labelled ? &labelled : l->corpus,
                          .corpora = job->labelled ? 1 : l->n };

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
    Origin origin = { .task = job.task, .tokenizer = lesson->tokenizer, .corpus = lesson->hash };

    tape.bf16 = job.precision == PRECISION_BF16;
    job.threads = pool_threads(tape.pool);
    catch_signals();
    origin.option = job_options(&job, mem, &origin.options);
    Transfer transfer;
    Model model = make_model(&job, lesson, mem, &transfer);
    job.training.peak = peak_flops(tape.pool);
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
