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
    check_says(page, "<td class=\"word\"><span>causal</span></td>"
                     "<td><span>64</span></td><td><span>99</span></td><td><span>5000</span></td>"
                     "<td><span>2.2500</span></td><td><span>2.5000</span></td>"
                     "<td><span>9.488</span></td><td><span>3.2461</span></td>"
                     "<td><span>70</span></td><td><span>1:05\u00a0h</span></td></tr>");
    ck_assert_ptr_null(strstr(page, "accuracy"));
    ck_assert_ptr_null(strstr(page, "What differs"));
    ck_assert_int_eq(times(page, "class=\"best\""), 0);
    free(page);
}
END_TEST

START_TEST(a_log_cut_anywhere_in_its_last_line_keeps_the_lines_before)
{
    const size_t whole = strlen(text_log), last = (size_t)(strrchr(text_log, '{') - text_log);

    put_text("config.json", config);
    for (size_t n = last; n <= whole; n++) {
        put(in_folder("log.jsonl"), text_log, n);
        Record *r = record_read(folder);
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

START_TEST(a_line_that_is_none_is_left_out_and_counted)
{
    for (int i = 0; i < COUNT(bad_lines); i++) {
        char log[2000];

        snprintf(log, sizeof log, "%s%s\n%s%s\n", text_log, bad_lines[i], text_log, bad_lines[i]);
        put_text("log.jsonl", log);
        Record *r = record_read(folder);
        ck_assert_int_eq(r->train.n, 4);
        ck_assert_int_eq(r->validation.n, 4);
        ck_assert_msg(noted(r, "2 lines of log.jsonl are left out; the first, line 5, has"), "%s",
                      bad_lines[i]);
        record_free(r);
    }
}
END_TEST

START_TEST(odd_values_are_not_known)
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
    Record *r = record_read(folder);
    ck_assert_int_eq(r->validation.n, 6);
    ck_assert_int_eq(record_best(r), 3);
    ck_assert(isnan(r->validation.at[LOG_LOSS][1]) && isnan(r->validation.at[LOG_PPL][1]));
    ck_assert(isnan(r->validation.at[LOG_LOSS][2]));
    free(page_of(&r, 1, NULL));
    record_free(r);
}
END_TEST

START_TEST(a_gap_in_the_loss_is_a_gap_in_the_curve)
{
    put_text("log.jsonl", "{\"step\":1,\"split\":\"val\",\"loss\":3}\n"
                          "{\"step\":2,\"split\":\"val\",\"loss\":2}\n"
                          "{\"step\":3,\"split\":\"val\"}\n"
                          "{\"step\":4,\"split\":\"val\",\"loss\":2}\n"
                          "{\"step\":5,\"split\":\"val\",\"loss\":1}\n");
    char *page = page_here(NULL), *path = strstr(page, "<path class=\"line\" d=\"M");

    ck_assert_ptr_nonnull(path);
    path[strcspn(path + 25, "\"") + 25] = 0;
    ck_assert_int_eq(times(path, "M"), 2);
    free(page);
}
END_TEST

START_TEST(one_point_is_a_chart)
{
    put_text("log.jsonl", "{\"step\":1,\"split\":\"train\",\"loss\":3,\"seconds\":0}\n");
    char *page = page_here(NULL);

    check_says(page, ": 3 at 1</title>");
    free(page);
    put_text("log.jsonl", "{\"step\":1,\"split\":\"val\",\"loss\":3}\n");
    page = page_here(NULL);
    check_says(page, ">best 3 at 1<");
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
    Record *r = record_read(folder);
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
    record_free(record_read(path));
}

START_TEST(a_folder_with_nothing_to_read_is_an_error)
{
    check_dies(read_one, folder, EXIT_DATA, "has no config.json, log.jsonl, eval.csv or weights");
    check_dies(read_one, in_folder("none"), EXIT_IO, "none is not a folder");
    put_run();
    check_dies(read_one, in_folder("config.json"), EXIT_IO, "is not a folder");
    files(true);
    put_text("config.json", "{\"attn\": \"softm");
    put_text("log.jsonl", "\n\nx");
    put_text("eval.csv", "length,ppl\n");
    put_text("best.safetensors", "no weights");
    check_dies(read_one, folder, EXIT_DATA, "that can be read");
}
END_TEST

START_TEST(what_is_missing_is_said_and_the_rest_is_shown)
{
    put_run();
    Record *r = record_read(folder);
    char *page = page_of(&r, 1, "text");

    ck_assert(noted(r, "no weights") && !noted(r, "config") && !noted(r, "log"));
    check_says(page, "What could not be read");
    check_says(page, "There are no weights that can be read.");
    check_says(page, "No folder has an <code>eval.csv</code>");
    free(page);
    record_free(r);
    remove(in_folder("config.json"));
    r = record_read(folder);
    page = page_of(&r, 1, NULL);
    ck_assert(noted(r, "no config.json"));
    check_says(page, ">2.2500<");
    free(page);
    record_free(r);
    put_text("config.json", config);
    remove(in_folder("log.jsonl"));
    r = record_read(folder);
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

START_TEST(a_configuration_that_is_none_is_named)
{
    put_run();
    for (int i = 0; i < COUNT(bad_configs); i++) {
        put_text("config.json", bad_configs[i].text);
        Record *r = record_read(folder);

        ck_assert_msg(noted(r, bad_configs[i].note), "%s", bad_configs[i].text);
        free(page_of(&r, 1, NULL));
        record_free(r);
    }
}
END_TEST

START_TEST(words_of_strangers_stay_words)
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
        two[0] = record_read(folder);
        put_text("config.json", "{\"attn\":\"</table>\"}");
        two[1] = record_read(folder);
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

START_TEST(the_page_fetches_nothing)
{
    put_run();
    char *page = page_here(NULL);

    ck_assert_int_eq(times(page, "http"), times(page, " xmlns=\"http://www.w3.org/2000/svg\""));
    ck_assert_int_eq(times(page, "src=") + times(page, "href") + times(page, "url("), 0);
    ck_assert_int_eq(times(page, "@import") + times(page, " id=\""), 0);
    free(page);
}
END_TEST

static Record *record_with(const char *settings, const char *log)
{
    put_text("config.json", settings);
    put_text("log.jsonl", log);
    return record_read(folder);
}

START_TEST(only_options_that_differ_have_a_column)
{
    Record *r[] = {
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":true,\"out_dir\":\"a\"}", text_log),
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":false,\"out_dir\":\"b\"}", text_log),
        record_with("{\"attn\":\"relu\",\"n_head\":4,\"tied\":true,\"later\":0.5}", text_log),
        record_with("", text_log),
    };
    char *page = page_of(r, 4, NULL);

    check_says(page, "<th>run</th><th>tied</th><th>later</th></tr>");
    check_says(page, "<td><span>yes</span></td><td><span>–</span></td></tr>");
    check_says(page, "<td><span>no</span></td><td><span>–</span></td></tr>");
    check_says(page, "<td><span>yes</span></td><td><span>0.5</span></td></tr>");
    free(page);
    page = page_of((Record *[]){ r[0], r[0] }, 2, NULL);
    check_says(page, "None of the known options");
    free(page);
    for (int i = 0; i < 4; i++)
        record_free(r[i]);
}
END_TEST

