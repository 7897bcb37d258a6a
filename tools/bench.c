/*
 * ./bench: what this machine could do, and what is done with it. Everything is
 * the best of some runs, and a share of the peak that was measured just before
 * in the same process, since the speed of a shared machine drifts.
 */
#include "tools/bench.h"

#include "ops/error.h"
#include "ops/kernel.h"
#include "ops/machine.h"
#include "ops/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { GEMM, OPS, ATTENTION, STEP, NAMES_MOST = 64, SHOWN = 60 };
static const char *const sections[] = { "gemm", "ops", "attention", "step", NULL };

static int threads, section = -1, batch, most_quadratic = 8192;
static double seconds = 0.3;
static bool bidirectional;
static const char *names, *csv_path, *svg_path;
static Text names_help;
static OptionList lengths;
static Config model = { .layers = 6, .heads = 4, .width = 256, .vocab = 256 };
static SettingsOptions settings;

static Option options[] = {
    { .name = "Options" },
    { "only", OPTION_CHOICE, &section, .choices = sections, .help = "one part of it" },
    { "threads", OPTION_INT, &threads, .max = 1024, .help = "0: one for each processor" },
    { "seconds", OPTION_DURATION, &seconds, .help = "for each row, at least" },
    { "csv", OPTION_TEXT, &csv_path, .help = "write the rows to this file as well" },
    { "svg", OPTION_TEXT, &svg_path, .help = "draw a token's time against the length" },
    { .name = "The attention alone, and the training step" },
    { "attn", OPTION_TEXT, &names, .word = "NAMES", .help = names_help.at },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 1 << 24,
      .help = "contexts (alone 1024,4096,16384,65536, for the step 64,512)" },
    { "batch-size", OPTION_INT, &batch, .max = 1 << 20,
      .help = "sequences; 0: 131072 tokens' worth alone, 4096 for the step" },
    { "n-layer", OPTION_INT, &model.layers, .min = 1, .max = 1000, .help = "blocks of the model" },
    { "n-head", OPTION_INT, &model.heads, .min = 1, .max = 1024, .help = "heads" },
    { "n-embd", OPTION_INT, &model.width, .min = 1, .max = 16384, .help = "width" },
    { .name = "The attention alone" },
    { "bidirectional", OPTION_FLAG, &bidirectional, .help = "not causal" },
    { "most-quadratic", OPTION_INT, &most_quadratic, .max = 1 << 24,
      .help = "the longest where each token takes longer, unless --attn names it; 0: any" },
    SETTINGS_ROWS(settings),
    { 0 },
};

static const Program program = {
    .usage = "./bench [options]",
    .summary = "Measures the machine's peak, then products, ops, attention alone and training "
               "steps against it.",
    .options = options,
};

static bool runs(int part)
{
    return section < 0 || section == part;
}

static Text all_names(void)
{
    Text text = { 0 };

    for (const Attention *const *a = attentions; *a; a++)
        text_add(&text, "%s%s", a == attentions ? "" : ", ", (*a)->name);
    return text;
}

/* A name in the list of --attn, or none between two commas. */
static noreturn void refuse_name(const char *name, size_t n)
{
    const Option choice = { .kind = OPTION_CHOICE, .choice = settings_attention };
    const char *near = options_nearest(&choice, name, n);
    Text hint = { 0 }, given = { 0 };

    if (near)
        text_add(&hint, " (did you mean %s?)", near);
    if (n > 0)
        text_add(&given, "%.*s", (int)(n < 2 * SHOWN ? n : 2 * SHOWN), name);
    die(EXIT_USAGE, "--attn %s: takes all by itself, or some of %s, written like relu,softmax%s",
        text_cut(n > 0 ? given.at : names, SHOWN).at, all_names().at, hint.at);
}

static const Attention *find(const char *name, size_t n)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (strlen((*a)->name) == n && strncmp((*a)->name, name, n) == 0)
            return *a;
    refuse_name(name, n);
}

/* Those of "relu,softmax", each once and in that order, ended by NULL. */
static const Attention *const *choose(const char *list)
{
    static const Attention *chosen[NAMES_MOST + 1];
    int n = 0, same;

    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        const Attention *a = find(at, length);

        for (same = 0; same < n && chosen[same] != a; same++)
            ;
        if (same == NAMES_MOST)
            BUG("more than %d attentions", NAMES_MOST);
        chosen[same] = a;
        n += same == n;
        at += length;
        if (!*at)
            return chosen;
    }
}

