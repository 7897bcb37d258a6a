/* Means over seeds on the page of ./report, and their intervals. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/pages.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/interval.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 12 };

/* Runs on one text, whose configurations have these options. */
typedef struct {
    const char *options;
    double loss;
} Made;

static char *page_of_runs(const Made *made, int n, const char *text)
{
    Record *r[MOST];

    for (int i = 0; i < n; i++) {
        put_text(
            "config.json",
            text_format("{\"task\":\"causal\",\"tokenizer\":\"byte\",%s}", made[i].options).at);
        put_text("log.jsonl",
                 text_format("{\"step\":1,\"split\":\"val\",\"loss\":%g}\n", made[i].loss).at);
        r[i] = record_here();
        r[i]->corpus = text;
    }
    char *page = page_of(r, n, NULL);
    for (int i = 0; i < n; i++)
        record_free(r[i]);
    return page;
}

#define VARIANT(name, runs, mean, sd, difference, half, tag)                                       \
    "<tr><th scope=\"row\">" name "</th><td data-k=\"runs\"><span>" runs "</span></td>"            \
    "<td data-k=\"val. loss\">" mean "</td><td data-k=\"std. dev.\"><span>" sd "</span></td>"      \
    "<td data-k=\"difference\"><" tag ">" difference "</span></td>"                                \
    "<td data-k=\"±\"><" tag ">" half "</span></td></tr>\n"

static const char heading[] = "Means over seeds.";

/* relu - softmax is 1, 2.5 and 1 with seeds 1, 2 and 3. */
START_TEST(runs_that_differ_in_the_seed_are_compared_in_pairs)
{
    static const Made made[] = {
        { "\"attn\":\"softmax\",\"seed\":3", 4 },       { "\"attn\":\"relu\",\"seed\":1", 2 },
        { "\"attn\":\"relu\",\"seed\":2", 4.5 },        { "\"attn\":\"softmax\",\"seed\":1", 1 },
        { "\"attn\":\"identity\",\"seed\":2", 4 },      { "\"attn\":\"identity\",\"seed\":1", 3 },
        { "\"attn\":\"softmax\",\"seed\":2", 2 },       { "\"attn\":\"relu\",\"seed\":3", 5 },
        { "\"attn\":\"relu\",\"seed\":4", 9 },          { "\"attn\":\"exp\",\"seed\":1", 7 },
        { "\"attn\":\"exp\",\"seed\":2", (double)NAN },
    };
    char *page = page_of_runs(made, COUNT(made), "a");

    check_says(page, heading);
    check_says(
        page,
        "<tbody>\n" VARIANT("softmax", "3", "<b>2.333</b>", "1.53", "–", "–", "span class=\"soft\"")
            VARIANT("identity", "2", "<span>3.500</span>", "0.71", "2.00", "0.00", "span")
                VARIANT("relu", "4", "<span>5.125</span>", "2.90", "1.50", "2.15",
                        "span class=\"soft\"") VARIANT("exp", "1", "<span>7.000</span>", "–", "–",
                                                       "–", "span class=\"soft\"") "</tbody>");
    free(page);
}
END_TEST

/* A copy is no second seed; threads, and what a run was started from, make no other variant. */
START_TEST(a_seed_counts_once)
{
    static const Made made[] = {
        { "\"attn\":\"relu\",\"seed\":1,\"threads\":1", 2 },
        { "\"attn\":\"relu\",\"seed\":2,\"threads\":2,\"config\":\"runs/a\"", 3 },
        { "\"attn\":\"relu\",\"seed\":1,\"threads\":2,\"recompute\":true", 2 },
        { "\"attn\":\"exp\",\"seed\":1", 1 },
    };
    char *page = page_of_runs(made, COUNT(made), "a");

    check_says(page, VARIANT("exp", "1", "<b>1.000</b>", "–", "–", "–", "span class=\"soft\"")
                         VARIANT("relu", "2", "<span>2.500</span>", "0.71", "–", "–",
                                 "span class=\"soft\""));
    check_says(page, "Not counted: 1 run with the options and the seed of another.</p>");
    free(page);
}
END_TEST

/* relu - softmax is 1 and 2; the lowest is a run that has no pair. */
START_TEST(a_single_run_is_not_what_others_are_compared_with)
{
    static const Made made[] = {
        { "\"attn\":\"softmax\",\"seed\":1", 1 }, { "\"attn\":\"softmax\",\"seed\":2", 2 },
        { "\"attn\":\"relu\",\"seed\":1", 2 },    { "\"attn\":\"relu\",\"seed\":2", 4 },
        { "\"attn\":\"exp\",\"seed\":3", 0.5 },
    };
    char *page = page_of_runs(made, COUNT(made), "a");

    check_says(page,
               VARIANT("exp", "1", "<b>0.500</b>", "–", "–", "–", "span class=\"soft\"")
                   VARIANT("softmax", "2", "<span>1.500</span>", "0.71", "–", "–",
                           "span class=\"soft\"") VARIANT("relu", "2", "<span>3.000</span>", "1.41",
                                                          "1.50", "6.35", "span class=\"soft\""));
    free(page);
}
END_TEST

