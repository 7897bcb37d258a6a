/*
 * ./eval: how well a trained model predicts a text at different context lengths.
 *
 *     RUN -> model     CORPUS -> bytes -> tokens     lengths -> a row, or some, each
 *
 * All checks are made before anything is computed. Rows are printed as they are computed; files are
 * written at the end.
 */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "tools/common/options.h"
#include "tools/common/settings.h"
#include "tools/common/trained.h"
#include "tools/eval/table.h"

#include <stdlib.h>
#include <string.h>

/* PARTS: the buckets of by-position in a trained context. */
enum { PARTS = 4, SHOWN = 60, LONGEST = 1 << 24, PATIENCE = 5 };

static OptionList lengths;
static const char *protocol_words = "disjoint", *rope_scale, *csv_path, *svg_path;
static int horizon, max_tokens, threads;
static double share = (double)NAN;
static bool best;

static Option options[] = {
    { .name = "Input" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = LONGEST,
      .help = "tokens in a window; default: 1/4 to 16 times the trained context" },
    { "protocol", OPTION_TEXT, &protocol_words, .word = "NAME",
      .help = "disjoint, sliding:S or by-position" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { "max-tokens", OPTION_INT, &max_tokens, .max = 1 << 30,
      .help = "use only the first tokens of the text; 0: all" },
    { "val-share", OPTION_REAL, &share, .max = 0.9, .above = true,
      .help = "use only this last share of the text" },
    { .name = "Beyond the trained context" },
    { "rope-scale", OPTION_TEXT, &rope_scale, .word = "KIND:S",
      .help = "divide positions by S: linear:4; or only for the slowest rotations: ntk:4" },
    { "horizon", OPTION_INT, &horizon, .min = 1, .max = LONGEST,
      .help = "cosformer: the length that its angles span; 0: the trained one" },
    { .name = "Results" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE", .help = "write the table, to full precision" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "plot perplexity by length, or loss by position" },
    { "threads", OPTION_INT, &threads, .max = 1024,
      .help = "threads; 0: all available processors" },
    { 0 },
};

static const Program program = {
    .usage = "./eval [options] RUN [CORPUS...]",
    .summary = "Measures a model's perplexity by length; RUN is a run's folder or a checkpoint.",
    .options = options,
    .notes =
        "Without a CORPUS the run's validation text is used. At every length each token of the\n"
        "text but the first is predicted once:\n"
        "  disjoint       in adjacent windows\n"
        "  sliding:S      each window scores its last S tokens, the first window all\n"
        "  by-position    disjoint, with a row for each part of the window\n"
        "\n"
        "Beyond the trained context a model extrapolates, unless its positions are scaled to\n"
        "trained ones: by --rope-scale, or in cosformer, whose angles span the longer of the\n"
        "window and --horizon. Learned positions cannot be extended.\n",
};

/* Applies the options to the trained configuration. */
static void adapt(Config *c)
{
    settings_check(&program, "horizon", c->attention);
    if (rope_scale && c->position != POSITION_ROPE)
        die(EXIT_USAGE, "--rope-scale is for RoPE, but the positions of this model are %s",
            position_names[c->position]);
    c->rope_scale = settings_rope_scale(rope_scale);
    if (horizon > 0)
        *setting_at(&c->set, "horizon") = horizon;
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

/* The lengths that text, stride, positions and memory allow; by-position uses only the longest. */
static OptionList usual_lengths(const Model *model, size_t tokens, Protocol p)
{
    const int trained = model->config.context, most = model->position ? trained : LONGEST;
    OptionList list = { 0 };

    for (int part = 1; part <= 16 * PARTS; part *= 2) {
        double length = (double)trained * part / PARTS;

        if (length >= 1 && length == floor(length) && length < (double)tokens &&
            length >= p.stride && length <= most &&
            config_forward_memory(&model->config, length) <= machine_memory())
            list.at[list.n++] = (int)length;
    }
    if (list.n == 0)
        list.at[list.n++] = trained;
    if (p.bucket > 0)
        list = (OptionList){ 1, { list.at[list.n - 1] } };
    return list;
}

static void evaluate_length(Table *t, Tape *tape, const Model *model, const Tokens *text,
                            Protocol p)
{
    Score *score = xmalloc((size_t)perplexity_scores(p) * sizeof *score);

    told = seconds_now();
    fprintf(stderr, "%zu tokens in windows of %d\n", text->n, p.length);
    perplexity(tape, model, text, p, score);
    table_add(t, p, score);
    free(score);
}

static void evaluate_all(Table *t, const Model *model, const Tokens *text, Protocol p)
{
    Tape tape = { .mem = arena_new() };

    if (lengths.n == 0)
        lengths = usual_lengths(model, text->n, p);
    for (int i = 0; i < lengths.n; i++)
        perplexity_check(model, at_length(p, lengths.at[i], t->trained), text->n);
    trained_introduce(&model->config);
    tape.pool = pool_new(threads);
    table_print_header(t);
    for (int i = 0; i < lengths.n; i++)
        evaluate_length(t, &tape, model, text, at_length(p, lengths.at[i], t->trained));
    pool_free(tape.pool);
    arena_free(tape.mem);
}

int main(int argc, char **argv)
{
    int words = options_parse(&program, argc, argv);
    Protocol p = read_protocol();

    file_ignore_signals();
    settings_rope_scale(rope_scale);
    if (words == 0)
        die(EXIT_USAGE, "RUN is missing (a folder or a checkpoint): %s", program.usage);
    Saved *run = trained_read(argv[0], best, "./eval");
    Config *c = &run->model.config;
    const TextChoice choice = { (const char *const *)argv + 1, words - 1, share, max_tokens };
    const Output output[] = { { "csv", csv_path }, { "svg", svg_path } };
    trained_check_outputs(output, 2, run, choice);

    Table table = { .config = c,
                    .protocol = protocol_words,
                    .trained = c->context,
                    .trained_horizon = setting(&c->set, "horizon"),
                    .by_position = p.bucket > 0 };
    adapt(c);
    Tokens text = trained_text(run, choice);
    evaluate_all(&table, &run->model, &text, p);
    if (csv_path)
        file_print(csv_path, table_csv, &table);
    if (svg_path)
        file_print(svg_path, table_svg, &table);
    free(table.row);
    tokens_free(&text);
    saved_free(run);
    options_finish();
    return 0;
}
