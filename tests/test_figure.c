/* ./figure: the cells of rows, known by hand, and what is made of them. The program is in
 * programs.sh. */
#include "tools/figure/figure.h"

#include "ops/base/csv.h"
#include "ops/base/error.h"
#include "tests/figures.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static OptionTexts texts(const char *a, const char *b)
{
    OptionTexts t = { (a != NULL) + (b != NULL), { a, b } };

    return t;
}

static char *drawn(const Figure *f, Plot plot)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    figure_svg(out, &(Drawing){ f, plot });
    fclose(out);
    return text;
}

START_TEST(a_cell_has_the_mean_and_the_spread_of_its_rows)
{
    Figure f = figure_of(&wanted_all, "a,x,y,seed\nA,1,2,0\nA,2,7,0\nA,1,4,1\nA,1,9,2\nA,2,8,1\n");

    ck_assert_uint_eq(f.cells, 2);
    ck_assert_uint_eq(f.cell[0].n, 3);
    ck_assert_double_eq(f.cell[0].mean, 5);
    ck_assert_double_eq_tol(f.cell[0].sd, sqrt(13), 1e-15);
    ck_assert_double_eq(f.cell[0].min, 2);
    ck_assert_double_eq(f.cell[0].max, 9);
    ck_assert_uint_eq(f.cell[1].n, 2);
    ck_assert_double_eq(f.cell[1].mean, 7.5);
    ck_assert_double_eq_tol(f.cell[1].sd, sqrt(0.5), 1e-15);
    arena_free(f.mem);
}
END_TEST

START_TEST(numbers_and_names_may_have_blanks_around_them)
{
    Figure f = figure_of(&wanted_all, "a, x ,\ty\nA, 1, 2\nA,1 ,+4\nA,+1,\t6 \nA, 2,- 1\n");

    ck_assert_uint_eq(f.cells, 1);
    ck_assert_uint_eq(f.cell[0].n, 3);
    ck_assert_double_eq(f.cell[0].mean, 4);
    ck_assert_uint_eq(f.no_y, 1);
    arena_free(f.mem);
}
END_TEST

START_TEST(equal_numbers_are_their_mean_and_have_no_spread)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,1,0.1\nA,1,0.1\nA,1,0.1\n");

    ck_assert_double_eq(f.cell[0].mean, 0.1);
    ck_assert_double_eq(f.cell[0].sd, 0);
    arena_free(f.mem);
}
END_TEST

START_TEST(a_large_offset_does_not_hide_a_spread)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,1,1000000001\nA,1,1000000002\nA,1,1000000003\n");

    ck_assert_double_eq(f.cell[0].mean, 1000000002);
    ck_assert_double_eq(f.cell[0].sd, 1);
    arena_free(f.mem);
}
END_TEST

START_TEST(infinities_are_shown_and_missing_numbers_are_counted)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,1,inf\nA,1,2\nA,2,-Infinity\nA,3,nan\nA,3,\nA,3,x\n"
                                      "A,3,1e999\nA,3,7\nA,4,-inf\nA,4,inf\nA,,5\n,5,1\n");

    ck_assert_uint_eq(f.no_y, 4);
    ck_assert_uint_eq(f.no_x, 1);
    ck_assert_double_infinite(f.cell[0].mean);
    ck_assert(isnan(f.cell[0].sd));
    ck_assert_double_eq(f.cell[0].min, 2);
    check_printed(&f, plain,
                  "| a | 1 | 2 | 3 | 4 | 5 |\n| --- | --- | --- | --- | --- | --- |\n"
                  "| A | ∞ | −∞ | 7.000 | NaN | |\n| - | | | | | 1.000 |\n");
    arena_free(f.mem);
}
END_TEST

START_TEST(columns_are_sorted_as_numbers_if_all_are)
{
    check_table(&wanted_all, "a,x,y\nA,128,3\nA,16.0,1\nA,64,2\nB,16,5\nB,1e2,6\n",
                "| a | 16 | 64 | 100 | 128 |\n| --- | --- | --- | --- | --- |\n"
                "| A | 1.000 | 2.000 | | 3.000 |\n| B | 5.000 | | 6.000 | |\n");
    check_table(&wanted_all, "a,x,y\nA,128,3\nA,all,1\nA,64,2\n",
                "| a | 128 | all | 64 |\n| --- | --- | --- | --- |\n"
                "| A | 3.000 | 1.000 | 2.000 |\n");
    check_table(&wanted_all, "a,x,y\nA,128,3\nA,inf,1\nA,64,2\n",
                "| a | 128 | inf | 64 |\n| --- | --- | --- | --- |\n"
                "| A | 3.000 | 1.000 | 2.000 |\n");
}
END_TEST

