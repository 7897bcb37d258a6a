/* The tables of ./figure. */
#include "ops/base/file.h"
#include "tests/figures.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

const Wanted wanted_all = { .x = "x", .y = "y", .by = { 1, { "a" } } };
const Style plain = { .digits = -1, .best = BEST_NONE };

Figure figure_of(const Wanted *wanted, const char *rows)
{
    put_text("rows", rows);
    return figure_read(wanted, 1, (char *[]){ (char *)in_folder("rows") });
}

void check_printed(const Figure *f, Style style, const char *table)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    figure_table(f, style, out);
    fclose(out);
    ck_assert_str_eq(text, table);
    free(text);
}

void check_table(const Wanted *wanted, const char *rows, const char *table)
{
    Figure f = figure_of(wanted, rows);

    check_printed(&f, plain, table);
    arena_free(f.mem);
}

void check_csv(const Wanted *wanted, const char *rows, const char *csv)
{
    Figure f = figure_of(wanted, rows);
    size_t size;
    char *text = print_to_memory(figure_csv, &f, &size);

    ck_assert_str_eq(text, csv);
    free(text);
    arena_free(f.mem);
}

START_TEST(four_significant_digits_are_the_default)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,1,1234.56\nA,2,-0.00123456\nA,3,0\nA,4,1e20\n"
                                      "A,5,2\nA,5,2.0001\nA,6,12345\nA,6,12346\n");

    check_printed(&f, plain,
                  "| a | 1 | 2 | 3 | 4 | 5 | 6 |\n| --- | --- | --- | --- | --- | --- | --- |\n"
                  "| A | 1235 | -0.001235 | 0 | 1×10²⁰ | 2.00005 ± 0.00007 | 12345.5 ± 0.7 |\n");
    check_printed(&f, (Style){ .digits = 2, .best = BEST_NONE },
                  "| a | 1 | 2 | 3 | 4 | 5 | 6 |\n| --- | --- | --- | --- | --- | --- | --- |\n"
                  "| A | 1234.56 | 0.00 | 0.00 | 1×10²⁰ | 2.00 ± 0.00 | 12345.50 ± 0.71 |\n");
    arena_free(f.mem);
}
END_TEST

START_TEST(the_best_of_a_column_is_bold_and_cells_count_their_rows)
{
    Figure f = figure_of(&wanted_all, "a,x,y\nA,1,1\nA,2,5\nB,1,1\nB,2,4\nB,2,3\nC,1,2\nC,2,inf\n");

    check_printed(&f, (Style){ .digits = 1, .counts = true, .best = BEST_MIN },
                  "| a | 1 | 2 |\n| --- | --- | --- |\n"
                  "| A | **1.0** (n = 1) | 5.0 (n = 1) |\n"
                  "| B | **1.0** (n = 1) | **3.5 ± 0.7** (n = 2) |\n"
                  "| C | 2.0 (n = 1) | ∞ (n = 1) |\n");
    check_printed(&f, (Style){ .digits = 0, .best = BEST_MAX },
                  "| a | 1 | 2 |\n| --- | --- | --- |\n"
                  "| A | 1 | **5** |\n| B | 1 | 4 ± 1 |\n| C | **2** | ∞ |\n");
    arena_free(f.mem);
}
END_TEST

START_TEST(table_cells_are_escaped)
{
    check_table(&wanted_all, "a,x,y\n\"A|B\xe2\x80\xae\",\"1|\n2\",3\n<b>*c*_d,\"1|\n2\",4\n",
                "| a | 1\\| 2 |\n| --- | --- |\n| A\\|B? | 3.000 |\n| \\<b>\\*c\\*_d | 4.000 |\n");
}
END_TEST

