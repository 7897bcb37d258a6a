/*
 * The page of ./report: how untrusted folders are read, and the notes about them. programs.sh tests
 * the program's messages.
 */
#include "tools/report/report.h"

#include "model/layer.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/pages.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/xml.h"

#include <stdlib.h>
#include <string.h>

static const char config[] = "{\"attn\": \"softmax\", \"task\": \"causal\", \"scale\": \"logn\", "
                             "\"window\": 8, \"block_size\": 64, \"share\": null}\n";
static const char text_log[] =
    "{\"step\":1,\"split\":\"train\",\"loss\":5.5,\"tokens\":100,\"tok_s\":50,\"seconds\":2}\n"
    "{\"step\":50,\"split\":\"train\",\"loss\":3,\"tokens\":5000,\"tok_s\":70,\"seconds\":60}\n"
    "{\"step\":50,\"split\":\"val\",\"loss\":2.25,\"ppl\":9.4877,\"bits_per_byte\":3.2461}\n"
    "{\"step\":99,\"split\":\"val\",\"loss\":2.5,\"ppl\":12.18,\"seconds\":3900}\n";

static void put_run(void)
{
    put_text("config.json", config);
    put_text("log.jsonl", text_log);
}

START_TEST(the_table_has_the_numbers_of_the_run)
{
    put_run();
    char *page = page_here(NULL);

    check_says(page, ">softmax (scale logn, window 8)<");
    check_says(page, "<td data-k=\"tokens\"><span>5000</span></td>"
                     "<td data-k=\"val. loss\"><span>2.250</span></td>"
                     "<td data-k=\"perplexity\"><span>9.488</span></td>"
                     "<td data-k=\"bits/byte\"><span>3.246</span></td>"
                     "<td data-k=\"tokens/s\"><span>70</span></td>"
                     "<td data-k=\"time\"><span>1:05\u00a0h</span></td></tr>");
    check_says(page, "<dd>99 steps, 5000 tokens</dd>");
    check_says(page, "<dd>2.250 at step 50</dd>");
    ck_assert(!strstr(page, "accuracy") && !strstr(page, "<b>2"));
    free(page);
}
END_TEST

START_TEST(a_log_cut_anywhere_in_its_last_line_keeps_the_lines_before)
{
    const size_t whole = strlen(text_log), last = (size_t)(strrchr(text_log, '{') - text_log);

    put_text("config.json", config);
    for (size_t n = last; n <= whole; n++) {
        put(in_folder("log.jsonl"), text_log, n);
        Record *r = record_here();
        const bool all = n >= whole - 1;

        ck_assert_int_eq(r->train.n, 2);
        ck_assert_int_eq(r->validation.n, all ? 2 : 1);
        ck_assert_int_eq(noted(r, "cut off"), !all && n > last);
        ck_assert(!noted(r, "left out"));
        free(page_of(&r, 1, NULL));
        record_free(r);
    }
}
END_TEST

static const char *const bad_lines[] = {
    "x",
    "{}",
    "[]",
    "3",
    "",
    "{\"step\":1}",
    "{\"step\":-1,\"split\":\"val\",\"loss\":1}",
    "{\"step\":1,\"split\":2,\"loss\":1}",
    "{\"step\":\"1\",\"split\":\"val\",\"loss\":1}",
    "{\"step\":1e999,\"split\":\"val\",\"loss\":1}",
    "{\"step\":1,\"split\":\"val\",\"loss\":NaN}",
    "{\"step\":1,\"step\":1,\"split\":\"val\",\"loss\":1}",
    "\xff\xfe",
    "[[[[[[[[[[[[[[[[[[[[[[",
};

