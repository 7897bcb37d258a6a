/*
 * ./bench: speed as a share of the machine's peak. Every figure is the best of several runs,
 * relative to the peak measured just before in the same process, since the speed of a shared
 * machine drifts.
 */
#include "tools/bench/bench.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include "ops/kernel/precision.h"
#include "tools/common/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { GEMM, OPS, ATTENTION, STEP, SCALING, DECODE, PROMPT, SHOWN = 60, TRIES = 3 };
static const char *const sections[] = { "gemm",    "ops",    "attention", "step",
                                        "scaling", "decode", "prompt",    NULL };

static int threads, section = -1, batch, precision, most_quadratic = 8192;
static double seconds = 0.3, margin = 5;
static bool bidirectional, recompute;
static const char *names, *csv_path, *svg_path, *save_path, *against_path;
static Text names_help;
static OptionList lengths;
static Config model = { .layers = 6, .heads = 4, .width = 256, .vocab = 256 };
static SettingsOptions settings;

static Option options[] = {
    { .name = "Options" },
    { "only", OPTION_CHOICE, &section, .choices = sections, .help = "measure only this part" },
    THREADS_OPTION(threads),
    { "precision", OPTION_CHOICE, &precision, .choices = precision_names,
      .help = "of the operands of matrix products and dense layers; peaks are those of float" },
    { "seconds", OPTION_DURATION, &seconds, .help = "time each row for at least this long" },
    { "save", OPTION_TEXT, &save_path, .word = "FILE",
      .help = "save the rows and these options, for --against" },
    { "against", OPTION_TEXT, &against_path, .word = "FILE",
      .help = "repeat the measurements in FILE with its options; exit 1 if a row is slower" },
    { "margin", OPTION_REAL, &margin, .max = 1e6,
      .help = "with --against: allowed slowdown of a row in percent" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE", .help = "also write the rows to this file" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "plot the time per token against the length" },
    { .name = "Attention alone, training step, decoding, prompt" },
    { "attn", OPTION_TEXT, &names, .word = "NAMES", .help = names_help.at },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = 1 << 24,
      .help = "contexts (alone: 1024,4096,16384,65536; step: 64,512; decoding: 64,256,1024; "
              "prompt: 512,4096)" },
    { "batch-size", OPTION_INT, &batch, .max = 1 << 20,
      .help = "sequences; 0: 131072 tokens for attention alone, 4096 for a step" },
    { "n-layer", OPTION_INT, &model.layers, .min = 1, .max = 1000, .help = "blocks of the model" },
    { "n-head", OPTION_INT, &model.heads, .min = 1, .max = 1024, .help = "heads" },
    { "n-kv-head", OPTION_INT, &model.kv_heads, .max = 1024,
      .help = "heads of k and v of the model; 0: as many as heads" },
    { "n-embd", OPTION_INT, &model.width, .min = 1, .max = 16384, .help = "width" },
    { "bidirectional", OPTION_FLAG, &bidirectional, .help = "bidirectional attention, not causal" },
    { .name = "Training step" },
    { "recompute", OPTION_FLAG, &recompute,
      .help =
          "store only the activations between blocks; recompute each block in the backward pass" },
    { .name = "Attention alone" },
    { "most-quadratic", OPTION_INT, &most_quadratic, .max = 1 << 24,
      .help = "skip quadratic attentions beyond this length unless named in --attn; 0: never" },
    SETTINGS_HERE,
    { 0 },
};

static Program program = {
    .usage = "./bench [options]",
    .summary =
        "Measures the machine's peak speed, and relative to it the speed of matrix products, ops, "
        "attention alone and training steps; decoding is relative to memory bandwidth, reading a "
        "prompt to a forward pass. --against "
        "compares all rows with those of an earlier run.",
    .options = options,
};