START_TEST(lines_come_in_the_order_that_is_wanted)
{
    Wanted w = wanted_all;

    w.order = texts("C", "A");
    check_table(&w, "a,x,y\nD,1,1\nA,1,2\nB,1,3\nC,1,4\n",
                "| a | 1 |\n| --- | --- |\n"
                "| C | 4.000 |\n| A | 2.000 |\n| D | 1.000 |\n| B | 3.000 |\n");
}
END_TEST

START_TEST(values_of_several_columns_make_a_line)
{
    Wanted w = wanted_all;

    w.by = texts("a", "b");
    check_table(&w, "b,y,a,x\nc,1,a b,1\nb c,2,a,1\n,3,a,1\n,4,,1\n",
                "| a b | 1 |\n| --- | --- |\n"
                "| a b c | 1.000 |\n| a b c | 2.000 |\n| a | 3.000 |\n| - | 4.000 |\n");
}
END_TEST

START_TEST(without_x_there_is_a_column_and_without_by_a_line)
{
    Wanted w = { .y = "y" };

    check_table(&w, "a,x,y\nA,1,1\nB,2,2\n", "| | y |\n| --- | --- |\n| y | 1.500 ± 0.707 |\n");
    w.x = "x";
    check_table(&w, "a,x,y\nA,1,1\nB,2,2\n",
                "| | 1 | 2 |\n| --- | --- | --- |\n| y | 1.000 | 2.000 |\n");
    w.x = NULL, w.by = texts("a", NULL);
    check_table(&w, "a,x,y\nA,1,1\nB,2,2\nA,3,1\n",
                "| a | y |\n| --- | --- |\n| A | 1.000 ± 0.000 |\n| B | 2.000 |\n");
}
END_TEST

START_TEST(rows_are_chosen_by_their_values)
{
    static const char rows[] = "a,x,y,n\nA,1,1,16\nB,1,2,16.0\nC,1,4,32\nD,1,8,\n";
    static const struct {
        const char *where[2];
        double sum;
    } chosen[] = {
        { { "a=A" }, 1 },
        { { "a=A|C" }, 5 },
        { { "n=16" }, 3 },
        { { "n=1.6e1" }, 3 },
        { { "n=" }, 8 },
        { { "n=|32" }, 12 },
        { { "n=16", "a=B|C" }, 2 } /* both */,
    };

    for (int i = 0; i < COUNT(chosen); i++) {
        Wanted w = { .y = "y", .where = texts(chosen[i].where[0], chosen[i].where[1]) };
        Figure f = figure_of(&w, rows);

        ck_assert_double_eq(f.cell[0].mean * (double)f.cell[0].n, chosen[i].sum);
        arena_free(f.mem);
    }
}
END_TEST

START_TEST(files_are_joined_by_the_names_of_their_columns)
{
    Wanted w = wanted_all;

    w.by = texts("a", "only");
    put_text("one", "a,x,y\r\nA,1,2\r\n");
    put_text("two", "y,only,a,x\n4,,A,1\n5,q,A,1\n");
    Figure f = figure_read(&w, 2, (char *[]){ (char *)in_folder("one"), (char *)in_folder("two") });

    check_printed(&f, plain,
                  "| a only | 1 |\n| --- | --- |\n"
                  "| A | 3.000 ± 1.414 |\n| A q | 5.000 |\n");
    arena_free(f.mem);
}
END_TEST

