/*
 * ./eval: how well a trained model predicts a text, or solves its task, at different lengths.
 *
 *     RUN -> model     CORPUS -> bytes -> tokens     lengths -> one or more rows each
 *                      or held-back rows of its task
 *
 * Everything is checked before anything is computed. Rows are printed as they are computed; files
 * are written at the end.
 */
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "tools/common/held_back.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"
#include "tools/eval/show.h"
#include "tools/eval/table.h"

#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>

/* PARTS: the buckets of by-position in a trained context. */
enum { PARTS = 4, SHOWN = 60, LONGEST = 1 << 24, PATIENCE = 5, SHOWN_MOST = 1000 };

static OptionList lengths;
static const char *protocol_words = "disjoint", *rope_scale, *csv_path, *svg_path, *labels;
static int horizon, max_tokens, threads, precision, items, rows = 500, show;
static uint64_t seed;
static double share = (double)NAN;
static bool best;

static Option options[] = {
    { .name = "Input" },
    { "labels", OPTION_TEXT, &labels, .word = "FILE",
      .help = "evaluate a classifier trained with --labels on these labelled texts" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = LONGEST,
      .help = "tokens in a window; default: 1/4 to 16 times the trained context, by-position: the "
              "longest of these" },
    { "protocol", OPTION_TEXT, &protocol_words, .word = "NAME",
      .help = "disjoint, sliding:S or by-position" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { "rows", OPTION_INT, &rows, .max = 1 << 24,
      .help = "classifiers and synthetic tasks: rows at each length, at most; 0: all, which is the "
              "default for labelled texts" },
    { "items", OPTION_INT, &items, .max = 1 << 20,
      .help = "synthetic tasks: items in a row; 0: as trained, or the task's default" },
    { "max-tokens", OPTION_INT, &max_tokens, .max = 1 << 30,
      .help = "use only the first tokens of the text; 0: all" },
    { "val-share", OPTION_REAL, &share, .max = 0.9, .above = true,
      .help = "use only this fraction of CORPUS, at its end" },
    { .name = "Beyond the trained context" },
    { "rope-scale", OPTION_TEXT, &rope_scale, .word = "KIND:S",
      .help = "slow RoPE's rotations: linear:S all by S; ntk:S the slowest by S, the fastest not" },
    { "horizon", OPTION_INT, &horizon, .max = LONGEST,
      .help = "cosformer: length at which the angles reach 90 degrees; 0: as trained" },
    { .name = "Results" },
    { "show", OPTION_INT, &show, .max = SHOWN_MOST,
      .help = "synthetic tasks: print N rows with the model's answers" },
    { "seed", OPTION_SEED, &seed, .help = "seed for the rows of --show" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE", .help = "write the table, to full precision" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "plot perplexity or accuracy by length, or loss by position" },
    { "precision", OPTION_CHOICE, &precision, .choices = precision_names,
      .help = "format of the operands of matrix products" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./eval [options] RUN [CORPUS...]",
    .summary = "Evaluates a model at different lengths; RUN is a run's folder or a checkpoint.",
    .options = options,
    .notes = "What is measured depends on the run's task:\n"
             "  causal         perplexity of tokens and words, bits per byte\n"
             "  mlm            perplexity and accuracy of masked tokens\n"
             "  classify       accuracy and macro-F1; --labels, or a CORPUS for each class\n"
             "  mqar, ...      accuracy of answers, fraction of rows with all answers right\n"
             "Without a CORPUS, the run's validation text or held-back rows are used.\n"
             "\n"
             "At each length, every token of the text but the first is predicted once:\n"
             "  disjoint       in adjacent windows\n"
             "  sliding:S      each window scores its last S tokens, the first window all of\n"
             "                 its tokens\n"
             "  by-position    disjoint, with a row for each range of positions in the window\n"
             "Words are separated by white space.\n"
             "\n"
             "Beyond the trained context a model extrapolates, unless its positions are scaled\n"
             "into the trained range: by --rope-scale, or in cosformer, whose angles span the\n"
             "window or --horizon, whichever is longer. Learned positions cannot be extended.\n",
};

/* Applies the options to the trained configuration. */
static void adapt(Config *c)
{
    if (rope_scale && c->position != POSITION_ROPE)
        die(EXIT_USAGE, "--rope-scale is for RoPE, but this model's positions are %s",
            position_names[c->position]);
    c->rope_scale = settings_rope_scale(rope_scale);
    if (horizon > 0 && !config_set(c, "horizon", horizon))
        settings_check(&program, "horizon", c->attention);
}

static double told;

static void tell(double done)
{
    if (seconds_now() - told < PATIENCE)
        return;
    told = seconds_now();
    fprintf(stderr, "%.0f%%\n", 100 * done);
}

/* The length is not known yet: at_length() replaces a stride of 0 and a bucket of 1. */
static Protocol read_protocol(void)
{
    enum { SLIDING = 8 };
    const char *end;
    Protocol p = { .tell = tell };
    double stride;

    if (strcmp(protocol_words, "by-position") == 0)
        p.bucket = 1;
    else if (strncmp(protocol_words, "sliding:", SLIDING) == 0 &&
             options_number(protocol_words + SLIDING, &end, &stride) && !*end && stride >= 1 &&
             stride <= LONGEST && stride == floor(stride))
        p.stride = (int)stride;
    else if (strcmp(protocol_words, "disjoint") != 0)
        die(EXIT_USAGE,
            "--protocol %s: must be disjoint, by-position, or sliding:S with S from 1 to %d, "
            "such as sliding:64",
            text_cut(protocol_words, SHOWN).at, LONGEST);
    return p;
}

static Protocol at_length(Protocol p, int length, int trained)
{
    p.length = length;
    if (p.stride == 0)
        p.stride = length;
    if (p.bucket > 0)
        p.bucket = trained < PARTS ? 1 : trained / PARTS;
    return p;
}

/* What is measured: a text, or rows. */
typedef struct {
    const Model *model;
    Table *table;
    Protocol p;
    Tokens text;
    HeldBack *held_back; /* NULL: the text */
    Tape tape;
} Exam;

/* Why there are no windows or rows of that length; empty: there are. */
static Text misfit(const Exam *e, int length)
{
    const Model *model = e->model;
    const Text why = perplexity_misfit(model, length, e->held_back ? LONGEST + 1 : e->text.n);

    if (length < e->p.stride)
        return text_format("sliding:%d needs windows of at least %d", e->p.stride, e->p.stride);
    return why.n || !e->held_back ? why : held_back_misfit(e->held_back, length);
}

/* The default lengths; by-position uses only the longest. */
static OptionList usual_lengths(const Exam *e)
{
    const int trained = e->table->trained;
    const bool one = e->held_back && e->held_back->fixed;
    OptionList list = { 0 };

    for (int part = one ? PARTS : 1; part <= (one ? PARTS : 16 * PARTS); part *= 2) {
        double length = (double)trained * part / PARTS;

        if (length >= 1 && length == floor(length) && length <= LONGEST &&
            config_forward_memory(&e->model->config, length) <= machine_memory())
            list.at[list.n++] = (int)length;
    }
    if (list.n == 0)
        list.at[list.n++] = trained;
    return list;
}

/* Reports lengths that are left out for one reason. */
static void leave_out(Text *left, Text why)
{
    if (left->n)
        fprintf(stderr, "left out: %s; %s\n", left->at, why.at);
    *left = (Text){ 0 };
}

static void check_length(const Exam *e, int length)
{
    const Config *c = &e->model->config;

    if (e->held_back)
        config_check_forward_memory(c, (double)perplexity_batch(c, length) * length);
    else
        perplexity_check(e->model, at_length(e->p, length, e->table->trained), e->text.n);
}

static noreturn void refuse_length(const Exam *e, int length)
{
    check_length(e, length);
    die(EXIT_USAGE, "length %d: %s", length, misfit(e, length).at);
}

static OptionList fitting_lengths(const Exam *e, OptionList all)
{
    OptionList list = { 0 };

    for (int i = 0; i < all.n; i++)
        if (!misfit(e, all.at[i]).n)
            list.at[list.n++] = all.at[i];
    return list;
}

static void tell_left_out(const Exam *e, OptionList all)
{
    Text left = { 0 }, reason = { 0 };

    for (int i = 0; i < all.n; i++) {
        const Text why = misfit(e, all.at[i]);

        if (!why.n)
            continue;
        if (strcmp(why.at, reason.at) != 0)
            leave_out(&left, reason);
        text_add(&left, "%s%d", left.n ? ", " : "length ", all.at[i]);
        reason = why;
    }
    leave_out(&left, reason);
}

static void measure_text(Exam *e, Protocol p)
{
    Score *score = xmalloc((size_t)perplexity_scores(p) * sizeof *score);

    fprintf(stderr, "%zu tokens in windows of %d\n", e->text.n, p.length);
    perplexity(&e->tape, e->model, &e->text, p, score);
    table_add(e->table, p, score);
    free(score);
}

static void measure_rows(Exam *e, int length)
{
    Arena *mem = arena_new();
    const Model at = model_at(e->model, length, mem);
    const bool all = e->held_back->labelled && !options_given(&program, "rows");
    const size_t most = all ? 0 : (size_t)rows;
    const Tally tally = tally_take(&e->tape, &at, e->held_back->source, most, mem);

    table_add_tally(e->table, length, held_back_items(e->held_back, length), &tally);
    arena_free(mem);
}

/* The lengths that fit, at least one; reports the others. */
static OptionList choose_lengths(const Exam *e)
{
    const OptionList all = lengths.n > 0 ? lengths : usual_lengths(e);
    OptionList list = fitting_lengths(e, all);

    if (list.n == 0)
        refuse_length(e, all.at[0]);
    if (lengths.n == 0 && e->p.bucket > 0)
        list = (OptionList){ 1, { list.at[list.n - 1] } };
    for (int i = 0; i < list.n; i++)
        check_length(e, list.at[i]);
    tell_left_out(e, all);
    return list;
}

/* Says what the model is measured on. */
static void introduce(const Exam *e)
{
    const bool given = strcmp(e->table->data, "given") == 0;

    trained_introduce(&e->model->config);
    fprintf(stderr, "measured on %s\n",
            e->held_back ? held_back_name(e->held_back, given)
            : given      ? "the given text"
                         : "the validation text");
}

static void measure_all(Exam *e)
{
    const Table *t = e->table;
    const OptionList list = choose_lengths(e);

    introduce(e);
    e->tape =
        (Tape){ .mem = arena_new(), .pool = pool_new(threads), .precision = (Precision)precision };
    if (show > 0)
        show_rows(&e->tape, e->model, e->held_back, show, seed);
    table_print_header(t);
    for (int i = 0; i < list.n; i++) {
        told = seconds_now();
        if (e->held_back)
            measure_rows(e, list.at[i]);
        else
            measure_text(e, at_length(e->p, list.at[i], t->trained));
    }
    pool_free(e->tape.pool);
    arena_free(e->tape.mem);
}

/* Refuses an option that applies only to other kinds of model. */
static void refuse(const char *option, bool wrong, const char *for_what)
{
    if (wrong && options_given(&program, option))
        die(EXIT_USAGE, "--%s is for %s", option, for_what);
}

static void check_options(unsigned kind, bool labelled, int files)
{
    const bool text = kind & (TRAINED_CAUSAL | TRAINED_MASKED);

    refuse("protocol", !text, "models that predict text");
    refuse("max-tokens", !text, "models that predict text");
    refuse("rows", text, "classifiers and synthetic tasks");
    refuse("items", kind != TRAINED_ANSWERS, "synthetic tasks");
    refuse("show", kind != TRAINED_ANSWERS, "synthetic tasks");
    refuse("labels", !labelled, "classifiers that were trained on labelled texts");
    refuse("val-share", files == 0, "a CORPUS: without one, the run's held-back data is used");
    if (options_given(&program, "seed") && show == 0)
        die(EXIT_USAGE, "--seed selects the rows of --show, which is not given");
}

/* Reads what is measured; exam_close() frees it. */
static Exam exam_open(const Saved *run, TextChoice choice, Table *table)
{
    Exam e = { .model = &run->model, .table = table, .p = read_protocol() };

    e.p.masking = trained_masking(run);
    if (table->kind & (TRAINED_CAUSAL | TRAINED_MASKED)) {
        trained_warn(run, choice);
        e.text = trained_text(run, choice);
        table->protocol = protocol_words;
        table->by_position = e.p.bucket > 0;
    } else {
        e.held_back = held_back_open(run, choice, items);
        table->protocol = e.held_back->task       ? "held-back"
                          : e.held_back->labelled ? "labelled"
                                                  : "disjoint";
        if (e.held_back->test && choice.files == 0)
            table->data = "test";
        table->items = held_back_items(e.held_back, run->model.config.context) > 0;
    }
    return e;
}

static void exam_close(Exam *e)
{
    free(e->table->row);
    tokens_free(&e->text);
    if (e->held_back)
        held_back_free(e->held_back);
}

static void write_files(Table *table)
{
    if (csv_path)
        file_print(csv_path, table_csv, table);
    if (svg_path)
        file_print(svg_path, table_svg, table);
}

int main(int argc, char **argv)
{
    int words = options_parse(&program, argc, argv);

    read_protocol(), settings_rope_scale(rope_scale); /* checks them */
    if (words == 0)
        die(EXIT_USAGE, "RUN is missing (a folder or a checkpoint): %s",
            options_usage(&program).at);
    Saved *run = trained_read(argv[0], best, TRAINED_ANY, "./eval");
    Config *c = &run->model.config;
    const TextChoice choice = { (const char *const *)argv + 1, words - 1, share, max_tokens,
                                labels };
    const Output output[] = { { "csv", csv_path }, { "svg", svg_path } };
    Table table = { .config = c,
                    .kind = trained_kind(run),
                    .data = choice.files > 0 || labels ? "given" : "validation",
                    .trained = c->context,
                    .step = run->progress.step,
                    .trained_horizon = table_horizon(c) };
    check_options(table.kind, saved_texts(run) > 0, choice.files);
    trained_check_outputs(output, 2, argv[0], run, choice);
    adapt(c);
    Exam exam = exam_open(run, choice, &table);
    measure_all(&exam);
    write_files(&table);
    exam_close(&exam);
    saved_free(run);
    options_finish();
    return 0;
}
