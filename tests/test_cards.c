/* The cards and the small charts of ./report: where a run is from, and how it was resumed. */
#include "tests/folder.h"
#include "tests/pages.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

#define LOSS "{\"step\":1,\"split\":\"val\",\"loss\":2}\n"
#define RESUMED_WITH(command)                                                                      \
    "<h4>Resumed after step 1 with</h4>\n<pre class=\"command\"><code>" command "</code></pre>\n"
#define START(command) "{\"step\":1,\"split\":\"start\",\"run\":{\"command\":\"" command "\"}}\n"

START_TEST(a_card_shows_the_origin_of_a_run)
{
    put_text("config.json",
             "{\"task\":\"causal\",\"n_head\":1,\"n_layer\":2,\"threads\":0,\"parameters\":5}");
    put_text("log.jsonl",
             "{\"step\":0,\"split\":\"start\",\"run\":{\"version\":\"1.2\",\"threads\":4,"
             "\"command\":\"./train \\u202e<b>\\n  x\",\"host\":\"h&\",\"flags\":\"-O3\","
             "\"texts\":[{\"file\":\"in/a.txt\",\"bytes\":1115394,\"hash\":\"59701cd6\"}]}}\n" LOSS
             "{\"step\":9,\"split\":\"final\",\"loss\":1.75,\"peak_memory\":23400000}\n");
    Record *r = record_here();
    char *page = page_of(&r, 1, NULL);

    ck_assert(!noted(r, "left out"));
    check_says(page, "<dd>a.txt, 1.12\u00a0MB, hash 59701cd6</dd>");
    check_says(page, "<dd>5 parameters, 2 layers, 1 head</dd>");
    check_says(page, "<dd>4 threads, h&#38;</dd>");
    check_says(page, "<dd>attn.c 1.2, -O3</dd>");
    check_says(page, "<dd>23.4\u00a0MB</dd>");
    check_says(page, "<dd>2.000 at step 1, 1.750 over all validation targets at the end</dd>");
    check_says(page, "<code>./train \ufffd&#60;b&#62;\n  x</code>");
    free(page);
    record_free(r);
    put_text("config.json", "{}");
    put_text("log.jsonl", LOSS);
    page = page_here(NULL);
    ck_assert_ptr_null(strstr(page, "machine"));
    ck_assert_ptr_null(strstr(page, "<h4>"));
    free(page);
    put_text("log.jsonl", START("a") LOSS START("b") START("c"));
    page = page_here(NULL);
    check_says(page, "<code>a</code></pre>\n" RESUMED_WITH("b") RESUMED_WITH("c") "</details>");
    free(page);
}
END_TEST

START_TEST(a_card_shows_the_last_twenty_resumptions)
{
    char log[4000] = START("a");
    size_t n = strlen(log);

    for (int i = 0; i < 23; i++)
        n += (size_t)sprintf(
            log + n, "{\"step\":%d,\"split\":\"start\",\"run\":{\"command\":\"%d\"}}\n", i, i);
    put_text("log.jsonl", log);
    put_text("config.json", "{}");
    char *page = page_here(NULL);
    check_says(page, "<code>a</code></pre>\n<h4>Resumed after step 3 with</h4>");
    check_says(page, "<h4>Resumed after step 22 with</h4>\n<pre class=\"command\"><code>22<");
    free(page);
}
END_TEST

/* All seven would overlap. */
START_TEST(every_second_length_is_named_in_a_small_chart)
{
    Text lengths = text_format("length,ppl\n");

    for (int n = 16; n <= 1024; n *= 2)
        text_add(&lengths, "%d,2.5\n", n);
    put_text("config.json", "{\"task\":\"causal\"}");
    put_text("log.jsonl", LOSS);
    put_text("eval.csv", lengths.at);
    Record *r = record_here();
    char *page = page_of(&r, 1, NULL);
    const char *chart = strstr(page, "Perplexity by length");

    ck_assert_ptr_nonnull(chart);
    ck_assert(strstr(chart, ">16</i>") && strstr(chart, ">64</i>") && strstr(chart, ">1024</i>"));
    ck_assert(!strstr(chart, ">32</i>") && !strstr(chart, ">128</i>"));
    free(page);
    record_free(r);
}
END_TEST

Suite *suite_cards(void)
{
    Suite *s = suite_create("cards");
    TCase *t = with_folder(s, "page");

    tcase_add_test(t, a_card_shows_the_origin_of_a_run);
    tcase_add_test(t, a_card_shows_the_last_twenty_resumptions);
    tcase_add_test(t, every_second_length_is_named_in_a_small_chart);
    return s;
}
