#include "tools/common/held_back.h"

#include "data/corpus.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/shown.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 };

/* How a class is named after its file, the shortest way first: "corpus", "en/corpus". */
static Text (*const namings[])(const char *path) = { shown_name, shown_place, shown_plain };
enum { NAMINGS = sizeof namings / sizeof *namings };

/* Whether another file of the run would have the same name. */
static bool is_shared(const Saved *run, int i, int naming)
{
    const Text name = namings[naming](saved_file(run, i));

    for (int k = 0; saved_file(run, k); k++)
        if (k != i && strcmp(namings[naming](saved_file(run, k)).at, name.at) == 0)
            return true;
    return false;
}

Text held_back_class(const Saved *run, int i)
{
    const char *file = saved_file(run, i), *label = saved_label(run, i);
    int naming = 0;

    if (label)
        return shown_plain(label);
    if (!file)
        return text_format("class %d", i);
    while (naming < NAMINGS - 1 && is_shared(run, i, naming))
        naming++;
    return namings[naming](file);
}

/* The number of a size that the run set; 0: the task's default. */
static int size_of(const Saved *run, const char *option)
{
    return saved_option(run, option) ? (int)trained_number(run, option, 0, TOKENS_MAX) : 0;
}

/* The index of the name that the option had; 0: it had none. */
static int choice_of(const Saved *run, const char *option, const char *const *names)
{
    const char *name = saved_option(run, option);
    int i = 0;

    while (name && names[i] && strcmp(names[i], name) != 0)
        i++;
    if (name && !names[i])
        die(EXIT_DATA, "%.200s: its --%s was '%.60s', which this version does not have", run->path,
            option, name);
    return i;
}

static const Synthetic *task_of(const Saved *run)
{
    if (strcmp(cifar_task.name, saved_task(run)) == 0)
        return &cifar_task;
    for (int i = 0; synthetics[i]; i++)
        if (strcmp(synthetics[i]->name, saved_task(run)) == 0)
            return synthetics[i];
    die(EXIT_DATA, "%.200s was trained on the task '%.60s', which this version does not have",
        run->path, saved_task(run));
}

/* Whether the model's inputs and outputs are those of the task. */
static bool is_for(const Config *c, const Synthetic *task, SyntheticShape shape)
{
    const int kind = task->classes > 0 ? TASK_CLASSIFY : TASK_CAUSAL;

    return c->task == kind && c->classes == task->classes &&
           c->vocab == synthetic_vocab(task, shape);
}

/* The alphabet stays as it was at the trained length, the number of items may grow. */
static void open_rows(HeldBack *h, const Saved *run, int items)
{
    const Config *c = &run->model.config;
    const char *noise = saved_option(run, "noise");

    h->task = task_of(run);
    h->shape =
        (SyntheticShape){ .T = c->context,
                          .least = size_of(run, "least"),
                          .symbols = size_of(run, "symbols"),
                          .items = size_of(run, "items"),
                          .noise = noise && strcmp(noise, "on") == 0,
                          .difficulty = choice_of(run, "difficulty", synthetic_difficulties) };
    const Text why = synthetic_misfit(h->task, h->shape);
    if (why.n || !is_for(c, h->task, h->shape))
        die(EXIT_DATA, "%.200s does not fit its task %s%s%s", run->path, h->task->name,
            why.n ? ": " : "", why.at);
    h->shape = synthetic_alphabet(h->task, h->shape);
    if (items > 0)
        h->shape.items = items;
}

/* The files of a run. */
static int own_files(const Saved *run, const char *file[CLASSES_MAX])
{
    int n = 0;

    while (n < CLASSES_MAX && (file[n] = saved_file(run, n)))
        n++;
    return n;
}

