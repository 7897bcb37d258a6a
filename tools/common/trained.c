#include "tools/common/trained.h"
#include "model/mechanisms.h"

#include "data/corpus.h"
#include "data/tokens.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"
#include "training/source.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 100 };

unsigned trained_kind(const Saved *run)
{
    const int task = run->model.config.task;

    return !run->tokenizer         ? TRAINED_ANSWERS
           : task == TASK_CLASSIFY ? TRAINED_CLASSES
           : task == TASK_MLM      ? TRAINED_MASKED
                                   : TRAINED_CAUSAL;
}

static void print_word(FILE *out, void *path)
{
    text_shell(path, out);
}

/* The path as a word of a command; RUN if it is too long for one line. */
static Text run_word(const char *path)
{
    size_t n;
    char *word = print_to_memory(print_word, (void *)(uintptr_t)path, &n);
    const Text run = text_format("%s", n <= SHOWN ? word : "RUN");

    free(word);
    return run;
}

/* The command for a model of that kind. */
static Text command_for(unsigned kind, const char *path)
{
    const Text run = run_word(path);

    switch (kind) {
    case TRAINED_CAUSAL:
        return text_format("./sample %s", run.at);
    case TRAINED_MASKED:
        return text_format("./fill %s 'text with ___'", run.at);
    case TRAINED_CLASSES:
        return text_format("./classify %s FILE", run.at);
    default:
        return text_format("./eval %s --show 5", run.at);
    }
}

Saved *trained_read(const char *path, bool best, unsigned kinds, const char *program)
{
    Saved *run = saved_read(path, best);
    const unsigned kind = trained_kind(run);

    if (strcmp(saved_task(run), SAVED_OWN_TOKENS) == 0)
        die(EXIT_DATA,
            "%.200s was made with --vocab, without a tokenizer: only the library can read it",
            run->path);
    if (!(kind & kinds))
        die(EXIT_USAGE, "%.200s was trained with --task %s: use %s, not %s", run->path,
            saved_task(run), options_installed(command_for(kind, path).at).at,
            options_installed(program).at);
    if (kind == TRAINED_CLASSES && run->model.config.classes > CLASSES_MAX)
        die(EXIT_DATA, "%.200s has %d classes, more than %d", run->path, run->model.config.classes,
            CLASSES_MAX);
    return run;
}

void trained_introduce(const Config *c)
{
    const Text set = settings_text(c);

    fprintf(stderr, "%s attention%s%s%s, %d x %d, trained at %d\n", config_mechanisms(c).at,
            set.n ? " (" : "", set.at, set.n ? ")" : "", c->layers, c->width, c->context);
}

double trained_number(const Saved *run, const char *option, double least, double most)
{
    const char *words = saved_option(run, option), *end;
    double number;

    if (!words || !options_number(words, &end, &number) || *end)
        die(EXIT_DATA, "%.200s does not record its --%s", run->path, option);
    if (!(number >= least && number <= most))
        die(EXIT_DATA, "%.200s: its --%s is %.40s, which is not between %g and %g", run->path,
            option, words, least, most);
    return number;
}

double trained_share(const Saved *run)
{
    return trained_number(run, "val-share", 0, 0.9);
}

Masking trained_masking(const Saved *run)
{
    const char *words = saved_option(run, "whole-word");
    Masking how = { 0 };

    if (saved_option(run, "mask-share"))
        how.share = trained_number(run, "mask-share", 0, 1);
    if (words && strcmp(words, "on") == 0)
        how.words = run->tokenizer;
    return how;
}

static uint64_t seed_of(const Saved *run)
{
    trained_number(run, "seed", 0, (double)UINT64_MAX); /* checks that it is a number */
    return strtoull(saved_option(run, "seed"), NULL, 10);
}

/* A run from before there was a choice has the default number of bytes. */
static Corpus read_stories(const Saved *run)
{
    const bool given = saved_option(run, "story-bytes");

    return corpus_stories(seed_of(run), given
                                            ? (size_t)trained_number(run, "story-bytes", 1, 1 << 30)
                                            : STORIES_BYTES);
}

