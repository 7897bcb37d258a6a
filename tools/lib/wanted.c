#include "tools/lib/wanted.h"

#include "tools/common/model_options.h"

#include <string.h>

#define OPTION "attnc.option."

/* Where the options of a model put their values. */
static struct {
    ModelWanted w;
    ModelOptions model;
    const char *tokenizer;
    int task, classes, optimiser;
    bool best;
} to = {
    .w = { .config = { CONFIG_DEFAULT },
           .optimiser.hyper = HYPER_DEFAULT,
           .rate = (double)NAN,
           .clip = 1,
           .seed = 1337 },
    .model = MODEL_OPTIONS_DEFAULT,
    .tokenizer = "byte",
}, defaults;

static Option options[] = {
    { "attn", OPTION_SEQUENCE, &to.model.mechanism.layers, .choice = settings_attention },
    SETTINGS_HERE,
    MODEL_OPTIONS(to.model, to.w.config),
    { "task", OPTION_CHOICE, &to.task, .choices = task_names },
    { "classes", OPTION_INT, &to.classes, .max = 1 << 16 },
    { "tokenizer", OPTION_TEXT, &to.tokenizer, .help = "byte, char or bpe:N" },
    { "vocab", OPTION_INT, &to.w.vocab, .max = 1 << 24 },
    { "optimizer", OPTION_CHOICE, &to.optimiser, .choice = choice_optimiser },
    OPTIMISER_OPTIONS(to.w.optimiser.hyper),
    FREEZE_OPTION(to.w.frozen),
    { "learning-rate", OPTION_REAL, &to.w.rate, .alias = "lr" },
    { "grad-clip", OPTION_REAL, &to.w.clip, .help = "0: do not clip" },
    { "seed", OPTION_SEED, &to.w.seed, .help = "of the weights" },
    { "threads", OPTION_INT, &to.w.threads, .max = 1024 },
    { "precision", OPTION_CHOICE, &to.w.precision, .choices = precision_names },
    { "recompute", OPTION_FLAG, &to.w.recompute, .help = "blocks in the backward pass" },
    { "best", OPTION_FLAG, &to.best, .help = "best.safetensors of a run" },
    { 0 },
};
static Program program = { .usage = "options of a model are --name or --name value",
                           .options = options };

/* Those that a checkpoint does not keep. */
static bool passes(const char *name)
{
    return strcmp(name, "threads") == 0 || strcmp(name, "recompute") == 0 ||
           strcmp(name, "best") == 0;
}

/* Those that may differ from what a checkpoint says. */
static bool may_change(const char *name)
{
    return passes(name) || strcmp(name, "dropout") == 0 || strcmp(name, "learning-rate") == 0 ||
           strcmp(name, "grad-clip") == 0 || strcmp(name, "precision") == 0;
}

static void read_words(const char *words)
{
    if (program.options == options) {
        model_options_add(&program, &to.model);
        defaults = to;
    }
    to = defaults;
    guard_options(&program, words);
}

static void settle_optimiser(void)
{
    const OptimiserKind *kind = optimisers[to.optimiser];

    optimiser_options_settle(&program, kind, &to.w.optimiser);
    if (isnan(to.w.rate))
        to.w.rate = kind->rate;
}

const ModelWanted *wanted_read(const char *words)
{
    Config *c = &to.w.config;

    read_words(words);
    c->task = to.task;
    to.model.seed = to.w.seed;
    model_options_settle(&program, &to.model, NULL, c);
    c->classes = to.classes;
    settle_optimiser();
    if (to.best)
        die(EXIT_USAGE, "--best is for attnc_model_open()");
    if ((c->task == TASK_CLASSIFY) != (c->classes > 1))
        die(EXIT_USAGE, "--task classify needs --classes N, at least 2, and other tasks have none");
    if (to.w.vocab > 0 && options_given(&program, "tokenizer"))
        die(EXIT_USAGE, "--vocab and --tokenizer exclude each other: give only one");
    return &to.w;
}