START_TEST(invalid_log_lines_are_skipped_and_counted)
{
    for (int i = 0; i < COUNT(bad_lines); i++) {
        char log[2000];

        snprintf(log, sizeof log, "%s%s\n%s%s\n", text_log, bad_lines[i], text_log, bad_lines[i]);
        put_text("log.jsonl", log);
        Record *r = record_here();
        ck_assert_int_eq(r->train.n, 4);
        ck_assert_int_eq(r->validation.n, 4);
        ck_assert_msg(noted(r, "2 lines of log.jsonl are left out; the first, line 5, has"), "%s",
                      bad_lines[i]);
        record_free(r);
    }
}
END_TEST

START_TEST(unusual_values_are_shown_as_unknown)
{
    put_text("log.jsonl",
             "{\"step\":1,\"split\":\"val\"}\n"
             "{\"step\":2,\"split\":\"val\",\"loss\":null,\"ppl\":true}\n"
             "{\"step\":3,\"split\":\"val\",\"loss\":\"2\"}\n"
             "{\"step\":4,\"split\":\"val\",\"loss\":3,\"seconds\":1e300,\"tokens\":1e300}\n"
             "{\"step\":5,\"split\":\"val\",\"loss\":4,\"accuracy\":-1e300}\n"
             "{\"step\":6,\"split\":\"val\",\"loss\":1e300}\n"
             "{\"step\":1e300,\"split\":\"train\",\"loss\":-1e300}\n"
             "{\"step\":7,\"split\":\"test\",\"loss\":1}\n");
    Record *r = record_here();
    ck_assert_int_eq(r->validation.n, 6);
    ck_assert_int_eq(record_best(r), 3);
    ck_assert(isnan(r->validation.at[LOG_LOSS][1]) && isnan(r->validation.at[LOG_PPL][1]));
    ck_assert(isnan(r->validation.at[LOG_LOSS][2]));
    free(page_of(&r, 1, NULL));
    record_free(r);
}
END_TEST

#define ON(text) "{\"step\":9,\"split\":\"start\",\"run\":{\"texts\":[{\"hash\":\"" text "\"}]}}\n"
#define LOSS(step, loss) "{\"step\":" #step ",\"split\":\"val\",\"loss\":" #loss "}\n"

START_TEST(losses_on_texts_that_were_replaced_are_not_the_best)
{
    static const char *const log[] = { ON("a") LOSS(5, 1) LOSS(9, 3) ON("a") LOSS(15, 2),
                                       ON("a") LOSS(5, 1) LOSS(9, 1) ON("b") LOSS(15, 4),
                                       ON("a") LOSS(9, 1) ON("b") ON("b") LOSS(10, 2) };
    static const int best[] = { 0, 2, 1 };

    for (int i = 0; i < COUNT(log); i++) {
        put_text("log.jsonl", log[i]);
        Record *r = record_here();
        ck_assert_int_eq(record_best(r), best[i]);
        record_free(r);
    }
}
END_TEST

START_TEST(a_gap_in_the_loss_is_a_gap_in_the_curve)
{
    put_text("log.jsonl", "{\"step\":1,\"split\":\"val\",\"loss\":3}\n"
                          "{\"step\":2,\"split\":\"val\",\"loss\":2}\n"
                          "{\"step\":3,\"split\":\"val\"}\n"
                          "{\"step\":4,\"split\":\"val\",\"loss\":2}\n"
                          "{\"step\":5,\"split\":\"val\",\"loss\":1}\n");
    char *page = page_here(NULL), *path = strstr(strstr(page, "\"grid\""), "\"line\" d=\"M");

    ck_assert_ptr_nonnull(path);
    path[strcspn(path + 10, "\"") + 10] = 0;
    ck_assert_int_eq(times(path, "M"), 2);
    free(page);
}
END_TEST

START_TEST(a_single_point_is_drawn)
{
    put_text("log.jsonl", "{\"step\":1,\"split\":\"train\",\"loss\":3,\"seconds\":0}\n");
    char *page = page_here(NULL);

    check_says(page, ": 3.000 at 1</title>");
    free(page);
    put_text("log.jsonl", "{\"step\":1,\"split\":\"val\",\"loss\":3}\n");
    page = page_here(NULL);
    check_says(page, ": 3.000 at 1</title>");
    free(page);
}
END_TEST