START_TEST(latex_has_the_same_cells)
{
    Wanted wanted = wanted_all;

    wanted.versus = "A_1", wanted.pair = "s";
    Figure f = figure_of(&wanted, "a,x,y,s\nA_1,\\1%,1,1\nA_1,\\1%,3,2\nB&,\\1%,-1,1\n"
                                  "A_1,2,inf,1\nA_1,2,1e20,2\n");

    check_printed(&f, (Style){ .digits = 1, .latex = true, .best = BEST_MIN },
                  "% \\usepackage{booktabs}\n\\begin{tabular}{lrr}\n\\toprule\n"
                  " a & \\char`\\\\{}1\\% & 2 \\\\\n\\midrule\n"
                  " A\\_1 & 2.0 $\\pm$ 1.4 & $\\infty$ \\\\\n B\\& & \\textbf{$-$1.0} & \\\\\n"
                  "\\bottomrule\n\\end{tabular}\n\n"
                  "% Difference from A\\_1, in pairs with the same s: mean ± half of the 95% "
                  "interval; in bold, if that excludes 0.\n\n"
                  "\\begin{tabular}{lrr}\n\\toprule\n a & \\char`\\\\{}1\\% & 2 \\\\\n\\midrule\n"
                  " B\\& & $-$2.0 & \\\\\n\\bottomrule\n\\end{tabular}\n");
    arena_free(f.mem);
}
END_TEST

/* A has two rates of two rows and a better one of one; B has its own best. */
static const char rates[] = "a,x,y,rate,seed\nA,1,2,0.1,1\nA,1,2.2,0.1,2\nA,1,1,0.2,1\n"
                            "A,1,2.1,0.05,1\nB,1,3.3,0.1,2\nA,1,1.9,0.05,2\nB,1,2.5,0.2,1\n"
                            "B,1,3,0.1,1\nB,1,2.7,0.2,2\nC,1,inf,0.1,1\nC,1,9,0.2,1\n";

START_TEST(each_line_has_its_best_values_of_the_most_rows)
{
    Wanted wanted = wanted_all;

    wanted.tuned = (OptionTexts){ 1, { "rate" } };
    check_table(&wanted, rates,
                "| a | 1 |\n| --- | --- |\n| A | 2.000 ± 0.141 |\n| B | 2.600 ± 0.141 |\n"
                "| C | 9.000 |\n\nTuned: A with rate 0.05; B with rate 0.2; C with rate 0.2.\n");
    wanted.largest = true;
    check_table(&wanted, rates,
                "| a | 1 |\n| --- | --- |\n| A | 2.100 ± 0.141 |\n| B | 3.150 ± 0.212 |\n"
                "| C | ∞ |\n\nTuned: A with rate 0.1; B with rate 0.1; C with rate 0.1.\n");
}
END_TEST

START_TEST(what_was_chosen_is_in_the_csv)
{
    Wanted wanted = { .y = "y", .by = { 1, { "a" } }, .tuned = { 2, { "rate", "b" } } };

    check_csv(&wanted, "a,y,rate,b\nA,2,0.1,u\nA,1,0.1,v\nB,3,,w\n",
              "a,rate,b,n,mean,sd,min,max\nA,0.1,v,1,1,,1,1\nB,,w,1,3,,3,3\n");
}
END_TEST

START_TEST(a_long_value_is_whole_in_the_csv)
{
    Wanted wanted = { .y = "y", .by = { 2, { "a", "b" } } };
    char value[1501], rows[1600], want[1600];

    memset(value, 'v', 1500), value[1500] = 0;
    snprintf(rows, sizeof rows, "a,y,b\n%s,1,B\n", value);
    snprintf(want, sizeof want, "a,b,n,mean,sd,min,max\n%s,B,1,1,,1,1\n", value);
    check_csv(&wanted, rows, want);
}
END_TEST

Suite *suite_tables(void)
{
    Suite *s = suite_create("tables");
    TCase *t = with_folder(s, "printed");

    tcase_add_test(t, four_significant_digits_are_the_default);
    tcase_add_test(t, the_best_of_a_column_is_bold_and_cells_count_their_rows);
    tcase_add_test(t, table_cells_are_escaped);
    tcase_add_test(t, latex_has_the_same_cells);
    t = with_folder(s, "tuned");
    tcase_add_test(t, each_line_has_its_best_values_of_the_most_rows);
    tcase_add_test(t, what_was_chosen_is_in_the_csv);
    tcase_add_test(t, a_long_value_is_whole_in_the_csv);
    return s;
}
