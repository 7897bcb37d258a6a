/*
 * ./classify: labels texts with a trained classifier.
 *
 *     text -> tokens -> adjacent windows of the context -> probabilities -> their mean
 *
 * The last window ends with the text, so all are full; a shorter text is one window of its length.
 * A model that was trained on labelled texts gets a text as it got those: cut to the context.
 */
#include "data/label_rows.h"
#include "data/stream.h"
#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/held_back.h"
#include "tools/common/lines.h"
#include "tools/common/options.h"
#include "tools/common/shown.h"
#include "training/perplexity.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 };
static int top = 1, threads;
static bool by_line, json, csv, best;

static Option options[] = {
    { .name = "Input and results" },
    { "lines", OPTION_FLAG, &by_line, .help = "label each line of standard input" },
    { "top", OPTION_INT, &top, .min = 1, .max = CLASSES_MAX, .alias = "top-k",
      .help = "number of classes to print, the most likely first" },
    { "json", OPTION_FLAG, &json, .help = "print a JSON object for each text, with all classes" },
    { "csv", OPTION_FLAG, &csv, .help = "print CSV, one row per class of --top" },
    { "best", OPTION_FLAG, &best, .help = "use best.safetensors, not model.safetensors" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./classify [options] RUN [FILE...]",
    .summary = "Labels texts with a trained classifier (./train --task classify).",
    .options = options,
    .notes = "Prints the class, its probability and the name of the text, separated by tabs.\n"
             "Without a FILE, or with -, standard input is one text; with --lines, each of its\n"
             "lines is one. Classes are named after the files that the run was trained on, or\n"
             "are the labels of --labels. For a text longer than the trained context,\n"
             "probabilities are averaged over its windows; with --labels it is cut, as in\n"
             "training, and a model of pairs takes two texts with a tab between them.\n",
};

typedef struct {
    const Saved *run;
    Tape tape;
    int classes, order[CLASSES_MAX]; /* the most likely class first */
    double p[CLASSES_MAX];
    Text name[CLASSES_MAX];
    int texts;              /* of a row, if it was trained on labelled texts; else 0 */
    size_t tokens, windows; /* of the current text */
    bool cut;               /* to the context */
} Labeller;

/* Adds the probabilities of a window to the means. */
static void add_window(Labeller *l, const real *logits)
{
    double largest = (double)logits[0], sum = 0, e[CLASSES_MAX];

    for (int c = 1; c < l->classes; c++)
        largest = fmax(largest, (double)logits[c]);
    for (int c = 0; c < l->classes; c++)
        sum += e[c] = exp((double)logits[c] - largest);
    for (int c = 0; c < l->classes; c++)
        l->p[c] += e[c] / sum / (double)l->windows;
}

/* Window k of T tokens. */
static void read_window(const Tokens *text, size_t k, Batch row)
{
    const size_t T = (size_t)row.T, at = (k + 1) * T <= text->n ? k * T : text->n - T;

    for (size_t t = 0; t < T; t++)
        row.id[t] = text->at[at + t];
}

static void read_windows(Labeller *l, const Tokens *text, int T)
{
    const size_t most = (size_t)perplexity_batch(&l->run->model.config, T),
                 B = l->windows < most ? l->windows : most;
    int *id = xmalloc(B * (size_t)T * sizeof *id);

    for (size_t k = 0; k < l->windows; k += B) {
        const size_t n = l->windows - k < B ? l->windows - k : B;
        const Batch batch = { .B = (int)n, .T = T, .id = id, .target = id, .whole = true };

        for (size_t b = 0; b < n; b++)
            read_window(text, k + b, batch_row(batch, (int)b));
        tape_reset(&l->tape);
        const Tensor *logits = model_outputs(&l->tape, &l->run->model, batch, 0);
        for (size_t b = 0; b < n; b++)
            add_window(l, logits->data + b * (size_t)l->classes);
    }
    free(id);
}

/* The two texts of a pair. */
static void split(Bytes text, Bytes part[LABEL_TEXTS])
{
    const unsigned char *tab = text.n ? memchr(text.at, '\t', text.n) : NULL;

    if (!tab)
        die(EXIT_DATA, "the model compares two texts, which a tab separates; there is none in: %s",
            text_cut(shown_token(text).at, SHOWN).at);
    part[0] = (Bytes){ text.at, (size_t)(tab - text.at) };
    part[1] = (Bytes){ tab + 1, text.n - part[0].n - 1 };
    if (part[0].n == 0 || part[1].n == 0 || memchr(part[1].at, '\t', part[1].n))
        die(EXIT_DATA, "the model compares two texts, with a tab between them: %s",
            text_cut(shown_token(text).at, SHOWN).at);
}

/* A text as a row of a labelled file has it. */
static void judge_row(Labeller *l, Bytes text)
{
    const Config *c = &l->run->model.config;
    const bool paired = config_has_towers(c);
    Labelled row = { .text = { text } };
    const LabelledTexts one = { .row = &row, .rows = 1, .texts = l->texts };
    int target, length[2];

    if (l->texts > 1 && text.n > 0)
        split(text, row.text);
    LabelRows rows = label_rows(&one, &(Labels){ 0 }, l->run->tokenizer);
    l->tokens = rows.start[l->texts];
    l->cut = label_rows_cut(&rows, c->context, paired);
    int *id = xmalloc((size_t)c->context * sizeof *id);
    const Batch batch = { 1, c->context, id, &target, length, true, paired };
    label_rows_put(&rows, 0, batch);
    l->windows = 1;
    tape_reset(&l->tape);
    if (l->tokens > 0)
        add_window(l, model_outputs(&l->tape, &l->run->model, batch, 0)->data);
    free(id);
    label_rows_free(&rows);
}

static void sort_classes(Labeller *l)
{
    for (int c = 0; c < l->classes; c++) {
        int at = c;

        for (; at > 0 && l->p[c] > l->p[l->order[at - 1]]; at--)
            l->order[at] = l->order[at - 1];
        l->order[at] = c;
    }
}

static void judge_windows(Labeller *l, Bytes text)
{
    const size_t context = (size_t)l->run->model.config.context;
    Tokens tokens = tokens_of(l->run->tokenizer, text);

    l->tokens = tokens.n;
    l->windows = (tokens.n + context - 1) / context;
    if (tokens.n > 0)
        read_windows(l, &tokens, (int)(tokens.n < context ? tokens.n : context));
    tokens_free(&tokens);
}

static void judge(Labeller *l, Bytes text)
{
    memset(l->p, 0, sizeof l->p);
    (l->texts ? judge_row : judge_windows)(l, text);
    sort_classes(l);
}

static void print_json(const Labeller *l, Bytes name)
{
    printf("{\"name\":");
    lines_json(name, stdout);
    printf(",\"label\":");
    text_json(l->tokens ? l->name[l->order[0]].at : NULL, stdout);
    printf(",\"tokens\":%zu,\"windows\":%zu,\"probabilities\":{", l->tokens, l->windows);
    for (int i = 0; i < l->classes && l->tokens; i++) {
        printf("%s", i ? "," : "");
        text_json(l->name[l->order[i]].at, stdout);
        printf(":%s", text_number(l->p[l->order[i]]).at);
    }
    printf("}}\n");
}

/* An empty text has one row, in which class and probability are empty. */
static void print_csv(const Labeller *l, Bytes name)
{
    const int classes = l->tokens ? l->classes : 1;

    for (int i = 0; i < top && i < classes; i++) {
        lines_csv(name, stdout);
        printf(",%zu,%zu,%d,", l->tokens, l->windows, i + 1);
        if (l->tokens)
            csv_write_quoted(stdout, l->name[l->order[i]].at);
        printf(",%s\n", l->tokens ? text_number(l->p[l->order[i]]).at : "");
    }
}

static void print_text(const Labeller *l, Bytes name)
{
    Stream out = { .out = stdout, .one_line = true };

    for (int i = 0; i < top && i < l->classes; i++) {
        const Text *label = &l->name[l->order[i]];

        stream_write(&out, l->tokens ? (Bytes){ (const unsigned char *)label->at, label->n }
                                     : (Bytes){ (const unsigned char *)"-", 1 });
        if (l->tokens)
            printf("\t%.4f\t", l->p[l->order[i]]);
        else
            printf("\t-\t");
    }
    stream_write(&out, name);
    stream_end(&out);
    putchar('\n');
    fflush(stdout); /* the whole line, before a note about it */
}

static void label(Labeller *l, Bytes text, Bytes name)
{
    judge(l, text);
    (json ? print_json : csv ? print_csv : print_text)(l, name);
    if (l->cut)
        fprintf(stderr, "%zu tokens, cut to the context of %d: %s\n", l->tokens,
                l->run->model.config.context, text_cut(shown_token(name).at, SHOWN).at);
    if (l->windows > 1)
        fprintf(stderr, "%zu tokens, a mean over %zu windows of %d: %s\n", l->tokens, l->windows,
                l->run->model.config.context, text_cut(shown_token(name).at, SHOWN).at);
}

/* A line may end with CRLF, as in a file of labelled texts. */
static void label_lines(Labeller *l)
{
    Buffer line = { 0 };

    while (lines_next(&line)) {
        label(l, (Bytes){ line.at, line.n }, (Bytes){ line.at, line.n });
        fflush(stdout);
    }
    free(line.at);
}

static void label_file(Labeller *l, const char *path)
{
    size_t n;
    unsigned char *text = file_read(path, &n);

    if (n == 0)
        die(EXIT_DATA, "%s is empty: there is nothing to label",
            strcmp(path, "-") ? shown_plain(path).at : "standard input");
    while (l->texts && n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--; /* rows of labelled files have none either */
    label(l, (Bytes){ text, n }, (Bytes){ (const unsigned char *)path, strlen(path) });
    free(text);
}

static void check_options(int words)
{
    if (words == 0)
        die(EXIT_USAGE, "RUN is missing (a folder or a checkpoint): %s",
            options_usage(&program).at);
    if (json && csv)
        die(EXIT_USAGE, "--json and --csv exclude each other: give only one");
    if (by_line && words > 1)
        die(EXIT_USAGE, "--lines labels lines of standard input: it takes no FILE; use < FILE");
}

int main(int argc, char **argv)
{
    const int words = options_parse(&program, argc, argv);

    check_options(words);
    Saved *run = trained_read(argv[0], best, TRAINED_CLASSES, "./classify");
    Labeller *l = xmalloc(sizeof *l);
    *l = (Labeller){ .run = run, .classes = run->model.config.classes, .texts = saved_texts(run) };
    if (run->model.config.pairs == PAIRS_TOWERS)
        l->texts = 2; /* which a checkpoint of the library does not say */
    l->tape = (Tape){ .mem = arena_new(), .pool = pool_new(threads), .forward_only = true };
    for (int i = 0; i < l->classes; i++)
        l->name[i] = held_back_class(run, i);
    if (csv)
        printf("name,tokens,windows,rank,label,probability\n");
    if (by_line)
        label_lines(l);
    for (int i = 1; i < words; i++)
        label_file(l, argv[i]);
    if (words == 1 && !by_line)
        label_file(l, "-");
    pool_free(l->tape.pool);
    arena_free(l->tape.mem);
    free(l);
    saved_free(run);
    options_finish();
    return 0;
}