LabelCorpus trained_labels(const Saved *run)
{
    const LabelFiles files = { saved_option(run, "labels"), saved_option(run, "labels-val"),
                               trained_share(run), seed_of(run) };
    LabelCorpus labels = label_corpus(files);

    if (labels.hash != saved_corpus(run))
        warn("these are not the texts on which %.200s was trained", run->path);
    return labels;
}

static bool of_bytes(const Saved *run)
{
    return strcmp(tokenizer_words(run->tokenizer), "byte") == 0;
}

static Corpus read_own_corpus(const Saved *run)
{
    int n;

    if (saved_option(run, "imported"))
        die(EXIT_DATA, "%.200s was imported, and has no text of its own: give one", run->path);
    if (!saved_file(run, 0) && saved_corpus(run) == 0)
        die(EXIT_DATA, "%.200s is not from ./train, and has no text of its own: give one",
            run->path);
    const char **file = saved_files(run, &n);
    Corpus corpus =
        n > 0 ? corpus_read((CorpusFiles){ .path = file,
                                           .n = n,
                                           .validation_path = saved_option(run, "val-file"),
                                           .held_back = trained_share(run),
                                           .may_stay = of_bytes(run) })
              : read_stories(run);
    free(file);
    if (corpus.hash != saved_corpus(run))
        warn("this is not the text on which %.200s was trained", run->path);
    return corpus;
}

/* The share at the end of the run's k-th text that it was not trained on, at least. Texts to
 * predict follow each other, and the end of them all is held out. */
static double untrained(const Saved *run, int k)
{
    const bool one_text = trained_kind(run) & (TRAINED_CAUSAL | TRAINED_MASKED);

    return saved_option(run, "val-file") || (one_text && saved_file(run, k + 1))
               ? 0
               : trained_share(run);
}

void trained_warn(const Saved *run, TextChoice choice)
{
    int own = 0;

    while (saved_file(run, own))
        own++;
    const char **path = xmalloc(((size_t)own + (size_t)choice.files + 1) * sizeof *path);
    for (int k = 0; k < own; k++)
        path[k] = saved_file(run, k);
    for (int i = 0; i < choice.files; i++)
        path[own + i] = choice.file[i];
    int *first = file_firsts(path, own + choice.files);
    for (int i = 0; i < choice.files; i++)
        if (first[own + i] < own && !(choice.share <= untrained(run, first[own + i])))
            warn("the model was trained on %s: omit it to use only held-back data",
                 text_cut(choice.file[i], SHOWN).at);
    free(first);
    free(path);
}

Tokens trained_text(const Saved *run, TextChoice choice)
{
    const bool own = choice.files == 0, all = !own && isnan(choice.share);
    Corpus corpus = own ? read_own_corpus(run)
                        : corpus_read((CorpusFiles){ .path = choice.file,
                                                     .n = choice.files,
                                                     .held_back = all ? 0 : choice.share,
                                                     .may_stay = of_bytes(run) });
    Tokens tokens =
        corpus_tokens(&corpus, all ? &corpus.train : &corpus.validation, run->tokenizer);

    if (choice.most > 0 && tokens.n > (size_t)choice.most)
        tokens.n = (size_t)choice.most;
    if (tokens.disk)
        tokens = tokens_into_memory(tokens);
    corpus_free(&corpus);
    return tokens;
}

void trained_check_outputs(const Output *output, int n, const char *path, const Saved *run,
                           TextChoice choice)
{
    const char *const read[] = { path,
                                 run->path,
                                 choice.labels,
                                 saved_option(run, "val-file"),
                                 saved_option(run, "labels"),
                                 saved_option(run, "labels-val") };

    outputs_check(output, n, choice.file, choice.files);
    outputs_check(output, n, read, sizeof read / sizeof *read);
    for (int i = 0; saved_file(run, i); i++)
        outputs_check(output, n, &(const char *){ saved_file(run, i) }, 1);
}
