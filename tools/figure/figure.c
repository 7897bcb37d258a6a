/* ./figure: results of experiments as a table and a chart, with mean and deviation over seeds. */
#include "tools/figure/figure.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tools/common/outputs.h"

#include <string.h>

enum { SHOWN = 60, DIGITS = 4, LABELS = 18 };

static Wanted wanted;
static Drawing drawing;
static OptionTexts lines;
static PlotLine line[OPTION_TEXTS_MAX];
static bool table, counts, as_latex;
static int digits = DIGITS, best = BEST_NONE;
static const char *csv_path, *svg_path;

static const char *const bests[] = { [BEST_MIN] = "min", [BEST_MAX] = "max", NULL };

static Option options[] = {
    { .name = "Columns of the files" },
    { "x", OPTION_TEXT, &wanted.x, .word = "COL",
      .help = "columns of the table, x axis of the figure" },
    { "y", OPTION_TEXT, &wanted.y, .word = "COL", .help = "the values to average" },
    { "by", OPTION_TEXTS, &wanted.by, .word = "COL,...",
      .help = "a line for each combination of values of these columns; default with several "
              "files: run" },
    { "where", OPTION_TEXTS, &wanted.where, .word = "COL=VALUE,...",
      .help = "use only rows that match all of these; VALUE|VALUE matches either" },
    { "tuned", OPTION_TEXTS, &wanted.tuned, .word = "COL,...",
      .help = "for each line use only the rows with its best values of these columns, such as "
              "learning-rate: those of the most rows and, among these, of the lowest mean (with "
              "--best max, the highest)" },
    { "order", OPTION_TEXTS, &wanted.order, .word = "NAME,...",
      .help = "put these lines first; default: the order in the files" },
    { .name = "Table" },
    { "table", OPTION_FLAG, &table, .help = "print Markdown (default: only without --svg)" },
    { "latex", OPTION_FLAG, &as_latex, .help = "print LaTeX, for booktabs, instead" },
    { "digits", OPTION_INT, &digits, .max = 12,
      .help = "digits after the decimal point; default: four significant digits" },
    { "counts", OPTION_FLAG, &counts, .help = "add the number of rows of each cell" },
    { "best", OPTION_CHOICE, &best, .choices = bests, .help = "put each column's best in bold" },
    { "versus", OPTION_TEXT, &wanted.versus, .word = "NAME",
      .help = "add a table of each line's difference from this one, in pairs of rows with the same "
              "seed: the mean and half of its 95% interval" },
    { "pair", OPTION_TEXT, &wanted.pair, .word = "COL",
      .help = "the column that pairs have in common; default: seed" },
    { "csv", OPTION_TEXT, &csv_path, .word = "FILE",
      .help = "write the cells at full precision: n, mean, sd, min, max; with --versus also pairs, "
              "difference, half_interval" },
    { .name = "Figure" },
    { "svg", OPTION_TEXT, &svg_path, .word = "FILE",
      .help = "draw the means, with bars of one standard deviation" },
    { "log-x", OPTION_FLAG, &drawing.plot.log_x, .help = "logarithmic x axis" },
    { "log-y", OPTION_FLAG, &drawing.plot.log_y, .help = "logarithmic y axis" },
    { "title", OPTION_TEXT, &drawing.plot.title, .help = "title" },
    { "subtitle", OPTION_TEXT, &drawing.plot.subtitle, .help = "line below the title" },
    { "x-label", OPTION_TEXT, &drawing.plot.x_label, .help = "default: the column's name" },
    { "y-label", OPTION_TEXT, &drawing.plot.y_label, .help = "default: the column's name" },
    { "line", OPTION_TEXTS, &lines, .word = "VALUE:LABEL,...", .help = "reference lines" },
    { 0 },
};