START_TEST(a_hundred_thousand_lines_make_a_small_page)
{
    enum { LINES = 100000 };
    char *log = malloc(LINES * 100), *end = log;

    for (int i = 1; i <= LINES; i++)
        end += sprintf(end, "{\"step\":%d,\"split\":\"%s\",\"loss\":%.4f,\"seconds\":%d}\n", i,
                       i % 10 ? "train" : "val", 2 + 100. / (i + 30), i / 7);
    put(in_folder("log.jsonl"), log, (size_t)(end - log));
    free(log);
    Record *r = record_here();
    ck_assert_int_eq(r->train.n, LINES / 10 * 9);
    ck_assert_int_eq(r->validation.n, LINES / 10);
    char *page = page_of(&r, 1, NULL);
    ck_assert_uint_lt(strlen(page), 400000);
    free(page);
    record_free(r);
}
END_TEST

static void read_one(const char *path)
{
    record_read(path, &(Text){ 0 });
}

START_TEST(a_folder_with_nothing_to_read_is_an_error)
{
    check_no_run(folder, "has no config.json, log.jsonl, eval.csv or weights");
    check_dies(read_one, in_folder("none"), EXIT_IO, "none does not exist");
    put_run();
    check_no_run(in_folder("config.json"), "is not a folder");
    files(true);
    put_text("config.json", "{\"attn\": \"softm");
    put_text("log.jsonl", "\n\nx");
    put_text("eval.csv", "length,ppl\n");
    put_text("best.safetensors", "no weights");
    check_no_run(folder, "that can be read");
}
END_TEST

START_TEST(missing_parts_are_noted_and_the_rest_is_shown)
{
    put_run();
    Record *r = record_here();
    char *page = page_of(&r, 1, "text");

    ck_assert(noted(r, "no weights") && !noted(r, "config") && !noted(r, "log"));
    check_says(page, "What could not be read");
    ck_assert_ptr_null(strstr(page, "Perplexity by length"));
    free(page);
    record_free(r);
    remove(in_folder("config.json"));
    r = record_here();
    page = page_of(&r, 1, NULL);
    ck_assert(noted(r, "no config.json"));
    check_says(page, ">2.250<");
    free(page);
    record_free(r);
    put_text("config.json", config);
    remove(in_folder("log.jsonl"));
    r = record_here();
    page = page_of(&r, 1, NULL);
    ck_assert(noted(r, "no log.jsonl"));
    check_says(page, ">softmax (scale logn, window 8)<");
    check_says(page, ">no data<");
    free(page);
    record_free(r);
}
END_TEST

static const struct {
    const char *text, *note;
} bad_configs[] = {
    { "", "config.json has no value at byte 0." },
    { "{\"attn\": ", "config.json has no value at byte 9." },
    { "[\"attn\"]", "config.json is not a JSON object." },
    { "{\"attn\":\"a\",\"attn\":\"b\"}", "config.json has no unique name" },
};

START_TEST(an_invalid_configuration_is_named)
{
    put_run();
    for (int i = 0; i < COUNT(bad_configs); i++) {
        put_text("config.json", bad_configs[i].text);
        Record *r = record_here();

        ck_assert_msg(noted(r, bad_configs[i].note), "%s", bad_configs[i].text);
        free(page_of(&r, 1, NULL));
        record_free(r);
    }
}
END_TEST