/* Random blocks are drawn from the run's seed, unless another was given for them. */
START_TEST(a_seed_that_follows_the_runs_is_no_other_option)
{
    static const Made made[] = {
        { "\"attn\":\"bigbird\",\"pattern_seed\":1,\"seed\":1", 1 },
        { "\"attn\":\"bigbird\",\"pattern_seed\":2,\"seed\":2", 1 },
        { "\"attn\":\"bigbird\",\"pattern_seed\":5,\"seed\":1", 2 },
        { "\"attn\":\"bigbird\",\"pattern_seed\":5,\"seed\":2", 2 },
    };
    char *page = page_of_runs(made, COUNT(made), "a");

    check_says(page,
               VARIANT("bigbird", "2", "<b>1.000</b>", "0.00", "–", "–", "span class=\"soft\""));
    check_says(page, VARIANT("bigbird (pattern-seed 5)", "2", "<span>2.000</span>", "0.00", "1.00",
                             "0.00", "span"));
    free(page);
}
END_TEST

START_TEST(other_options_make_other_variants)
{
    static const Made made[] = {
        { "\"attn\":\"relu\",\"seed\":1,\"learning_rate\":0.1", 1 },
        { "\"attn\":\"relu\",\"seed\":2,\"learning_rate\":0.1", 1 },
        { "\"attn\":\"relu\",\"seed\":1,\"learning_rate\":0.2", 2 },
        { "\"attn\":\"relu\",\"seed\":2,\"learning_rate\":0.2", 2 },
    };
    char *page = page_of_runs(made, COUNT(made), "a");

    check_says(page, VARIANT("relu · learning-rate\u00a00.1", "2", "<b>1.000</b>", "0.00", "–", "–",
                             "span class=\"soft\""));
    check_says(page, VARIANT("relu · learning-rate\u00a00.2", "2", "<span>2.000</span>", "0.00",
                             "1.00", "0.00", "span"));
    free(page);
}
END_TEST

START_TEST(there_are_no_means_of_single_runs_or_of_what_cannot_be_compared)
{
    static const Made single[] = { { "\"attn\":\"relu\",\"seed\":1", 1 },
                                   { "\"attn\":\"exp\",\"seed\":1", 2 } };
    static const Made seeds[] = { { "\"attn\":\"relu\",\"seed\":1", 1 },
                                  { "\"attn\":\"relu\",\"seed\":2", 2 } };
    static const Made many[] = {
        { "\"attn\":\"relu\",\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,"
          "\"j\":1,\"k\":1",
          1 },
        { "\"attn\":\"relu\",\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2,\"f\":2,\"g\":2,\"h\":2,\"i\":2,"
          "\"j\":2,\"k\":2",
          1 },
        { "\"attn\":\"relu\",\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,"
          "\"j\":1,\"k\":3",
          1 },
    };
    char *page[] = { page_of_runs(single, 2, "a"), page_of_runs(many, 3, "a"),
                     page_of_runs(seeds, 2, NULL), page_of_runs(seeds, 2, "a") };

    for (int i = 0; i < COUNT(page); i++) {
        ck_assert_int_eq(strstr(page[i], heading) != NULL, i == 3);
        free(page[i]);
    }
}
END_TEST

/* From tables, to all of their digits. */
START_TEST(half_of_an_interval_is_students)
{
    static const struct {
        size_t n;
        double t;
    } of[] = { { 2, 12.706 }, { 3, 4.303 },  { 4, 3.182 },    { 5, 2.776 },      { 10, 2.262 },
               { 11, 2.228 }, { 31, 2.042 }, { 1001, 1.962 }, { 2000000, 1.960 } };

    for (int i = 0; i < COUNT(of); i++)
        ck_assert_double_eq_tol(interval_half(3, of[i].n) * sqrt((double)of[i].n) / 3, of[i].t,
                                5e-4);
}
END_TEST

Suite *suite_seeds(void)
{
    Suite *s = suite_create("seeds");
    TCase *t = with_folder(s, "seeds");

    tcase_add_test(t, runs_that_differ_in_the_seed_are_compared_in_pairs);
    tcase_add_test(t, a_seed_counts_once);
    tcase_add_test(t, a_single_run_is_not_what_others_are_compared_with);
    tcase_add_test(t, a_seed_that_follows_the_runs_is_no_other_option);
    tcase_add_test(t, other_options_make_other_variants);
    tcase_add_test(t, there_are_no_means_of_single_runs_or_of_what_cannot_be_compared);
    tcase_add_test(t, half_of_an_interval_is_students);
    return s;
}