/* The given images, or the run's test data, or its validation data. */
static void open_images(HeldBack *h, const Saved *run, TextChoice choice)
{
    const char *file[CLASSES_MAX];

    if (!isnan(choice.share))
        die(EXIT_USAGE, "--val-share is for texts: all images of the files are used");
    h->lra = choice.files > 0 ? cifar_read_test(choice.file, choice.files)
             : h->folder      ? cifar_read_folder(h->folder)
                              : cifar_read(file, own_files(run, file));
    h->test = h->lra.test.rows > 0;
    h->folder = h->folder ? h->folder : "";
    h->arena = source_lra(&h->lra.train, h->test ? &h->lra.test : &h->lra.validation,
                          synthetic_chance(h->task, h->shape));
    h->source = &h->arena.source;
}

static void open_task(HeldBack *h, const Saved *run, TextChoice choice, int items)
{
    open_rows(h, run, items);
    h->folder = saved_option(run, "data");
    if (choice.files > 0 && h->task != &cifar_task)
        die(EXIT_USAGE, "%s was trained on %s, which takes no text, but got %s",
            text_cut(run->path, SHOWN).at, h->task->name, text_cut(choice.file[0], SHOWN).at);
    if (items > 0 && !(h->task->takes & SYNTHETIC_ITEMS))
        die(EXIT_USAGE, "--items does not apply to %s", h->task->name);
    if (h->task == &cifar_task) {
        open_images(h, run, choice);
    } else if (h->folder) {
        h->lra = lra_read(h->folder);
        h->arena =
            source_lra(&h->lra.train, &h->lra.validation, synthetic_chance(h->task, h->shape));
        h->source = &h->arena.source;
    } else {
        h->rows = source_rows(h->task, h->shape);
        h->source = &h->rows.source;
    }
    h->fixed = h->folder;
}

/* The held-back parts of the run's own files. */
static void open_own_classes(HeldBack *h, const Saved *run)
{
    uint64_t hash = 0;
    int n;
    const char **file = saved_files(run, &n);

    if (n < run->model.config.classes)
        die(EXIT_DATA, "%.200s does not record its files: give texts as arguments", run->path);
    for (int i = 0; i < run->model.config.classes; i++) {
        Corpus corpus =
            corpus_read((CorpusFiles){ .path = &file[i], .n = 1, .held_back = trained_share(run) });
        hash = corpus.hash + 3 * hash;
        h->classes.validation[h->classes.n] = tokens_of(run->tokenizer, corpus.validation);
        h->label[h->classes.n++] = i;
        corpus_free(&corpus);
    }
    free(file);
    if (hash != saved_corpus(run))
        warn("these are not the texts on which %.200s was trained", run->path);
}

/* Whether that is the name of the file. */
static bool is_named(const char *file, const char *name)
{
    for (int naming = 0; naming < NAMINGS; naming++)
        if (strcmp(namings[naming](file).at, name) == 0)
            return true;
    return false;
}

static int class_of(const Saved *run, const char *file)
{
    const int n = run->model.config.classes;
    Text names = { 0 };

    for (int i = 0; i < n; i++) {
        const Text name = held_back_class(run, i);

        if (is_named(file, name.at))
            return i;
        text_add(&names, "%s%s", i ? ", " : "", text_cut(name.at, 20).at);
    }
    die(EXIT_USAGE, "%s: a text has the name of its class, which is one of %s",
        text_cut(file, SHOWN).at, text_cut(names.at, 200).at);
}

static void open_given_classes(HeldBack *h, const Saved *run, TextChoice choice)
{
    const bool all = isnan(choice.share);

    if (choice.files > CLASSES_MAX)
        die(EXIT_USAGE, "at most %d texts can be evaluated, not %d", CLASSES_MAX, choice.files);
    for (int i = 0; i < choice.files; i++)
        h->label[i] = class_of(run, choice.file[i]);
    trained_warn(run, choice);
    for (int i = 0; i < choice.files; i++) {
        Corpus corpus = corpus_read(
            (CorpusFiles){ .path = choice.file + i, .n = 1, .held_back = all ? 0 : choice.share });

        h->classes.validation[h->classes.n++] =
            tokens_of(run->tokenizer, all ? corpus.train : corpus.validation);
        corpus_free(&corpus);
    }
}