START_TEST(text_in_runs_is_escaped)
{
    static const char *const word[] = {
        "<script>alert(1)</script>", "\\\"><svg onload=x>",      "&lt;b&gt;&#60;",
        "]]></style><script>",       "\\u202e\\u0007\\u009b31m", "'\\\"`;-->"
    };
    Record *two[2];

    for (int i = 0; i < COUNT(word); i++) {
        char text[1000];

        snprintf(text, sizeof text, "{\"attn\":\"%s\",\"task\":\"%s\",\"%s\":1}", word[i], word[i],
                 word[i]);
        put_text("config.json", text);
        snprintf(text, sizeof text, "length,ppl,protocol\n64,3,%s\n128,4,<b>%s\n", word[i],
                 word[i]);
        put_text("eval.csv", text);
        two[0] = record_here();
        put_text("config.json", "{\"attn\":\"</table>\"}");
        two[1] = record_here();
        two[1]->label = word[i];
        record_note(two[1], "%s", word[i]);
        char *page = page_of(two, 2, NULL);
        check_says(page, "&#60;/table&#62;");
        ck_assert_ptr_null(strstr(page, "\xe2\x80\xae"));
        free(page);
        record_free(two[0]), record_free(two[1]);
    }
}
END_TEST

START_TEST(the_page_fetches_nothing_and_its_links_stay_on_it)
{
    put_run();
    char *page = page_here(NULL);

    ck_assert_int_eq(times(page, "http"), times(page, " xmlns=\"http://www.w3.org/2000/svg\""));
    ck_assert_int_eq(times(page, "src=") + times(page, "url(") + times(page, "@import"), 0);
    ck_assert_int_eq(times(page, "href"), 1);
    ck_assert_int_eq(times(page, "href=\"#run-1\""), times(page, " id=\"run-1\""));
    free(page);
}
END_TEST

static Record *record_with(const char *settings, const char *log)
{
    put_text("config.json", settings);
    put_text("log.jsonl", log);
    return record_here();
}

/* The settings that the page shows of each run, one after the other. */
static void check_settings(Record **r, int n, const char *const *want)
{
    char *page = page_of(r, n, NULL);

    for (int i = 0; i < n; i++)
        check_says(page, text_format("<small>%s</small>", want[i]).at);
    free(page);
}

START_TEST(only_options_that_differ_are_in_the_table)
{
    Record *r[] = {
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":true,\"out_dir\":\"a\"}", text_log),
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":false,\"host\":\"b\"}", text_log),
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":true,\"la_ter\":0.5}", text_log),
        record_with("", text_log),
    };

    check_settings(r, 4,
                   (const char *[]){ "relu · tied\u00a0yes", "relu · tied\u00a0no",
                                     "relu · tied\u00a0yes · la-ter\u00a00.5", "" });
    check_settings((Record *[]){ r[0], r[0] }, 2, (const char *[]){ "relu", "relu" });
    for (int i = 0; i < 4; i++)
        record_free(r[i]);
}
END_TEST

#define VAL(loss) "{\"step\":1,\"split\":\"val\",\"loss\":" loss "}\n"

/* A run of a text, with a task, a tokenizer and a loss. */
static Record *record_of(const char *corpus, const char *task, const char *tokenizer, double loss)
{
    const Text settings = text_format("{\"task\":\"%s\",\"tokenizer\":\"%s\"}", task, tokenizer),
               log = text_format("{\"step\":1,\"split\":\"val\",\"loss\":%g}\n", loss);
    Record *r = record_with(settings.at, log.at);

    r->corpus = corpus;
    return r;
}

START_TEST(the_best_is_marked_within_a_text_a_tokenizer_and_a_task)
{
    Record *r[] = {
        record_of("a", "causal", "byte", 2),    record_of("a", "causal", "byte", 1.5),
        record_of("b", "causal", "byte", 1),    record_of("a", "causal", "char", 0.9),
        record_of("a", "mlm", "byte", 0.8),     record_of(NULL, "causal", "byte", 0.7),
        record_of(NULL, "causal", "byte", 0.6),
    };
    char *page = page_of(r, 7, NULL);

    ck_assert_int_eq(times(page, "<section>"), 5);
    check_says(page, "In 5 groups");
    check_says(page, "<td data-k=\"val. loss\"><b>1.500</b></td>");
    check_says(page, "<td data-k=\"perplexity\"><b>4.482</b></td>"); /* e^1.5 */
    ck_assert_int_eq(times(page, "\"><b>"), 2);
    free(page);
    page = page_of(r, 2, NULL);
    ck_assert_ptr_null(strstr(page, "groups"));
    free(page);
    for (int i = 0; i < 7; i++)
        record_free(r[i]);
}
END_TEST