START_TEST(the_best_is_marked_among_runs_of_its_task)
{
    Record *r[] = {
        record_with("{\"task\":\"causal\"}", "{\"step\":1,\"split\":\"val\",\"loss\":2}\n"),
        record_with("{\"task\":\"causal\"}", "{\"step\":1,\"split\":\"val\",\"loss\":1.5}\n"),
        record_with("{\"task\":\"mlm\"}", "{\"step\":1,\"split\":\"val\",\"loss\":1}\n"),
        record_with("{\"task\":\"causal\"}", "{\"step\":1,\"split\":\"val\"}\n"),
    };
    char *page = page_of(r, 4, NULL);

    ck_assert_int_eq(times(page, "class=\"best\"><span>1.5000<"), 2); /* best and last */
    ck_assert_int_eq(times(page, "class=\"best\"><span>4.482<"), 1);  /* e^1.5 */
    ck_assert_int_eq(times(page, "class=\"best\""), 3);
    check_says(page, "different tasks");
    free(page);
    for (int i = 0; i < 4; i++)
        record_free(r[i]);
}
END_TEST

START_TEST(a_run_has_one_colour_everywhere)
{
    Record *r[] = { record_with(config, text_log), record_with(config, text_log) };
    char *page = page_of(r, 2, NULL);

    /* the table, and in two charts its training, its validation and its label */
    ck_assert_int_eq(times(page, "<g class=\"s0"), 1 + 2 * 3);
    ck_assert_int_eq(times(page, "<g class=\"s1"), 1 + 2 * 3);
    ck_assert_int_eq(times(page, "<g class=\"s2"), 0);
    ck_assert_int_eq(times(page, "class=\"name\""), 4);
    free(page);
    record_free(r[0]), record_free(r[1]);
}
END_TEST

