/*
 * ./analyse: where the heads of a trained model attend, and the rank of their matrices.
 *
 *     RUN -> model     TEXT -> tokens -> windows     each layer and head -> a row
 *                                                    with --lengths: for each length
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

static OptionList lengths;
static int plotted;
static Study study = { .windows = 8, .band = 8, .faint = 0.01, .tolerance = 1e-3 };
static Exponent exponent = { .rank = 1, .draws = 8, .seed = 1 };
static const char *csv_path, *svg_path, *spectra_path, *activations_path;
static int threads;
static bool best;

static Option options[] = {
    { .name = "Input" },
    { "length", OPTION_INT, &study.length, .max = LONGEST,
      .help = "tokens in a window; 0: the trained context" },
    { "lengths", OPTION_LIST, &lengths, .min = 1, .max = LONGEST,
      .help = "measure how row sums and entropies change with the length instead" },
    { "windows", OPTION_INT, &study.windows, .min = 1, .max = WINDOWS_MOST,
      .help = "number of windows, spread evenly over the text" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    { "unmask", OPTION_FLAG, &study.unmasked,
      .help = "compute A of a causal model as if every query attended to every key" },
    { .name = "Measures" },
    { "band", OPTION_INT, &study.band, .max = LONGEST,
      .help = "half width of the band: keys with |i - j| up to N" },
    { "faint", OPTION_REAL, &study.faint, .max = 1,
      .help = "count a weight below this fraction of its row's largest as faint" },
    { "tolerance", OPTION_REAL, &study.tolerance, .max = 1, .below = true,
      .help = "rank: count singular values above this fraction of the largest" },
    { .name = "Results" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE",
      .help = "write the tables, to full precision" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "plot the singular values of each layer, or with --lengths what --plot selects" },
    { "plot", OPTION_CHOICE, &plotted, .choices = lengths_plots,
      .help = "what to plot against the length" },
    { "spectra", OPTION_TEXT, &spectra_path, .word = "FILE",
      .help = "write the singular values of each head, as CSV" },
    { "activations", OPTION_TEXT, &activations_path, .word = "FILE",
      .help = "write the ranks of the activations after each layer, as CSV" },
    THREADS_OPTION(threads),
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
    .summary =
        "Analyses the attention matrices of a model of texts (causal or masked); RUN is a run's folder or a checkpoint.",
    .options = options,
    .notes = "Without a TEXT the run's validation text is used. A is the matrix that\n"
             "multiplies a head's v: A_ij is the weight of key j for query i. All measures are\n"
             "means over rows and windows. Some mechanisms have weights that are negative or\n"
             "do not sum to 1, so the measures use p_ij = |A_ij| / sum over l of |A_il|:\n"
             "  entropy        the entropy of p, in nats\n"
             "  keys, of_seen  e^entropy, the effective number of keys, and its share of the\n"
             "                 visible keys\n"
             "  in_band        the sum of p over keys at most --band away\n"
             "  distance       |i - j|, weighted by p\n"
             "  faint, zero    the share of weights below --faint times the row's largest, and\n"
             "                 of zeros\n"
             "  negative       the sum of p over negative weights\n"
             "  sum            the sum of the row, over j of A_ij: 1 if the output is an\n"
             "                 average of v\n"
             "  empty          the share of rows without weights, which no mean includes\n"
             "\n"
             "The singular values s of A, and for softmax and gau also of the scores\n"
             "Q K^T / sqrt(D):\n"
             "  rank, share    the number above --tolerance times the largest, and its share\n"
             "                 of all; NumPy's matrix_rank() uses a tolerance of length x\n"
             "                 1.2e-7 for floats\n"
             "  effective      the effective rank: e^entropy of s / sum of s (Roy and\n"
             "                 Vetterli, 2007)\n"
             "  90%            how many of the largest make up 90% of the sum (Wang et al.,\n"
             "                 2020)\n"
             "\n"
             "Ranks are also counted at tolerances from 1e-1 to 1e-6, as are those of the\n"
             "activations x (length x width) after each layer, for which there is one more\n"
             "measure:\n"
             "  apart          |x - mean row of x| / |x|: 0 if all positions are equal, as\n"
             "                 after many layers without residual connections\n"
             "\n"
             "The row `uniform` shows what equal weights for all visible keys would give.\n"
             "\n"
             "With --lengths, for rows with n visible keys:\n"
             "  seen           n, averaged over the rows: half the length in a causal model\n"
             "  row sum        the sum of a row's weights before normalisation: of e^s for\n"
             "                 softmax, of relu(s)^2 for gau, and the absolute denominator of\n"
             "                 a linear mechanism\n"
             "  its ln         the mean of its logarithm, which a few large rows do not\n"
             "                 dominate\n"
             "  keys_2         1 / sum of p^2\n"
             "and three fits: the exponent a of sum ~ n^a, from the mean of the sums and from\n"
             "the mean of their logarithms, and the slope b of entropy ~ b ln n. Uniform rows\n"
             "give 1 for all three. Memory grows with the length, time with its square or, for\n"
             "exact attention, its cube.\n",
};

enum { OF_WINDOW = 1, OF_LENGTHS = 2, OF_MODEL = OF_WINDOW | OF_LENGTHS, OF_EXPONENT = 4 };

static int kind(void)
{
    return exponent.n > 0 ? OF_EXPONENT : lengths.n > 0 ? OF_LENGTHS : OF_WINDOW;
}

/* An option that has no meaning here. */
static void check_kind(void)
{
    static const struct {
        const char *name;
        int of;
    } options_of[] = {
        { "length", OF_WINDOW },    { "lengths", OF_LENGTHS }, { "windows", OF_MODEL },
        { "best", OF_MODEL },       { "unmask", OF_MODEL },    { "band", OF_MODEL },
        { "faint", OF_WINDOW },     { "svg", OF_MODEL },       { "plot", OF_LENGTHS },
        { "tolerance", OF_WINDOW }, { "spectra", OF_WINDOW },  { "activations", OF_WINDOW },
        { "rank", OF_EXPONENT },    { "draws", OF_EXPONENT },  { "seed", OF_EXPONENT }
    };

    for (size_t i = 0; i < sizeof options_of / sizeof *options_of; i++) {
        const int of = options_of[i].of;

        if (of & kind() || !options_given(&program, options_of[i].name))
            continue;
        die(EXIT_USAGE, "--%s is for %s", options_of[i].name,
            of == OF_EXPONENT       ? "--exponent N"
            : kind() == OF_EXPONENT ? "models, and --exponent uses none"
            : of == OF_LENGTHS      ? "--lengths"
                                    : "windows of one --length, not for --lengths");
    }
    if (options_given(&program, "plot") && !svg_path)
        die(EXIT_USAGE, "--plot is for --svg FILE, which is not given");
}