START_TEST(runs_are_ranked_and_groups_begin_with_the_largest)
{
    Record *r[] = { record_of("a", "mlm", "byte", 1), record_of("a", "causal", "byte", 3),
                    record_with("{\"task\":\"causal\",\"tokenizer\":\"byte\"}", ""),
                    record_of("a", "causal", "byte", 2) };
    const Report report = { .record = r, .records = 4 };
    Arena *mem = arena_new();
    int n;

    r[2]->corpus = "a";
    const Group *g = groups_make(&report, mem, &n);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(g[0].n, 3);
    ck_assert_ptr_eq(g[0].run[0], r[3]);
    ck_assert_ptr_eq(g[0].run[1], r[1]);
    ck_assert_ptr_eq(g[0].run[2], r[2]);
    ck_assert_int_eq(r[2]->rank, 2);
    ck_assert_str_eq(g[1].name, "mlm · byte");
    arena_free(mem);
    for (int i = 0; i < 4; i++)
        record_free(r[i]);
}
END_TEST

START_TEST(a_run_has_one_colour_everywhere)
{
    Record *r[] = { record_with(config, text_log), record_with(config, text_log) };
    char *page = page_of(r, 2, NULL);

    /* the table, the legend and the card; twice two losses; the speed */
    ck_assert_int_eq(times(page, "<g class=\"s0"), 3 + 2 * 2 + 1);
    ck_assert_int_eq(times(page, "<g class=\"s1"), 3 + 2 * 2 + 1);
    ck_assert_int_eq(times(page, "<g class=\"s2"), 0);
    free(page);
    record_free(r[0]), record_free(r[1]);
}
END_TEST

START_TEST(a_hundred_runs_are_folded_and_ten_have_colours)
{
    static Record *r[100];

    for (int i = 0; i < 100; i++)
        r[i] = record_of("a", "causal", "byte", 2 + i % 7);
    char *page = page_of(r, 100, NULL);
    ck_assert_int_eq(times(page, "<summary>80 more runs</summary>"), 2);
    ck_assert_int_eq(times(page, "<span>90 more</span>"), 1);
    ck_assert_int_eq(times(page, "<details class=\"card\">"), 100);
    ck_assert_int_eq(times(page, "s1 d1"), times(page, "s7 d0"));
    ck_assert_int_eq(times(page, "s2 d1"), 0);
    ck_assert_int_eq(times(page, "<g class=\"rest\">"), 2 * 90 + 1 + 90);
    ck_assert_uint_lt(strlen(page), 400000);
    free(page);
    for (int i = 0; i < 100; i++)
        record_free(r[i]);
}
END_TEST

START_TEST(axes_have_suitable_units)
{
    char log[4000] = "";

    for (int i = 1; i <= 20; i++)
        sprintf(log + strlen(log),
                "{\"step\":%d,\"split\":\"val\",\"loss\":%g,\"seconds\":%d}\n"
                "{\"step\":%d,\"split\":\"train\",\"loss\":2,\"tok_s\":%d,\"lr\":%g}\n",
                i, 10. / (i * i), 1000 * i, i, 900 + i, i * 1e-4);
    put_text("log.jsonl", log);
    char *page = page_here(NULL), *speed = strstr(page, "<b>Speed</b>");

    check_says(page, ">0.1</i>"); /* from 10 to 0.025, in decades */
    check_says(page, "<p class=\"under\">hours</p>");
    ck_assert_ptr_nonnull(strstr(speed, "\"top:100.0%\">0</i>"));
    ck_assert_ptr_nonnull(strstr(strstr(page, "<b>Learning rate</b>"), "\"top:100.0%\">0</i>"));
    free(page);
}
END_TEST