START_TEST(many_lines_and_columns_are_read_quickly)
{
    enum { ROWS = 100000 };
    char *rows = malloc(32 * ROWS), *at = rows + sprintf(rows, "a,x,y\n");

    for (int i = 0; i < ROWS; i++)
        at += sprintf(at, "s%d,%d,%d\n", i, ROWS - i, i);
    Figure f = figure_of(&wanted_all, rows);

    ck_assert_uint_eq(f.cells, ROWS);
    ck_assert_uint_eq(f.lines, ROWS);
    ck_assert_double_eq(f.column[0].value, 1);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert(f.line[i].cells == 1 && f.line[i].cell->mean == (double)i &&
                  f.line[i].cell->column == ROWS - 1 - i);
    arena_free(f.mem);
    free(rows);
}
END_TEST

START_TEST(the_csv_has_all_digits_and_reads_back)
{
    Wanted w = wanted_all;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    w.by = texts("a", "b,c");
    Figure f = figure_of(&w, "a,\"b,c\",x,y\n\"A,\"\"\",,1,0.1\n\"A,\"\"\",,1,0.25\nB,q,2,-inf\n");
    figure_csv(out, &f);
    fclose(out);
    ck_assert_str_eq(text, "a,\"b,c\",x,n,mean,sd,min,max\n"
                           "\"A,\"\"\",,1,2,0.175,0.10606601717798213,0.1,0.25\n"
                           "B,q,2,1,-inf,,-inf,-inf\n");
    Csv csv = csv_open((unsigned char *)text, size);
    ck_assert(csv_next(&csv) && !csv.wrong.n);
    ck_assert_str_eq(csv.field[0], "A,\"");
    csv_close(&csv);
    arena_free(f.mem);
}
END_TEST

START_TEST(a_chart_has_a_series_for_each_line_with_its_bars)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA<,16,1\nA<,16,3\nA<,64,5\nB,16,inf\nB,64,2\n");
    char *svg = drawn(&f, (Plot){ .log_x = true });

    ck_assert(well_formed(svg));
    ck_assert_int_eq(times(svg, ">A&#60;: 2 ± 1.41 at 16<"), 1);
    ck_assert_int_eq(times(svg, ">A&#60;: 5 at 64<"), 1);
    ck_assert_int_eq(times(svg, ">B, 1 of 2 not shown: 2 at 64<"), 1);
    ck_assert_int_eq(times(svg, "class=\"bar\""), 1);
    ck_assert_int_eq(times(svg, ">y by x<"), 1);
    ck_assert_int_eq(times(svg, ">mean ± standard deviation, n = 1 to 2<"), 1);
    free(svg);
    svg = drawn(&f, (Plot){ .title = "T", .subtitle = "S", .x_label = "X", .y_label = "Y" });
    ck_assert_int_eq(times(svg, ">T<") + times(svg, ">S<") + times(svg, ">X<") + times(svg, ">Y<"),
                     4);
    free(svg);
    arena_free(f.mem);
}
END_TEST

START_TEST(a_chart_notes_values_that_a_log_axis_cannot_show)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,0,1\nA,1,0\nA,2,3\nA,4,5\n");
    char *svg = drawn(&f, (Plot){ .log_x = true, .log_y = true });

    ck_assert_int_eq(times(svg, ">2 of 4 not shown<"), 1);
    free(svg);
    svg = drawn(&f, (Plot){ .log_x = true });
    ck_assert_int_eq(times(svg, ">1 of 4 not shown<"), 1);
    free(svg);
    arena_free(f.mem);
}
END_TEST

static Wanted asked;

static void read_asked(const char *path)
{
    Figure f = figure_read(&asked, 1, (char *[]){ (char *)path });

    drawn(&f, (Plot){ 0 });
    arena_free(f.mem);
}

static void check_refused(const char *rows, int code, const char *words)
{
    put_text("rows", rows);
    check_dies(read_asked, in_folder("rows"), code, words);
}