static double told;

static void tell(int length, int window, int mix)
{
    if (seconds_now() - told < PATIENCE)
        return;
    told = seconds_now();
    fprintf(stderr, "length %d, window %d of at most %d, attention layer %d\n", length, window + 1,
            study.windows, mix + 1);
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
    if (activations_path)
        file_print(activations_path, ranks_activations, s);
    if (svg_path)
        file_print(svg_path, sheet_svg, s);
}

/* What is analysed: a text, and its name. */
typedef struct {
    const Saved *run;
    Tokens text;
    Text name;
    Tape tape;
    Arena *mem;
} Job;

static void analyse_window(Job *j)
{
    const Config *c = &j->run->model.config;

    if (study.length == 0)
        study.length = c->context;
    analysis_check(&j->run->model, &study, j->text.n);
    trained_introduce(c);
    const Analysis found = analysis_make(&j->tape, &j->run->model, j->text, &study, j->mem);
    fprintf(stderr, "%d window%s of %d tokens\n", found.windows, found.windows == 1 ? "" : "s",
            found.length);
    write_sheet(&(Sheet){ j->run->path, j->name.at, c, &study, &found });
}

static void analyse_lengths(Job *j)
{
    const Config *c = &j->run->model.config;
    const GrowthPlan plan = { .length = lengths.at,
                              .masking = study.masking,
                              .lengths = lengths.n,
                              .windows = study.windows,
                              .band = study.band,
                              .unmasked = study.unmasked,
                              .tell = tell };

    growth_check(&j->run->model, &plan, j->text.n);
    trained_introduce(c);
    const Growth found = growth_make(&j->tape, &j->run->model, j->text, &plan, j->mem);
    Lengths l = { j->run->path, j->name.at, c, &plan, &found, plotted };
    lengths_print(&l);
    if (csv_path)
        file_print(csv_path, lengths_csv, &l);
    if (svg_path)
        file_print(svg_path, lengths_svg, &l);
}

static void analyse_model(const Saved *run, TextChoice choice, Pool *pool)
{
    Job j = { run, trained_text(run, choice), text_name(choice), { 0 }, arena_new() };

    j.tape = (Tape){ .mem = arena_new(), .pool = pool };
    told = seconds_now();
    (lengths.n > 0 ? analyse_lengths : analyse_window)(&j);
    tokens_free(&j.text);
    arena_free(j.mem);
    arena_free(j.tape.mem);
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
    trained_check_outputs((const Output[]){ { "csv", csv_path },
                                            { "svg", svg_path },
                                            { "spectra", spectra_path },
                                            { "activations", activations_path } },
                          4, word[0], run, choice);
    analyse_model(run, choice, pool);
    saved_free(run);
}

static void run_exponent(int words, char **word, Pool *pool)
{
    if (words > 0)
        die(EXIT_USAGE, "--exponent takes no RUN, but there is '%s'", text_cut(word[0], SHOWN).at);
    if (exponent.rank > exponent.n)
        die(EXIT_USAGE, "--rank %d: a matrix of --exponent %d has at most rank %d", exponent.rank,
            exponent.n, exponent.n);
    exponent_print(&exponent, pool, csv_path);
}

int main(int argc, char **argv)
{
    const int words = options_parse(&program, argc, argv);

    check_kind();
    study.tell = tell;
    Pool *pool = pool_new(threads);
    (exponent.n > 0 ? run_exponent : run_model)(words, argv, pool);
    pool_free(pool);
    options_finish();
    return 0;
}