const ModelWanted *wanted_read_saved(const char *words, const char *path, Saved **from)
{
    read_words(words);
    for (const Option *o = program.options; o->name; o++)
        if (o->given && !may_change(o->name))
            die(EXIT_USAGE, "--%s cannot be changed when a checkpoint is opened", o->name);
    Saved *s = *from = saved_read(path, to.best);
    for (const Option *o = program.options; o->name; o++) {
        const char *value =
            passes(o->name) || strcmp(o->name, "task") == 0 ? NULL : saved_option(s, o->name);

        if (value && !options_restore(&program, o->name, value))
            die(EXIT_DATA, "%.200s: its option %s was '%.60s', which this version does not support",
                s->path, o->name, value);
    }
    settle_optimiser();
    return &to.w;
}

Tokenizer *wanted_tokenizer(Bytes text)
{
    const Text wrong = tokenizer_wrong(to.tokenizer);

    if (wrong.n)
        die(EXIT_USAGE, "--tokenizer %s %s", text_cut(to.tokenizer, 60).at, wrong.at);
    if (!text.at && strcmp(to.tokenizer, "byte") != 0)
        die(EXIT_USAGE, "--tokenizer %s is learned from a text, and there is none",
            text_cut(to.tokenizer, 60).at);
    return tokenizer_learn(to.tokenizer, text.at ? text : (Bytes){ (const unsigned char *)"", 0 });
}

static bool is_given(const char *name)
{
    for (const Option *o = program.options; o->name; o++)
        if (o->given && strcmp(o->name, name) == 0)
            return true;
    return false;
}

const Meta *wanted_options(const Saved *from, Arena *mem, int *n)
{
    const size_t prefix = strlen(OPTION);
    int rows = *n = 0;

    for (const Option *o = program.options; o->name; o++)
        rows++;
    Meta *meta = arena_take(mem, (size_t)(rows + (from ? from->file->metas : 0)) * sizeof *meta);
    for (int i = 0; from && i < from->file->metas; i++) {
        const Meta of = from->file->meta[i];

        if (strncmp(of.key, OPTION, prefix) == 0 && !is_given(of.key + prefix))
            meta[(*n)++] = (Meta){ of.key + prefix, of.value };
    }
    for (const Option *o = program.options; o->name; o++) {
        const Text value = options_value(o);

        if (passes(o->name) || (from && !o->given))
            continue;
        if (value.n >= sizeof value.at - 1)
            die(EXIT_USAGE, "--%s is too long to be saved: the limit is %zu characters", o->name,
                sizeof value.at - 2);
        if (value.n)
            meta[(*n)++] = (Meta){ o->name, arena_string(mem, value.at) };
    }
    return meta;
}

void wanted_restore_optimiser(const Saved *from, Optimiser *o)
{
    const Safetensors *file = from->file;
    bool some = false;

    for (int i = 0; i < file->entries; i++)
        some = some || strncmp(file->entry[i].name, BESIDE, strlen(BESIDE)) == 0;
    if (some)
        saved_optimiser(from, o);
}

Sampling wanted_sampling(const char *words)
{
    static Sampling how;
    static Option table[] = {
        { "temperature", OPTION_REAL, &how.temperature, .max = 100 },
        { "top-k", OPTION_INT, &how.top_k, .max = SAMPLE_MOST },
        { "top-p", OPTION_REAL, &how.top_p, .max = 1, .above = true },
        { "min-p", OPTION_REAL, &how.min_p, .max = 1 },
        { "seed", OPTION_SEED, &how.seed, .help = "of the draws" },
        { "extrapolate", OPTION_FLAG, &how.extrapolate, .help = "beyond the context" },
        { 0 },
    };
    static const Program sampling = { .usage = "options of a sample are --name or --name value",
                                      .options = table };

    guard_lock();
    how = (Sampling){ .temperature = 0.8, .top_p = 1, .seed = 1337 };
    guard_options(&sampling, words);
    const Sampling copy = how;
    guard_unlock();
    return copy;
}
