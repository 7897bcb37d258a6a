/*
 * ./analyse: where the heads of a trained model attend, and the rank of their matrices.
 *
 *     RUN -> model     TEXT -> tokens -> windows     each layer and head -> a row
 *
 * All checks are made before anything is computed.
 */
#include "tools/analyse/analyse.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/machine.h"
#include "tools/common/options.h"
#include "tools/common/trained.h"

enum { LONGEST = 1 << 14, N_MOST = 1 << 12, WINDOWS_MOST = 1 << 20, PATIENCE = 5, SHOWN = 60 };

static Study study = { .windows = 8, .band = 8, .faint = 0.01, .tolerance = 1e-3 };
static Exponent exponent = { .rank = 1, .draws = 8, .seed = 1 };
static const char *csv_path, *svg_path, *spectra_path;
static int threads;
static bool best;

static Option options[] = {
    { .name = "Input" },
    { "length", OPTION_INT, &study.length, .max = LONGEST,
      .help = "tokens in a window; 0: the trained context" },
    { "windows", OPTION_INT, &study.windows, .min = 1, .max = WINDOWS_MOST,
      .help = "spread evenly over the text" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { "unmask", OPTION_FLAG, &study.unmasked,
      .help = "compute A of a causal model as if all queries saw all keys" },
    { .name = "Measures" },
    { "band", OPTION_INT, &study.band, .max = LONGEST,
      .help = "count keys with |i - j| up to this" },
    { "faint", OPTION_REAL, &study.faint, .max = 1,
      .help = "a weight below this share of the row's largest is faint" },
    { "tolerance", OPTION_REAL, &study.tolerance, .max = 1, .below = true,
      .help = "the rank counts singular values above this share of the largest" },
    { .name = "Results" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE",
      .help = "write the tables, to full precision" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "plot the singular values of each layer" },
    { "spectra", OPTION_TEXT, &spectra_path, .word = "FILE",
      .help = "write those of each head, as CSV" },
    { "threads", OPTION_INT, &threads, .max = 1024,
      .help = "threads; 0: all available processors" },
    { .name = "Without a model: the rank of e^S, element by element" },
    { "exponent", OPTION_INT, &exponent.n, .max = N_MOST,
      .help = "size of random S (N x N); 0: off" },
    { "rank", OPTION_INT, &exponent.rank, .min = 1, .max = N_MOST, .help = "rank of S" },
    { "draws", OPTION_INT, &exponent.draws, .min = 1, .max = 1 << 16,
      .help = "number of matrices S" },
    { "seed", OPTION_SEED, &exponent.seed, .help = "random seed" },
    { 0 },
};

static const Program program = {
    .usage = "./analyse [options] RUN [TEXT...], or ./analyse --exponent N",
    .summary = "Measures the attention matrices of a model; RUN is a run's folder or a checkpoint.",
    .options = options,
    .notes =
        "Without a TEXT the run's validation text is used. A is the matrix that multiplies a\n"
        "head's v: A_ij is the weight of key j for query i. All measures are means over rows and\n"
        "windows, with p_ij = |A_ij| / sum of |A_ij| of row i, since the weights of some\n"
        "mechanisms may be negative or not sum to 1:\n"
        "  entropy        the entropy of p, in nats\n"
        "  keys, of_seen  e^entropy, the effective number of keys, and its share of those visible\n"
        "  in_band        the sum of p over keys at most --band away\n"
        "  distance       |i - j|, weighted by p\n"
        "  faint, zero    the share of weights below --faint times the largest, and of zeros\n"
        "  negative       the sum of p over negative weights\n"
        "  sum            the sum of A_ij: 1 where a row is an average\n"
        "  empty          the share of rows without weights, which are in none of the means\n"
        "\n"
        "Of the singular values s of A, and for softmax and gau of their scores Q K^T / sqrt(D):\n"
        "  rank, share    the number above --tolerance times the largest, and its share of all.\n"
        "                 NumPy's matrix_rank() of floats has a tolerance of length x 1.2e-7\n"
        "  effective      e^entropy of s / sum of s (Roy and Vetterli, 2007)\n"
        "  90%            how many of the largest make up 90% of the sum (Wang et al., 2020)\n"
        "\n"
        "The row `uniform` has the values of rows that weight all visible keys equally.\n",
};

static void check_other(const char *const *option, bool is_exponent)
{
    for (; *option; option++)
        if (options_given(&program, *option))
            die(EXIT_USAGE, "--%s is for %s", *option,
                is_exponent ? "models, and --exponent uses none" : "--exponent N");
}

/* Options of a model mean nothing without one, and the other way round. */
static void check_kind(void)
{
    static const char *const of_model[] = { "length", "windows", "best",      "unmask",  "band",
                                            "faint",  "svg",     "tolerance", "spectra", NULL },
                             *const of_exponent[] = { "rank", "draws", "seed", NULL };

    check_other(exponent.n > 0 ? of_model : of_exponent, exponent.n > 0);
}

static double told;

static void tell(int window)
{
    if (seconds_now() - told < PATIENCE)
        return;
    told = seconds_now();
    fprintf(stderr, "window %d of %d\n", window + 1, study.windows);
}

/* "a b c" */
static Text text_name(TextChoice choice)
{
    Text name = text_format("%s", choice.files ? choice.file[0] : "validation");

    for (int i = 1; i < choice.files; i++)
        text_add(&name, " %s", choice.file[i]);
    return name;
}

static void write_sheet(Sheet *s)
{
    sheet_print(s);
    if (csv_path)
        file_print(csv_path, sheet_csv, s);
    if (spectra_path)
        file_print(spectra_path, sheet_spectra, s);
    if (svg_path)
        file_print(svg_path, sheet_svg, s);
}

static void analyse_model(const Saved *run, TextChoice choice, Pool *pool)
{
    const Config *c = &run->model.config;
    Tokens text = trained_text(run, choice);
    const Text name = text_name(choice);
    Tape tape = { .mem = arena_new(), .pool = pool };
    Arena *mem = arena_new();

    analysis_check(&run->model, &study, text.n);
    trained_introduce(c);
    told = seconds_now();
    const Analysis found = analysis_make(&tape, &run->model, text, &study, mem);
    fprintf(stderr, "%d windows of %d tokens\n", found.windows, found.length);
    write_sheet(&(Sheet){ run->path, name.at, c, &study, &found });
    tokens_free(&text);
    arena_free(mem);
    arena_free(tape.mem);
}

static void run_model(int words, char **word, Pool *pool)
{
    const TextChoice choice = { .file = (const char *const *)word + 1,
                                .files = words - 1,
                                .share = (double)NAN };

    if (words == 0)
        die(EXIT_USAGE, "RUN is missing (a folder or a checkpoint): %s",
            options_usage(&program).at);
    Saved *run = trained_read(word[0], best, TRAINED_CAUSAL | TRAINED_MASKED, "./analyse");
    if (study.unmasked && run->model.config.task != TASK_CAUSAL)
        die(EXIT_USAGE, "--unmask is for causal models, but this one is bidirectional");
    study.masking = trained_masking(run);
    if (study.length == 0)
        study.length = run->model.config.context;
    trained_check_outputs(
        (const Output[]){ { "csv", csv_path }, { "svg", svg_path }, { "spectra", spectra_path } },
        3, run, choice);
    analyse_model(run, choice, pool);
    saved_free(run);
}

static void run_exponent(int words, char **word, Pool *pool)
{
    if (words > 0)
        die(EXIT_USAGE, "--exponent takes no RUN, but there is '%s'", text_cut(word[0], SHOWN).at);
    exponent_print(&exponent, pool, csv_path);
}

int main(int argc, char **argv)
{
    const int words = options_parse(&program, argc, argv);

    file_ignore_signals();
    check_kind();
    study.tell = tell;
    Pool *pool = pool_new(threads);
    (exponent.n > 0 ? run_exponent : run_model)(words, argv, pool);
    pool_free(pool);
    options_finish();
    return 0;
}