static const Program program = {
    .usage = "./figure [options] --y COL FILE...",
    .summary = "Makes a table and a figure from CSV files and runs. Rows that differ only in other "
               "columns, such as seeds, become their mean and standard deviation.",
    .options = options,
    .notes = "FILE is a CSV file, a log.jsonl, or a run's folder, whose log is read. Every row\n"
             "gets a column `run`, and those of a run's folder one for each of its options.\n"
             "Columns missing from a file are empty. Rows without a number in --y or without a\n"
             "value in --x are left out; a warning says how many. With --versus, a difference\n"
             "whose interval excludes 0 is in bold. Examples:\n"
             "  ./figure --x length --y ppl --by attn --log-x --svg ppl.svg results.csv\n"
             "  ./figure --x step --y loss --by attn --where split=val --svg loss.svg runs/*\n"
             "  ./figure --y loss --by attn --where split=final --versus softmax runs/*",
};

/* A result is a file, and not one of those that are read. */
static void check_outputs(int files, char **read)
{
    const Output output[] = { { "csv", csv_path }, { "svg", svg_path } };

    for (int i = 0; i < 2; i++)
        if (output[i].path && strcmp(output[i].path, "-") == 0)
            die(EXIT_USAGE, "--%s goes to a file, not to standard output", output[i].option);
    outputs_check(output, 2, (const char *const *)read, files);
}

static void read_line(const char *words, PlotLine *to)
{
    const char *end;

    if (!options_number(words, &end, &to->value) || *end != ':')
        die(EXIT_USAGE, "--line %s: must be VALUE:LABEL, such as 2.08:guessing",
            text_cut(words, SHOWN).at);
    to->label = end + 1;
}

static void check(int files, char **path)
{
    if (files == 0)
        die(EXIT_USAGE, "no file given: %s", options_usage(&program).at);
    if (!wanted.y)
        die(EXIT_USAGE, "--y COL is missing, the column with the numbers: %s",
            options_usage(&program).at);
    if (svg_path && !wanted.x)
        die(EXIT_USAGE, "--svg needs --x COL, the column for the x axis");
    if (wanted.pair && !wanted.versus)
        die(EXIT_USAGE, "--pair needs --versus NAME, the line that others are compared with");
    wanted.pair = wanted.pair ? wanted.pair : "seed";
    wanted.largest = best == BEST_MAX;
    check_outputs(files, path);
    for (int i = 0; i < lines.n; i++)
        read_line(lines.at[i], &line[i]);
    drawing.plot.lines = line, drawing.plot.n_lines = lines.n;
}

/* What may surprise in the results. */
static void warn_of(const Figure *f)
{
    if (f->differs.n)
        warn("averaged over runs that differ in %s: tell them apart with --by, or select with "
             "--where",
             text_cut(f->differs.at, 4 * SHOWN).at);
    if (f->unused > 0)
        warn("%d of %d runs, such as %s, have no row here: have they ended?", f->unused, f->runs,
             f->first_unused.at);
    if (f->no_y > 0)
        warn("rows left out: %zu without a number in %s", f->no_y, text_cut(wanted.y, SHOWN).at);
    if (f->no_x > 0)
        warn("rows left out: %zu with nothing in %s", f->no_x, text_cut(wanted.x, SHOWN).at);
    if (svg_path && f->lines > LABELS)
        warn("the figure has room for about %d labels and %zu series: select with --where", LABELS,
             f->lines);
    for (int i = 0; i < wanted.order.n; i++) {
        const Text lacks = figure_lacks(f, wanted.order.at[i]);

        if (lacks.n)
            warn("--order: %s", lacks.at);
    }
}

int main(int argc, char **argv)
{
    const int files = options_parse(&program, argc, argv);

    check(files, argv);
    if (files > 1 && wanted.by.n == 0)
        wanted.by = (OptionTexts){ 1, { "run" } };
    Figure f = figure_read(&wanted, files, argv);
    drawing.figure = &f;
    if (svg_path)
        file_print(svg_path, figure_svg, &drawing);
    if (csv_path)
        file_print(csv_path, figure_csv, &f);
    if (options_given(&program, "table") ? table : as_latex || !svg_path)
        figure_table(&f,
                     (Style){ .digits = options_given(&program, "digits") ? digits : -1,
                              .counts = counts,
                              .latex = as_latex,
                              .best = best },
                     stdout);
    options_finish();
    warn_of(&f);
    arena_free(f.mem);
    return 0;
}
