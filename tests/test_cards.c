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

#define SKIPPED "\"split\":\"train\",\"loss\":2,\"skipped\":true}\n"

START_TEST(skipped_updates_are_noted)
{
    put_text("config.json", "{\"task\":\"causal\"}");
    put_text("log.jsonl",
             LOSS "{\"step\":2," SKIPPED "{\"step\":3,\"split\":\"train\",\"loss\":2}\n");
    Record *r = record_here();
    ck_assert(noted(r, "1 update was skipped, as gradients were not finite or losses too high."));
    record_free(r);
    put_text("log.jsonl", LOSS "{\"step\":2," SKIPPED "{\"step\":3," SKIPPED);
    r = record_here();
    ck_assert(noted(r,
                    "2 updates were skipped, as gradients were not finite or losses too high, the "
                    "last 2 in a row."));
    record_free(r);
    put_text("log.jsonl", LOSS);
    r = record_here();
    ck_assert(!noted(r, "skipped"));
    record_free(r);
}
END_TEST

START_TEST(a_model_for_transformers_is_no_run)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"]}";

    put_text("config.json", config);
    check_no_run(folder, "is a model for transformers, not a run");
    put_text("log.jsonl", LOSS);
    record_free(record_here());
}
END_TEST

/* What follows from other options by default says nothing more than these. */
START_TEST(options_that_follow_from_others_are_not_listed)
{
#define RUN                                                                                        \
    "{\"task\":\"causal\",\"max_iters\":%d,\"lr_decay_iters\":%d,\"learning_rate\":%g,\"min_lr\":%g}"

    for (int given = 0; given < 2; given++) {
        Record *r[2];

        for (int i = 0; i < 2; i++) {
            put_text("config.json", text_format(RUN, 20 + i, 20 + i, i ? 0.2 : 0.1,
                                                i       ? 0.02
                                                : given ? 0
                                                        : 0.01)
                                        .at);
            put_text("log.jsonl", LOSS);
            r[i] = record_here();
        }
        char *page = page_of(r, 2, NULL);
        check_says(page, "max-iters\u00a020");
        check_says(page, "learning-rate\u00a00.1");
        ck_assert_ptr_null(strstr(page, "lr-decay-iters"));
        ck_assert_int_eq(strstr(page, "min-lr") != NULL, given);
        free(page);
        record_free(r[0]), record_free(r[1]);
    }
}
END_TEST

/* A run as its configuration and its weights tell of it: its tokenizer, its text and their hash. */
static Record *record_of(const char *tokenizer, const char *saved, const char *file,
                         const char *corpus)
{
    const Meta meta[] = { { "attnc.corpus", corpus },
                          { "attnc.tokenizer", saved },
                          { "attnc.option.file.0", file } };

    put_text("config.json",
             text_format("{\"task\":\"causal\",\"tokenizer\":\"%s\"}", tokenizer).at);
    put_text("log.jsonl", LOSS);
    safetensors_write(in_folder("model.safetensors"),
                      (Contents){ .meta = meta, .metas = file ? 3 : 2 });
    return record_here();
}

/* The name of the group of two runs; empty if they are not comparable. */
static Text group_of(Record *a, Record *b)
{
    Record *r[] = { a, b };
    const Report report = { .record = r, .records = 2 };
    Arena *mem = arena_new();
    int n;
    const Group *g = groups_make(&report, mem, &n);
    const Text name = text_format("%s", n == 1 && g->differing == 0 ? g->name : "");

    arena_free(mem);
    record_free(a), record_free(b);
    return name;
}

START_TEST(a_tokenizer_is_known_by_its_tokens)
{
#define SAVED "bpe:258 97,98 98,99"
    Text name = group_of(record_of("bpe:258", SAVED, "in/a.txt", "a1"),
                         record_of("runs/other/", SAVED, "a.txt", "a1"));

    ck_assert_str_eq(name.at, "causal · bpe:258 · a.txt");
    name = group_of(record_of("bpe:258", SAVED, "a.txt", "a1"),
                    record_of("bpe:258", "bpe:258 97,98 98,100", "a.txt", "a1"));
    ck_assert_str_eq(name.at, "");
    name = group_of(record_of("byte", "byte", "a.txt", "a1"),
                    record_of("byte", "byte", "a.txt", "a2"));
    ck_assert_str_eq(name.at, "");
    name = group_of(record_of("bpe:258", SAVED, NULL, "a1"),
                    record_of("bpe:258", "bpe:258 97,98 98,100", NULL, "a2"));
    ck_assert_str_eq(name.at, "causal · bpe:258 · built-in stories");
    name = group_of(record_of("byte", "byte", NULL, "0"), record_of("byte", "byte", NULL, "0"));
    ck_assert_str_eq(name.at, "causal");
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
    tcase_add_test(t, skipped_updates_are_noted);
    tcase_add_test(t, a_model_for_transformers_is_no_run);
    tcase_add_test(t, options_that_follow_from_others_are_not_listed);
    tcase_add_test(t, a_tokenizer_is_known_by_its_tokens);
    return s;
}