START_TEST(unreadable_files_and_missing_columns_are_refused)
{
    asked = wanted_all;
    check_refused("", EXIT_DATA, "rows, line 1: no column names");
    check_refused("a,x,y\nA,1,2\nA,1\n", EXIT_DATA, "rows, line 3: 2 fields where");
    check_refused("a,x,y\nA,1,\"2\n", EXIT_DATA, "rows, line 2: an unclosed quote");
    check_refused("a,x,y\n", EXIT_DATA, "of 0 rows 0 match");
    check_refused("a,x,y\nA,1,q\nA,,3\n", EXIT_DATA, "of 2 rows 2 match, and none has");
    check_refused("ab,x,y\nA,1,2\n", EXIT_USAGE, "--by: no column is called a: did you mean ab?");
    check_refused("a,length,y\nA,1,2\n", EXIT_USAGE, "--x: no column is called x in the first row");
    check_refused("a,x,z\nA,1,2\n", EXIT_USAGE, "--y: no column is called y in");
    check_refused("a,x,y\nA,1,2\nA,one,2\n", EXIT_USAGE,
                  "numbers in column x, and 'one' is not one");
    asked.where = texts("aa=1", NULL);
    check_refused("a,x,y\nA,1,2\n", EXIT_USAGE, "--where: no column is called aa: did you mean a?");
    asked.where = texts("a", NULL);
    check_refused("a,x,y\nA,1,2\n", EXIT_USAGE, "--where a: must be COL=VALUE");
    asked.where = texts("a=B", NULL);
    check_refused("a,x,y\nA,1,2\nC,1,2\nA,2,2\n", EXIT_DATA,
                  "no row matches --where a=B: there are A, C\n");
    asked.where = texts("a=B", "x=1");
    check_refused("a,x,y\nA,1,2\n", EXIT_DATA, "of 1 rows 0 match");
}
END_TEST

START_TEST(too_many_series_are_refused)
{
    char rows[2000] = "a,x,y\n";

    for (int i = 0; i <= 64; i++)
        sprintf(rows + strlen(rows), "%d,1,2\n", i);
    asked = wanted_all;
    check_refused(rows, EXIT_USAGE, "65 series are too many for a figure, the most is 64");
}
END_TEST

/* Puts a log and a configuration into a folder of its own; its path. */
static char *put_run(const char *name, const char *config, const char *log)
{
    mkdir(in_folder(name), 0777);
    put_text(text_format("%s/config.json", name).at, config);
    put_text(text_format("%s/log.jsonl", name).at, log);
    return strcpy(malloc(400), in_folder(name));
}

static void remove_run(char *path)
{
    remove(text_format("%s/config.json", path).at);
    remove(text_format("%s/log.jsonl", path).at);
    remove(path);
    free(path);
}

static const char log_a[] = "{\"step\":0,\"split\":\"start\",\"run\":{\"seed\":1}}\n"
                            "{\"step\":1,\"split\":\"val\",\"loss\":2}\n"
                            "{\"step\":1,\"split\":\"train\",\"loss\":7,\"lr\":0.1}\n"
                            "{\"step\":2,\"split\":\"val\",\"loss\":1,\"note\":\"a,\\u0001\"}\n"
                            "{\"step\":3,\"split\":\"val\",\"lo",
                  log_b[] = "{\"step\":1,\"split\":\"val\",\"loss\":4}\n";

START_TEST(a_run_is_read_from_its_log_and_its_options_are_columns)
{
    Wanted w = { .x = "step", .y = "loss", .by = texts("run", NULL) };
    char *path[] = { put_run("one", "{\"n_layer\":2,\"seed\":1}", log_a),
                     put_run("two", "{\"n_layer\":2,\"seed\":2}", log_b) };

    w.where = texts("split=val", NULL);
    Figure f = figure_read(&w, 2, path);
    check_printed(&f, plain,
                  "| run | 1 | 2 |\n| --- | --- | --- |\n"
                  "| one | 2.000 | 1.000 |\n| two | 4.000 | |\n");
    ck_assert_uint_eq(f.differs.n, 0);
    arena_free(f.mem);
    w.by = texts("n-layer", NULL), w.where = texts("split=val", "seed=1|2");
    f = figure_read(&w, 2, path);
    check_printed(&f, plain,
                  "| n-layer | 1 | 2 |\n| --- | --- | --- |\n| 2 | 3.000 ± 1.414 | 1.000 |\n");
    ck_assert_uint_eq(f.differs.n, 0); /* but for the seed they are the same */
    arena_free(f.mem);
    remove_run(path[0]), remove_run(path[1]);
}
END_TEST