START_TEST(numbers_are_rounded_for_a_reader)
{
    static const struct {
        double v;
        const char *digits, *amount, *bytes;
    } number[] = { { 0, "0.000", "0", "0\u00a0bytes" },
                   { 2.21969, "2.220", "2.22", "2.22\u00a0bytes" },
                   { 0.25, "0.250", "0.25", "0.25\u00a0bytes" },
                   { 0.0568984, "0.0569", "0.0569", "0.0569\u00a0bytes" },
                   { 11.140, "11.14", "11.14", "11.14\u00a0bytes" },
                   { 9999, "9999", "9999", "10\u00a0kB" },
                   { 12345, "12345", "12.3\u00a0k", "12.3\u00a0kB" },
                   { 999600, "999600", "1\u00a0M", "1\u00a0MB" },
                   { 1e-9, "1×10⁻⁹", "1×10⁻⁹", "1×10⁻⁹\u00a0bytes" },
                   { 1e300, "1×10³⁰⁰", "1×10³⁰⁰", "1×10³⁰⁰" },
                   { HUGE_VAL, "", "", "" },
                   { (double)NAN, "", "", "" } };

    for (int i = 0; i < COUNT(number); i++) {
        ck_assert_str_eq(show_digits(number[i].v, 4).at, number[i].digits);
        ck_assert_str_eq(show_amount(number[i].v).at, number[i].amount);
        ck_assert_str_eq(show_bytes(number[i].v).at, number[i].bytes);
    }
    ck_assert_str_eq(show_duration(3599.6).at, "1:00\u00a0h");
    ck_assert_str_eq(show_duration(59.96).at, "1:00\u00a0min");
    ck_assert_str_eq(show_duration(1.234).at, "1.23\u00a0s");
}
END_TEST

START_TEST(columns_of_the_csv_are_known_by_their_names)
{
    put_text("eval.csv", "ppl,extra,length,protocol,loss\r\n"
                         "8,x,128,disjoint,1\r\n"
                         "9,y,64,disjoint,1\r\n"
                         ",z,32,disjoint,2.302585092994046\r\n");
    char *page = page_here(NULL);

    check_says(page, ", disjoint: 8.000 at 128</title>");
    check_says(page, ", disjoint: 9.000 at 64</title>");
    check_says(page, ", disjoint: 10.00 at 32</title>");
    ck_assert(strstr(page, "at 32<") < strstr(page, "at 64<"));
    ck_assert(strstr(page, "at 64<") < strstr(page, "at 128<"));
    free(page);
}
END_TEST

START_TEST(each_protocol_has_a_curve_with_its_errors)
{
    put_text("eval.csv", "length,protocol,stride,tokens,loss,ppl,bits_per_byte,error,accuracy\n"
                         "64,disjoint,,1000,1,2.5,1.4,0.1,\n"
                         "64,sliding,16,1000,1,2.25,1.4,0.2,\n"
                         "64,sliding,32,1000,1,2,1.4,nan,\n");
    char *page = page_here(NULL);

    check_says(page, ", disjoint: 2.500 ± 0.25 at 64<");
    check_says(page, ", sliding by 16: 2.250 ± 0.45 at 64<");
    check_says(page, ", sliding by 32: 2.000 at 64<");
    ck_assert_int_eq(times(page, " at 64<"), 3);
    ck_assert_int_eq(times(page, "class=\"bar\""), 2);
    free(page);
}
END_TEST