static bool runs(int part)
{
    return section < 0 || section == part;
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Shortest first, since the output shows how the cost per token grows; each once. */
static void sort(OptionList *l)
{
    int n = 0;

    qsort(l->at, (size_t)l->n, sizeof *l->at, by_size);
    for (int i = 0; i < l->n; i++)
        if (i == 0 || l->at[i] != l->at[i - 1])
            l->at[n++] = l->at[i];
    l->n = n;
}

/* NULL: --attn names none, but perhaps all. */
static const Attention *const *named(void)
{
    return names && strcmp(names, "all") != 0 ? bench_named(names) : NULL;
}

/* What a section measures; the arguments are its defaults for --attn and --lengths. */
static Mechanisms mechanisms(const Attention *const *usual, OptionList usual_lengths, Need need)
{
    Mechanisms m = { .lengths = options_given(&program, "lengths") ? lengths : usual_lengths,
                     .model = model,
                     .batch = batch,
                     .recompute = recompute,
                     .program = &program,
                     .settings = settings,
                     .bidirectional = bidirectional,
                     .most_quadratic = most_quadratic };

    if (named() && !options_given(&program, "most-quadratic"))
        m.most_quadratic = 0;
    bench_take(&m, named() ? named() : names ? attentions : usual, need);
    sort(&m.lengths);
    return m;
}

static Need direction(void)
{
    return bidirectional ? NEED_BOTH_SIDES : NEED_CAUSAL;
}

/* Of each part; scaling has only the first length of the step. */
static Mechanisms alone(void)
{
    return mechanisms(attentions, (OptionList){ 4, { 1024, 4096, 16384, 65536 } }, direction());
}

static Mechanisms trained(void)
{
    static const Attention *const softmax[] = { &attention_softmax, NULL };

    return mechanisms(softmax, (OptionList){ 2, { 64, 512 } }, direction());
}

static Mechanisms scaled(void)
{
    Mechanisms m = trained();

    if (!options_given(&program, "lengths"))
        m.lengths.n = 1;
    return m;
}

static Mechanisms decoded(void)
{
    return mechanisms(attentions, (OptionList){ 3, { 64, 256, 1024 } }, NEED_DECODING);
}

static Mechanisms prompted(void)
{
    static const Attention *const both[] = { &attention_softmax, &attention_relu, NULL };

    return mechanisms(both, (OptionList){ 2, { 512, 4096 } }, NEED_DECODING);
}

/* Whether a part with mechanisms runs. */
static bool has_mechanisms(void)
{
    return section < 0 || section >= ATTENTION;
}

#define IN(part) (1U << (part))
#define TRAINED (IN(STEP) | IN(SCALING))
#define OF_MODELS (TRAINED | IN(DECODE) | IN(PROMPT))

/* Options that only some parts use; those that --against restores are no mistake. */
static void warn_unused(void)
{
    static const struct {
        const char *name;
        unsigned parts;
    } partial[] = { { "attn", OF_MODELS | IN(ATTENTION) },
                    { "lengths", OF_MODELS | IN(ATTENTION) },
                    { "batch-size", TRAINED | IN(ATTENTION) },
                    { "n-layer", OF_MODELS },
                    { "n-head", OF_MODELS | IN(ATTENTION) },
                    { "n-embd", OF_MODELS | IN(ATTENTION) },
                    { "n-kv-head", OF_MODELS },
                    { "bidirectional", TRAINED | IN(ATTENTION) },
                    { "most-quadratic", IN(ATTENTION) } };

    for (size_t i = 0; i < sizeof partial / sizeof *partial; i++)
        if (section >= 0 && !against_path && !(partial[i].parts & IN(section)) &&
            options_given(&program, partial[i].name))
            warn("--%s changes nothing with --only %s", partial[i].name, sections[section]);
    if (options_given(&program, "margin") && !against_path)
        warn("--margin changes nothing without --against");
}

/* All checks are made before anything is measured or written. */
static void check(int argc, char **argv)
{
    Mechanisms a = alone(), t = trained(), s = scaled(), d = decoded(), p = prompted();
    const char *setting = settings_given(&program);

    if (argc > 0)
        die(EXIT_USAGE, "bench takes options only, not '%.60s'", argv[0]);
    if ((svg_path && !runs(ATTENTION)) || (setting && !has_mechanisms()))
        die(EXIT_USAGE, "--%s is for attention: --only %s has none", svg_path ? "svg" : setting,
            sections[section]);
    if (!runs(STEP) && recompute)
        die(EXIT_USAGE, "--recompute is for training steps: --only %s has none", sections[section]);
    if (named() && has_mechanisms())
        bench_check_need(&a, named(), section >= DECODE ? NEED_DECODING : direction());
    settings_check_some(&program, runs(ATTENTION) || section < 0 || section >= DECODE
                                      ? a.attentions
                                      : t.attentions);
    if (runs(ATTENTION))
        bench_attention_check(&a);
    if (runs(STEP))
        bench_step_check(&t);
    if (runs(SCALING))
        bench_step_check(&s);
    if (runs(DECODE))
        bench_decode_check(&d);
    if (runs(PROMPT))
        bench_prompt_check(&p);
}

/* All options but those that only name files, or the margin. */
static bool is_saved(const Option *o)
{
    return o->kind != OPTION_GROUP && o->at != &csv_path && o->at != &svg_path &&
           o->at != &save_path && o->at != &against_path && o->at != &margin;
}

static void keep_options(Bench *b)
{
    for (const Option *o = program.options; o->name; o++)
        if (is_saved(o) && o->given) {
            const Text name = text_format("%s %s", o->name, options_value(o).at);

            bench_keep(b, (Row){ .group = "option", .name = name.at });
        }
}

/* Restores "n-layer 6" unless the command line has the option. False: there is none. */
static bool restore(const char *name)
{
    size_t n = strcspn(name, " ");

    for (Option *o = program.options; o->name; o++)
        if (is_saved(o) && strlen(o->name) == n && strncmp(o->name, name, n) == 0 && name[n])
            return o->given || (o->given = options_restore(&program, o->name, name + n + 1));
    return false;
}

static Against read_against(void)
{
    Against a = { .path = against_path, .margin = margin / 100 };

    if (!against_path)
        return a;
    a.rows = rows_read(against_path);
    for (int i = 0; i < a.rows.n; i++)
        if (strcmp(a.rows.at[i].group, "option") == 0 && !restore(a.rows.at[i].name))
            die(EXIT_DATA, "%s has --%.60s, which this version does not support: measure again",
                text_cut(against_path, SHOWN).at, a.rows.at[i].name);
    return a;
}

/* Rather than after everything has been measured. */
static void check_outputs(void)
{
    const Output output[] = { { "csv", csv_path }, { "svg", svg_path }, { "save", save_path } };

    outputs_check(output, 3, &against_path, 1);
}

/* Whether a part runs and, in a repetition, whether any of its rows has to be measured again. */
static bool due(const Bench *b, int part)
{
    for (int i = 0; i < b->rows.n && runs(part); i++) {
        const Row *r = &b->rows.at[i];

        if (strncmp(sections[part], r->group, strlen(r->group)) == 0 &&
            bench_wanted(b, r->group, r->name))
            return true;
    }
    return runs(part) && !b->slower_only;
}

static void measure(Bench *b, const char *svg)
{
    Mechanisms a = alone(), t = trained(), s = scaled(), d = decoded(), p = prompted();

    if (due(b, GEMM))
        bench_gemm(b);
    if (due(b, OPS))
        bench_ops(b);
    if (due(b, ATTENTION))
        bench_attention(b, &a, svg);
    if (due(b, STEP))
        bench_step(b, &t);
    if (due(b, SCALING))
        bench_scaling(b, &s);
    if (due(b, DECODE))
        bench_decode(b, &d);
    if (due(b, PROMPT))
        bench_prompt(b, &p);
}

/* A slower row may have hit a busy moment: it is measured again, and the fastest time counts. */
static void compare(Bench *b)
{
    for (int i = 0; i < TRIES && against_slower(&b->against, &b->rows) > 0; i++) {
        printf("\nMeasuring slower rows again\n");
        b->slower_only = true;
        measure(b, NULL);
        bench_peak(b);
    }
    against_print_end(&b->against, &b->rows);
}

static void print_peak(const Bench *b)
{
    const int n = pool_threads(b->tape.pool);

    printf("peak of %d thread%s: %.1f GFLOP/s, vectors of %d bits\n", n, n == 1 ? "" : "s",
           b->peak / 1e9, VECTOR * 8);
    if (b->tape.precision != PRECISION_FLOAT)
        printf("%s products %s\n", precision_names[precision], precision_how(b->tape.precision));
    if (b->against.path)
        against_print_head(&b->against, &b->rows);
}

/* Measures the peak once more: if it is higher now, all shares above are too high. */
static void print_end(Bench *b)
{
    const double before = b->peak;
    struct rusage usage;

    bench_peak(b);
    if (b->peak > 1.02 * before)
        printf("\npeak, measured again: %.1f GFLOP/s; the percentages above are relative to %.1f\n",
               b->peak / 1e9, before / 1e9);
    if (b->against.path)
        compare(b);
    getrusage(RUSAGE_SELF, &usage);
    printf("\npeak memory of the process: %.1f MiB\n", (double)usage.ru_maxrss / 1024);
}

static void close_bench(Bench *b)
{
    pool_free(b->tape.pool);
    arena_free(b->tape.mem);
    arena_free(b->mem);
    rows_free(&b->rows);
    rows_free(&b->against.rows);
    options_finish();
}

int main(int argc, char **argv)
{
    names_help =
        text_format("all, or some of %s (all; softmax for training steps)", bench_names().at);
    settings_add(&program, &settings, true);
    int left = options_parse(&program, argc, argv);
    Against against = read_against();
    check(left, argv);
    check_outputs();
    warn_unused();
    Bench b = { .tape = { .mem = arena_new(),
                          .pool = pool_new(threads),
                          .precision = (Precision)precision },
                .mem = arena_new(),
                .seconds = seconds,
                .csv = csv_path,
                .against = against };

    bench_peak(&b);
    keep_options(&b);
    print_peak(&b);
    measure(&b, svg_path);
    print_end(&b);
    if (save_path)
        file_print(save_path, rows_write, &b.rows);
    int slower = against_path ? against_slower(&b.against, &b.rows) : 0;
    close_bench(&b);
    if (slower > 0)
        die(EXIT_FAILED, "%d %s slower than in %s by more than %g%%", slower,
            slower > 1 ? "rows are" : "row is", text_cut(against_path, SHOWN).at, margin);
    return 0;
}
