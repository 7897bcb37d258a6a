/* ./report: one page about one or more runs, made from their folders. */
#include "tools/report/report.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/options.h"
#include "tools/common/outputs.h"
#include "tools/common/shown.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_MOST = 1000, POSITIONS_MOST = 64, TOKENS_MOST = 10000 };

static const char *out_path = "report.html", *text_path, *prompt;
static int positions = 32, sample = 160, threads;

static Option options[] = {
    { .name = "Options" },
    { "out", OPTION_TEXT, &out_path, .word = "FILE", .letter = 'o', .help = "the page to write" },
    { "prompt", OPTION_TEXT, &prompt, .help = "draw the attention maps of this text" },
    { "text", OPTION_TEXT, &text_path, .word = "FILE",
      .help = "the same, with the text of a file" },
    { "positions", OPTION_INT, &positions, .min = 1, .max = POSITIONS_MOST,
      .help = "draw at most N positions" },
    { "sample", OPTION_INT, &sample, .max = TOKENS_MOST,
      .help = "tokens in each run's sample; by default, only small models are sampled" },
    THREADS_OPTION(threads),
    { 0 },
};

static const Program program = {
    .usage = "./report [options] RUN...",
    .summary = "Writes a page that compares runs: tables, curves, samples and attention maps.",
    .options = options,
};

/* The files of a run are its input, and so is what ./eval left there. */
static void check_page(int runs, char **run)
{
    const Output page = { "out", out_path };

    outputs_check(&page, 1, &text_path, 1);
    outputs_check(&page, 1, (const char *const *)run, runs);
    for (int i = 0; i < runs; i++)
        outputs_check(&page, 1, &(const char *){ text_format("%s/eval.csv", run[i]).at }, 1);
}

static void check(int runs, char **run)
{
    if (runs == 0)
        die(EXIT_USAGE, "no run given: %s", options_usage(&program).at);
    if (runs > RUNS_MOST)
        die(EXIT_USAGE, "%d runs are too many for a page: at most %d", runs, RUNS_MOST);
    if (prompt && text_path)
        die(EXIT_USAGE, "--prompt and --text both name the text of the maps: give one of them");
    if (options_given(&program, "positions") && !prompt && !text_path)
        die(EXIT_USAGE, "--positions is for attention maps, which need --prompt or --text");
    if (strcmp(out_path, "-") == 0)
        die(EXIT_USAGE, "the page must go to a file, not to standard output");
    check_page(runs, run);
}

/* The text of the maps. */
static unsigned char *read_text(size_t *bytes)
{
    if (text_path) {
        unsigned char *text = file_read(text_path, bytes);

        if (*bytes == 0)
            die(EXIT_DATA, "%s is empty: the maps need a text", text_cut(text_path, 200).at);
        return text;
    }
    if (!prompt)
        return NULL;
    *bytes = strlen(prompt);
    return memcpy(xmalloc(*bytes + 1), prompt, *bytes + 1);
}

/* Reads the runs among the paths and returns their number; a shell pattern may match more. */
static int read_runs(int paths, char **path, Record **record)
{
    int n = 0;
    Text why;
    int *first = file_firsts((const char *const *)path, paths);

    for (int i = 0; i < paths; i++) {
        if (first[i] < i)
            warn("left out: %s is given twice", text_cut(path[i], 200).at);
        else if ((record[n] = record_read(path[i], &why)))
            n++;
        else if (paths > 1)
            warn("left out: %s", why.at);
    }
    free(first);
    if (n == 0 && paths > 1)
        die(EXIT_DATA, "none of the %d paths is the folder of a run", paths);
    if (n == 0)
        die(EXIT_DATA, "%s; give folders that %s wrote, like runs/NAME", why.at,
            options_installed("./train").at);
    return n;
}

/* Runs with the same name are labelled with their paths. */
static void label_runs(Record **record, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (j != i && strcmp(record[i]->name, record[j]->name) == 0)
                record[i]->label = record[i]->path;
}

int main(int argc, char **argv)
{
    const int paths = options_parse(&program, argc, argv);
    Record *record[RUNS_MOST];
    Report report = { .record = record,
                      .positions = positions,
                      .sample = sample,
                      .patient = options_given(&program, "sample"),
                      .threads = threads };

    check(paths, argv);
    unsigned char *text = read_text(&report.text_bytes);
    report.text = text;
    report.records = read_runs(paths, argv, record);
    label_runs(record, report.records);
    file_print(out_path, page_write, &report);
    fprintf(stderr, "%d run%s in %s\n", report.records, report.records == 1 ? "" : "s",
            text_cut(shown_plain(out_path).at, 200).at);
    for (int i = 0; i < report.records; i++)
        record_free(record[i]);
    free(text);
    return 0;
}