/* Its texts are free()d once they are tokens. */
static void put_labels(HeldBack *h, const Saved *run, const LabelledTexts *texts)
{
    Labels names = saved_labels(run);
    const char *each = saved_texts(run) > 1 ? "two texts" : "one text";

    if (config_has_towers(&run->model.config) && saved_texts(run) != 2)
        die(EXIT_DATA, "%.200s compares two texts, but was trained on rows of one", run->path);
    if (texts->texts != saved_texts(run))
        die(EXIT_DATA, "%s has rows of %d text%s, but %.200s was trained on rows of %s",
            text_cut(texts->path, SHOWN).at, texts->texts, texts->texts > 1 ? "s" : "", run->path,
            each);
    labels_check(&names, texts);
    h->of_labels = label_rows(texts, &names, run->tokenizer);
    h->labels = source_labels(NULL, &h->of_labels, &run->model.config);
    h->source = &h->labels.source;
    labels_free(&names);
}

static void open_labels(HeldBack *h, const Saved *run, TextChoice choice)
{
    LabelCorpus corpus = { .hash = 0 };

    if (choice.files > 0)
        die(EXIT_USAGE, "%s was trained on labelled texts: give others with --labels FILE, not %s",
            text_cut(run->path, SHOWN).at, text_cut(choice.file[0], SHOWN).at);
    h->labelled = h->fixed = true;
    if (choice.labels && saved_option(run, "labels") &&
        file_same(choice.labels, saved_option(run, "labels")))
        warn("the model was trained on %s: without --labels, only held-back rows are used",
             text_cut(choice.labels, SHOWN).at);
    if (choice.labels)
        corpus.validation = labelled_read(choice.labels);
    else
        corpus = trained_labels(run);
    put_labels(h, run, &corpus.validation);
    label_corpus_free(&corpus);
}

HeldBack *held_back_open(const Saved *run, TextChoice choice, int items)
{
    HeldBack *h = xmalloc(sizeof *h);

    memset(h, 0, sizeof *h);
    if (trained_kind(run) == TRAINED_ANSWERS) {
        open_task(h, run, choice, items);
        return h;
    }
    if (saved_texts(run) > 0) {
        open_labels(h, run, choice);
        return h;
    }
    source_held_back_classes(&h->classes);
    if (choice.files > 0)
        open_given_classes(h, run, choice);
    else
        open_own_classes(h, run);
    h->classes.label = h->label;
    h->classes.source.chance = 1.0 / run->model.config.classes;
    h->source = &h->classes.source;
    return h;
}

void held_back_free(HeldBack *h)
{
    for (int i = 0; i < h->classes.n; i++)
        tokens_free(&h->classes.validation[i]);
    label_rows_free(&h->of_labels);
    lra_free(&h->lra);
    free(h);
}

static SyntheticShape shape_at(const HeldBack *h, int T)
{
    SyntheticShape shape = h->shape;

    shape.T = T;
    return shape;
}

const char *held_back_name(const HeldBack *h, bool given)
{
    if (h->labelled)
        return given ? "the given labelled texts" : "the labelled texts that the run held back";
    if (!h->task)
        return given ? "the same number of windows of each text"
                     : "the same number of windows of each validation text";
    if (!h->folder)
        return "rows drawn independently of training";
    return given            ? "all images of the given files"
           : h->test        ? "the test data"
           : h->task->image ? "the last tenth of the images"
                            : "rows of the validation file";
}

Text held_back_misfit(const HeldBack *h, int T)
{
    if (h->task && (!h->folder || h->task->image))
        return synthetic_misfit(h->task, shape_at(h, T));
    if (h->source->paired && T % 2 != 0)
        return text_format("two texts have half of a row each, so it takes an even length");
    if (h->source->rows(h->source, T) == 0)
        return text_format("a text is shorter than a window");
    return (Text){ 0 };
}

int held_back_items(const HeldBack *h, int T)
{
    if (!h->task || h->folder || !(h->task->takes & SYNTHETIC_ITEMS))
        return 0;
    return synthetic_complete(h->task, shape_at(h, T)).items;
}