/* What a section is to measure, where no --attn and no --lengths say otherwise. */
static Mechanisms mechanisms(const Attention *const *usual, OptionList usual_lengths)
{
    bool all = names && strcmp(names, "all") == 0, named = names && !all;
    Mechanisms m = { .attentions = named ? choose(names)
                                   : all ? attentions
                                         : usual,
                     .lengths = options_given(&program, "lengths") ? lengths : usual_lengths,
                     .model = model,
                     .batch = batch,
                     .settings = settings,
                     .bidirectional = bidirectional,
                     .most_quadratic = most_quadratic };

    if (named && !options_given(&program, "most-quadratic"))
        m.most_quadratic = 0;
    return m;
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Shortest first: what is said of them is how a token's cost grows. */
static Mechanisms alone(void)
{
    Mechanisms m = mechanisms(attentions, (OptionList){ 4, { 1024, 4096, 16384, 65536 } });

    qsort(m.lengths.at, (size_t)m.lengths.n, sizeof *m.lengths.at, by_size);
    return m;
}

static Mechanisms trained(void)
{
    static const Attention *const softmax[] = { &attention_softmax, NULL };

    return mechanisms(softmax, (OptionList){ 2, { 64, 512 } });
}

/* Everything that can be refused, before anything is measured or written. */
static void check(int argc, char **argv)
{
    Mechanisms a = alone(), t = trained();
    const char *setting = settings_given(&program);

    if (argc > 0)
        die(EXIT_USAGE, "bench takes options only, not '%.60s'", argv[0]);
    if (!runs(ATTENTION) && (svg_path || (setting && !runs(STEP))))
        die(EXIT_USAGE, "--%s is for attention: --only %s has none", svg_path ? "svg" : setting,
            sections[section]);
    settings_check_some(&program, &settings, runs(ATTENTION) ? a.attentions : t.attentions);
    if (runs(ATTENTION))
        bench_attention_check(&a);
    if (runs(STEP))
        bench_step_check(&t);
}

static FILE *open_file(const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;

    if (path && !file)
        die(EXIT_IO, "cannot write %.200s: %s", path, strerror(errno));
    return file;
}

static void close_file(FILE *file, const char *path)
{
    if (file && (ferror(file) | fclose(file)) != 0)
        die(EXIT_IO, "cannot write %.200s: %s", path, strerror(errno));
}

static void measure(Bench *b, FILE *svg)
{
    Mechanisms a = alone(), t = trained();

    if (runs(GEMM))
        bench_gemm(b);
    if (runs(OPS))
        bench_ops(b);
    if (runs(ATTENTION))
        bench_attention(b, &a, svg);
    if (runs(STEP))
        bench_step(b, &t);
}

int main(int argc, char **argv)
{
    struct rusage usage;

    text_add(&names_help, "all, or some of %s (alone all, for the step softmax)", all_names().at);
    int left = options_parse(&program, argc, argv);
    check(left, argv);
    if (threads == 0)
        threads = machine_processors();
    FILE *csv = open_file(csv_path), *svg = open_file(svg_path);
    Bench b = { .tape = { .mem = arena_new(), .pool = pool_new(threads) },
                .mem = arena_new(),
                .seconds = seconds,
                .csv = csv };

    b.peak = machine_peak(b.tape.pool);
    printf("peak of %d threads: %.1f GFLOP/s, vectors of %d bits\n", threads, b.peak / 1e9,
           VECTOR * 8);
    if (csv)
        bench_csv_header(csv);
    measure(&b, svg);
    getrusage(RUSAGE_SELF, &usage);
    printf("\npeak memory of the process: %.1f MiB\n", (double)usage.ru_maxrss / 1024);
    close_file(csv, csv_path);
    close_file(svg, svg_path);
    pool_free(b.tape.pool);
    arena_free(b.tape.mem);
    arena_free(b.mem);
    if (fflush(stdout) != 0 || ferror(stdout))
        die(EXIT_IO, "cannot write to standard output");
    return 0;
}