START_TEST(columns_of_the_csv_are_known_by_their_names)
{
    put_text("eval.csv", "ppl,extra,length,protocol,loss\r\n"
                         "8,x,128,disjoint,1\r\n"
                         "9,y,64,disjoint,1\r\n"
                         ",z,32,disjoint,2.302585092994046\r\n");
    char *page = page_here(NULL);

    check_says(page, ", disjoint: 8 at 128</title>");
    check_says(page, ", disjoint: 9 at 64</title>");
    check_says(page, ", disjoint: 10 at 32</title>");
    ck_assert(strstr(page, "at 32<") < strstr(page, "at 64<"));
    ck_assert(strstr(page, "at 64<") < strstr(page, "at 128<"));
    ck_assert_ptr_null(strstr(page, "No folder has an"));
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

    check_says(page, ", disjoint: 2.5 ± 0.25 at 64<");
    check_says(page, ", sliding by 16: 2.25 ± 0.45 at 64<");
    check_says(page, ", sliding by 32: 2 at 64<");
    ck_assert_int_eq(times(page, " at 64<"), 3);
    free(page);
}
END_TEST

START_TEST(a_csv_that_is_cut_or_odd_is_read_as_far_as_it_goes)
{
    static const char whole[] =
        "length,protocol,ppl\n64,a,2\n128,a,3\n\n256,a,inf\n-1,a,2\n"
        "0x10p,a,2\n1e3,,4\nlength,protocol,ppl\n,,,,,,\n8,a,5,6\n7,\"b\",5";

    put_text("config.json", config);
    for (size_t n = 0; n <= strlen(whole); n++) {
        put(in_folder("eval.csv"), whole, n);
        Record *r = record_read(folder);

        ck_assert_int_le(r->eval.n, 4);
        free(page_of(&r, 1, NULL));
        record_free(r);
    }
    Record *r = record_read(folder);
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
    tcase_add_test(t, a_line_that_is_none_is_left_out_and_counted);
    tcase_add_test(t, odd_values_are_not_known);
    tcase_add_test(t, a_gap_in_the_loss_is_a_gap_in_the_curve);
    tcase_add_test(t, one_point_is_a_chart);
    tcase_add_test(t, a_hundred_thousand_lines_make_a_small_page);
    tcase_add_test(t, a_folder_with_nothing_to_read_is_an_error);
    tcase_add_test(t, what_is_missing_is_said_and_the_rest_is_shown);
    tcase_add_test(t, a_configuration_that_is_none_is_named);
    t = with_folder(s, "notes");
    tcase_add_test(t, words_of_strangers_stay_words);
    tcase_add_test(t, the_page_fetches_nothing);
    tcase_add_test(t, only_options_that_differ_have_a_column);
    tcase_add_test(t, the_best_is_marked_among_runs_of_its_task);
    tcase_add_test(t, a_run_has_one_colour_everywhere);
    tcase_add_test(t, columns_of_the_csv_are_known_by_their_names);
    tcase_add_test(t, each_protocol_has_a_curve_with_its_errors);
    tcase_add_test(t, a_csv_that_is_cut_or_odd_is_read_as_far_as_it_goes);
    return s;
}