START_TEST(runs_that_are_averaged_and_differ_are_named)
{
    Wanted w = { .x = "step", .y = "loss", .by = texts("attn", NULL) };
    char *path[] = {
        put_run("one",
                "{\"attn\":\"a\",\"lr\":1,\"seed\":1,\"min\":1,\"texts\":[{\"hash\":\"x\"}]}",
                log_a),
        put_run("two",
                "{\"attn\":\"a\",\"lr\":2,\"seed\":2,\"min\":3,\"texts\":[{\"hash\":\"y\"}]}",
                log_b),
        put_run("three", "{\"attn\":\"b\",\"depth\":2}", log_b),
    };

    w.where = texts("split=val", NULL);
    Figure f = figure_read(&w, 3, path);
    ck_assert_str_eq(f.differs.at, "texts, lr, min");
    arena_free(f.mem);
    w.by = texts("run", NULL);
    f = figure_read(&w, 3, path);
    ck_assert_str_eq(f.differs.at, "");
    arena_free(f.mem);
    w.by = texts(NULL, NULL), w.where = texts("split=val", "step=2"); /* one run has that step */
    f = figure_read(&w, 3, path);
    ck_assert_str_eq(f.differs.at, "");
    ck_assert(f.unused == 2 && f.runs == 3);
    arena_free(f.mem), w.where = texts("step=2", "attn=a");
    f = figure_read(&w, 3, path);
    ck_assert(f.unused == 1 && f.runs == 2 && strstr(f.first_unused.at, "two"));
    arena_free(f.mem);
    for (int i = 0; i < 3; i++)
        remove_run(path[i]);
}
END_TEST

START_TEST(columns_of_a_file_override_those_of_its_run)
{
    Wanted w = { .y = "y", .by = texts("run", NULL) };

    put_text("results.csv", "run,y\nA,1\nB,2\n");
    put_text("more.csv", "y\n3\n");
    Figure f = figure_read(
        &w, 2, (char *[]){ (char *)in_folder("results.csv"), (char *)in_folder("more.csv") });
    check_printed(&f, plain,
                  "| run | y |\n| --- | --- |\n| A | 1.000 |\n| B | 2.000 |\n"
                  "| more | 3.000 |\n");
    arena_free(f.mem);
}
END_TEST

static void read_log(const char *path)
{
    arena_free(figure_read(&asked, 1, (char *[]){ (char *)path }).mem);
}

static void read_and_leave(const char *path)
{
    read_log(path);
    exit(0);
}

START_TEST(a_log_that_is_mixed_or_damaged_is_refused)
{
    asked = (Wanted){ .y = "loss" };
    put_text("log.jsonl", log_a);
    check_dies(read_log, in_folder("log.jsonl"), EXIT_USAGE, "select them with --where split=val");
    asked.y = "lr"; /* which only lines of training have */
    ck_assert_int_eq(exit_code_of(read_and_leave, in_folder("log.jsonl")), 0);
    asked.y = "loss";
    asked.where = texts("split=val", NULL);
    put_text("log.jsonl", "{\"step\":1,\"split\":\"val\",\"loss\":1}\n{\"step\"\n");
    check_dies(read_log, in_folder("log.jsonl"), EXIT_DATA, "log.jsonl, line 2: has no");
    put_text("log.jsonl", "");
    check_dies(read_log, in_folder("log.jsonl"), EXIT_DATA, "log.jsonl has no losses");
}
END_TEST

static const char pairs[] = "run,seed,x,y\na,3,1,4\na,1,1,1\na,2,1,2\na,1,2,7\n"
                            "b,1.0,1,2\nb,2,1,4.5\nb,3,1,5\nb,4,1,9\n"
                            "c,1,1,3\nc,5,1,1\nc,,1,1\nc,1,2,inf\nd,1,1,3\nd,2,1,4\n";
static const Wanted in_pairs = {
    .x = "x", .y = "y", .by = { 1, { "run" } }, .versus = "a", .pair = "seed"
};

