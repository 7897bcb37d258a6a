/* ./fill: fills the blanks of a text with a masked model's predictions. */
#include "ops/base/error.h"
#include "tools/common/lines.h"
#include "tools/common/options.h"
#include "tools/common/trained.h"
#include "tools/fill/print.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60, TOP_MOST = 1000, WIDTH_MOST = 1 << 16 };

static BlankStyle style;
static int top = 5, threads;
static bool best, json, csv;

static Option options[] = {
    { .name = "Blanks" },
    { "blank", OPTION_TEXT, &style.mark, .alias = "mask",
      .help = "the text that marks a blank; default: a run of underscores" },
    { "width", OPTION_INT, &style.width, .max = WIDTH_MOST,
      .help = "tokens per blank; 0: one, or with a byte or char tokenizer one per underscore" },
    { .name = "Input and results" },
    { "top", OPTION_INT, &top, .min = 1, .max = TOP_MOST, .alias = "top-k",
      .help = "candidates for each token" },
    { "json", OPTION_FLAG, &json, .help = "print a JSON object for each text" },
    { "csv", OPTION_FLAG, &csv, .help = "print CSV, one row per candidate" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./fill [options] RUN [TEXT...]",
    .summary = "Fills in the blanks of a text with a masked model (./train --task mlm).",
    .options = options,
    .notes = "    ./fill runs/stories-softmax-mlm 'Once upon a ____'\n"
             "\n"
             "prints the text with the most likely tokens filled in, then the candidates for\n"
             "each token with their probabilities. All blanks are predicted in one pass,\n"
             "independently of each other. If TEXT is - or missing, each line of standard\n"
             "input is a text. In a text longer than the trained context, each blank is\n"
             "predicted from a window around it.\n",
};

typedef struct {
    const Saved *run;
    Tape tape;
    int line;
    size_t blanks; /* in all texts */
} Filler;

static void print(const Filled *filled)
{
    if (json)
        filled_json(filled);
    else if (csv)
        filled_csv(filled);
    else
        filled_text(filled);
}

static const char *mark(void)
{
    return style.mark ? style.mark : "___";
}

/* An argument without a blank is a mistake; a line without one is printed as it is. */
static void fill_text(Filler *f, Bytes text, bool argument)
{
    const Tokenizer *tokenizer = f->run->tokenizer;
    const Model *model = &f->run->model;
    const int size = tokenizer_size(tokenizer), most = top < size ? top : size;
    Blanks blanks = blanks_of(tokenizer, text, style, config_mask(&model->config));

    if (argument && blanks.gaps == 0)
        die(EXIT_USAGE, "there is no blank in '%s': write %s where tokens are missing",
            text_cut((const char *)text.at, SHOWN).at, mark());
    Guess *guess = xmalloc((blanks.gaps + 1) * (size_t)most * sizeof *guess);
    const size_t passes = blanks_predict(&blanks, &f->tape, model, most, guess);
    f->line++;
    f->blanks += blanks.gaps;
    if (passes > 0 && blanks.n > (size_t)model->config.context)
        fprintf(stderr, "text %d has %zu tokens, the context only %d: it is read in %zu window%s\n",
                f->line, blanks.n, model->config.context, passes, passes == 1 ? "" : "s");
    print(&(Filled){ f->line, text, tokenizer, &blanks, guess, most });
    blanks_free(&blanks);
    free(guess);
}

static void fill_lines(Filler *f)
{
    Buffer line = { 0 };

    while (lines_next(&line)) {
        fill_text(f, (Bytes){ line.at, line.n }, false);
        fflush(stdout);
    }
    free(line.at);
}

static void check_options(int words)
{
    if (words == 0)
        die(EXIT_USAGE, "RUN is missing (a folder or a checkpoint): %s",
            options_usage(&program).at);
    if (json && csv)
        die(EXIT_USAGE, "--json and --csv exclude each other: give only one");
}

int main(int argc, char **argv)
{
    const int words = options_parse(&program, argc, argv);

    check_options(words);
    Saved *run = trained_read(argv[0], best, TRAINED_MASKED, "./fill");
    Filler f = { .run = run, .tape = { .mem = arena_new(), .pool = pool_new(threads) } };
    if (csv)
        filled_csv_header();
    for (int i = 1; i < words; i++)
        if (strcmp(argv[i], "-") == 0)
            fill_lines(&f);
        else
            fill_text(&f, (Bytes){ (const unsigned char *)argv[i], strlen(argv[i]) }, true);
    if (words == 1)
        fill_lines(&f);
    if (f.blanks == 0)
        warn("there was no blank: write %s where tokens are missing", mark());
    pool_free(f.tape.pool);
    arena_free(f.tape.mem);
    saved_free(run);
    options_finish();
    return 0;
}
