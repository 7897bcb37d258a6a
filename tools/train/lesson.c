#include "tools/train/lesson.h"

#include "data/cifar.h"
#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

/* The text is not that of the run to resume: losses on the old one are no measure for the new. */
static void check_hash(const Lesson *l, const Job *job)
{
    const uint64_t before = job->from ? saved_corpus(job->from) : 0;

    if (!job->from || before == l->hash || (before == 0 && job->made)) /* of an older version */
        return;
    if (!job->other_corpus)
        die(EXIT_DATA,
            "the %s that the run in %.200s was trained on; --allow-corpus-change resumes anyway",
            job->made              ? "data differ from those"
            : job->validation_path ? "text or the validation text differs from the one"
                                   : "text differs from the one",
            job->out_dir);
    job->from->progress.best = HUGE_VAL;
    job->from->progress.best_step = 0;
}

/* Whether a text may stay on disk: its bytes are the tokens. */
static bool may_stay(const Job *job)
{
    const Tokenizer *known = job_known_tokenizer(job);

    return job->config.task != TASK_CLASSIFY &&
           strcmp(known ? tokenizer_words(known) : job->tokenizer, "byte") == 0;
}

static Corpus read_corpus(const Job *job, int first, int files)
{
    if (job->files == 0)
        return corpus_stories(job->seed, (size_t)job->story_bytes);
    return corpus_read((CorpusFiles){ .path = job->file + first,
                                      .n = files,
                                      .validation_path = job->validation_path,
                                      .held_back = job->held_back,
                                      .may_stay = may_stay(job) });
}

static void read_files(Lesson *l, const Job *job)
{
    l->n = job->config.task == TASK_CLASSIFY ? job->files : 1;
    for (int i = 0; i < l->n; i++) {
        l->corpus[i] = l->n > 1 ? read_corpus(job, i, 1) : read_corpus(job, 0, job->files);
        l->hash = l->corpus[i].hash + 3 * l->hash;
    }
    check_hash(l, job);
}

/* Learns from all training data, unless it is known. */
static Tokenizer *learn_tokenizer(const Lesson *l, const Job *job)
{
    Tokenizer *known = job_known_tokenizer(job);
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

/* Built-in texts have no --val-share, and the more of them, the larger the part that is held out.
 */
static void check_stories(const Job *job, size_t tokens)
{
    if (tokens <= (size_t)job->config.context)
        die(EXIT_USAGE,
            "--story-bytes %d: %zu tokens are too few for a context of %d: write more stories, or "
            "choose a smaller --block-size",
            job->story_bytes, tokens, job->config.context);
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

        const Corpus *c = &l->corpus[0];
        const Tokens train = corpus_tokens(c, &c->train, l->tokenizer),
                     validation = corpus_tokens(c, &c->validation, l->tokenizer);

        if (job->files == 0)
            check_stories(job, train.n < validation.n ? train.n : validation.n);
        l->text = source_text(train, validation, context, mask);
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
    Tokenizer *known = job_known_tokenizer(job);

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

/* For config.json. */
static void list_labelled(Lesson *l)
{
    const LabelledTexts *const texts[] = { &l->labelled.train, &l->labelled.validation };
    Corpus *all = l->corpus;

    all->file = l->labelled_file;
    for (int i = 0; i < 2; i++)
        if (texts[i]->from_file)
            all->file[all->files++] =
                (CorpusFile){ texts[i]->path, texts[i]->bytes, texts[i]->hash };
}

static void make_labels(Lesson *l, Job *job)
{
    const LabelledTexts *const texts[] = { &l->labelled.train, &l->labelled.validation };

    read_labels(l, job);
    list_labelled(l);
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
        l->corpus->file = l->lra.file, l->corpus->files = l->lra.files;
        for (int i = 0; i < l->lra.files; i++)
            l->hash = l->lra.file[i].hash + 3 * l->hash;
        check_hash(l, job);
    } else {
        l->rows = source_rows(job->made, job->shape);
        l->source = &l->rows.source;
    }
}

static Lesson *read_lesson(Job *job)
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
    l->source->seed = job->seed;
    return l;
}

Lesson *lesson_open(Job *job)
{
    Lesson *l = job->lesson ? job->lesson : read_lesson(job);

    if (l->tokenizer)
        job->config.vocab = tokenizer_size(l->tokenizer) + (job->config.task == TASK_MLM);
    job_check_memory(job);
    return l;
}

void lesson_free(Lesson *l, const Job *job)
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