/* b - a is 1, 2.5 and 1, so its interval is 1.5 +- 4.3027 sqrt(3/4) / sqrt(3), by tables of t. */
START_TEST(lines_are_compared_in_pairs_of_equal_seeds)
{
    Figure f = figure_of(&in_pairs, pairs);

    check_printed(
        &f, (Style){ .digits = -1, .counts = true, .best = BEST_NONE },
        "| run | 1 | 2 |\n| --- | --- | --- |\n"
        "| a | 2.333 ± 1.528 (n = 3) | 7.000 (n = 1) |\n"
        "| b | 5.125 ± 2.898 (n = 4) | |\n"
        "| c | 1.667 ± 1.155 (n = 3) | ∞ (n = 1) |\n"
        "| d | 3.500 ± 0.707 (n = 2) | |\n"
        "\nDifference from a, in pairs with the same seed: mean ± half of the 95% interval; "
        "in bold, if that excludes 0.\n\n"
        "| run | 1 | 2 |\n| --- | --- | --- |\n"
        "| b | 1.500 ± 2.151 (n = 3) | |\n"
        "| c | 2.000 (n = 1) | ∞ (n = 1) |\n"
        "| d | **2.000 ± 0.000** (n = 2) | |\n");
    arena_free(f.mem);
}
END_TEST

START_TEST(the_csv_has_the_pairs_too)
{
    check_csv(&in_pairs, "run,seed,x,y\nb,2,1,0\nb,1,1,0\na,1,1,1\na,2,1,1\na,3,1,1\n",
              "run,x,n,mean,sd,min,max,pairs,difference,half_interval\n"
              "b,1,2,0,0,0,0,2,-1,0\n"
              "a,1,3,1,0,1,1,0,,\n");
}
END_TEST

START_TEST(lines_that_cannot_be_compared_are_refused)
{
    asked = in_pairs;
    check_refused("run,seed,x,y\nab,1,1,2\n", EXIT_USAGE, "no line is called a: did you mean ab?");
    check_refused("run,sed,x,y\na,1,1,2\n", EXIT_USAGE, "--pair: no column is called seed: did");
    check_refused("run,seed,x,y\na,1,1,2\nb,2,1,2\nb,1,2,2\n", EXIT_DATA,
                  "no row of another line has a seed that a has, too");
    check_refused("run,seed,x,y\na,1,1,2\nb,2,1,2\nb,1,1,2\nb,1.0,1,3\n", EXIT_USAGE,
                  "b has several rows whose seed is 1: tell them apart");
    check_refused("run,seed,x,y\na,,1,2\na,,1,2\nb,,1,2\n", EXIT_DATA, "no row of another line");
}
END_TEST

Suite *suite_figure(void)
{
    Suite *s = suite_create("figure");
    TCase *t = with_folder(s, "cells");

    tcase_add_test(t, a_cell_has_the_mean_and_the_spread_of_its_rows);
    tcase_add_test(t, numbers_and_names_may_have_blanks_around_them);
    tcase_add_test(t, equal_numbers_are_their_mean_and_have_no_spread);
    tcase_add_test(t, a_large_offset_does_not_hide_a_spread);
    tcase_add_test(t, infinities_are_shown_and_missing_numbers_are_counted);
    tcase_add_test(t, columns_are_sorted_as_numbers_if_all_are);
    tcase_add_test(t, lines_come_in_the_order_that_is_wanted);
    tcase_add_test(t, values_of_several_columns_make_a_line);
    tcase_add_test(t, without_x_there_is_a_column_and_without_by_a_line);
    tcase_add_test(t, rows_are_chosen_by_their_values);
    tcase_add_test(t, files_are_joined_by_the_names_of_their_columns);
    tcase_add_test(t, many_lines_and_columns_are_read_quickly);
    tcase_add_test(t, a_run_is_read_from_its_log_and_its_options_are_columns);
    tcase_add_test(t, runs_that_are_averaged_and_differ_are_named);
    tcase_add_test(t, columns_of_a_file_override_those_of_its_run);
    tcase_add_test(t, a_log_that_is_mixed_or_damaged_is_refused);
    t = with_folder(s, "versus");
    tcase_add_test(t, lines_are_compared_in_pairs_of_equal_seeds);
    tcase_add_test(t, the_csv_has_the_pairs_too);
    tcase_add_test(t, lines_that_cannot_be_compared_are_refused);
    t = with_folder(s, "printed");
    tcase_add_test(t, the_csv_has_all_digits_and_reads_back);
    tcase_add_test(t, a_chart_has_a_series_for_each_line_with_its_bars);
    tcase_add_test(t, a_chart_notes_values_that_a_log_axis_cannot_show);
    tcase_add_test(t, unreadable_files_and_missing_columns_are_refused);
    tcase_add_test(t, too_many_series_are_refused);
    return s;
}