/* The run has gone on to step 4, and step 2 was the best. */
START_TEST(rows_of_another_step_or_text_are_not_taken_for_the_runs)
{
    put_text("config.json", config);
    put_text("log.jsonl", "{\"step\":2,\"split\":\"val\",\"loss\":1}\n"
                          "{\"step\":4,\"split\":\"val\",\"loss\":2}\n");
    for (int step = 1; step <= 5; step++) {
        put_text("eval.csv",
                 text_format("length,protocol,ppl,data,step\n64,disjoint,2,validation,4\n"
                             "64,disjoint,3,given,%d\n",
                             step)
                     .at);
        Record *r = record_here();
        ck_assert_str_eq(r->protocol[1], "disjoint, other data");
        ck_assert_int_eq(noted(r, "is of step"), step == 1 || step == 3);
        record_free(r);
    }
}
END_TEST

START_TEST(a_damaged_csv_is_read_up_to_the_damage)
{
    static const char whole[] =
        "length,protocol,ppl\n64,a,2\n128,a,3\n\n256,a,inf\n-1,a,2\n"
        "0x10p,a,2\n1e3,,4\nlength,protocol,ppl\n,,,,,,\n8,a,5,6\n7,\"b\",5";

    put_text("config.json", config);
    for (size_t n = 0; n <= strlen(whole); n++) {
        put(in_folder("eval.csv"), whole, n);
        Record *r = record_here();

        ck_assert_int_le(r->eval.n, 4);
        free(page_of(&r, 1, NULL));
        record_free(r);
    }
    Record *r = record_here();
    ck_assert_int_eq(r->eval.n, 4);
    ck_assert_str_eq(r->protocol[2], "b");
    ck_assert(noted(r, "6 lines of eval.csv without a length and a perplexity are left out."));
    record_free(r);
}
END_TEST

Suite *suite_report(void)
{
    Suite *s = suite_create("report");
    TCase *t = with_folder(s, "what is read");

    tcase_add_test(t, the_table_has_the_numbers_of_the_run);
    tcase_add_test(t, a_log_cut_anywhere_in_its_last_line_keeps_the_lines_before);
    tcase_add_test(t, invalid_log_lines_are_skipped_and_counted);
    tcase_add_test(t, unusual_values_are_shown_as_unknown);
    tcase_add_test(t, losses_on_texts_that_were_replaced_are_not_the_best);
    tcase_add_test(t, a_gap_in_the_loss_is_a_gap_in_the_curve);
    tcase_add_test(t, a_single_point_is_drawn);
    tcase_add_test(t, a_hundred_thousand_lines_make_a_small_page);
    tcase_add_test(t, a_folder_with_nothing_to_read_is_an_error);
    tcase_add_test(t, missing_parts_are_noted_and_the_rest_is_shown);
    tcase_add_test(t, an_invalid_configuration_is_named);
    t = with_folder(s, "page");
    tcase_add_test(t, text_in_runs_is_escaped);
    tcase_add_test(t, the_page_fetches_nothing_and_its_links_stay_on_it);
    tcase_add_test(t, only_options_that_differ_are_in_the_table);
    tcase_add_test(t, the_best_is_marked_within_a_text_a_tokenizer_and_a_task);
    tcase_add_test(t, runs_are_ranked_and_groups_begin_with_the_largest);
    tcase_add_test(t, a_run_has_one_colour_everywhere);
    tcase_add_test(t, a_hundred_runs_are_folded_and_ten_have_colours);
    tcase_add_test(t, axes_have_suitable_units);
    tcase_add_test(t, numbers_are_rounded_for_a_reader);
    tcase_add_test(t, columns_of_the_csv_are_known_by_their_names);
    tcase_add_test(t, each_protocol_has_a_curve_with_its_errors);
    tcase_add_test(t, rows_of_another_step_or_text_are_not_taken_for_the_runs);
    tcase_add_test(t, a_damaged_csv_is_read_up_to_the_damage);
    return s;
}
