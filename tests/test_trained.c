/* What programs measure a trained model on. */
#include "tools/common/trained.h"

#include "data/corpus.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tools/common/held_back.h"

#include <string.h>

enum { BYTES = 200, HELD_BACK = 20 };

/* A run that was trained on this. */
static void put_run_on(Corpus corpus, const Meta *option, int n)
{
    Small *s = small_open(small_variant(0), 2, 5);
    Config c = s->model.config;
    c.vocab = 256;
    Model model;
    model_init(&model, c, s->mem, 1);
    Tokenizer *t = tokenizer_learn("byte", corpus.train);
    const Origin origin = { task_names[TASK_CAUSAL], t, corpus.hash, option, n };
    saved_write(in_folder("model"), &model, NULL, (Progress){ .best = HUGE_VAL, .loss = 1 },
                &origin);
    tokenizer_free(t);
    corpus_free(&corpus);
    small_close(s);
}

/* A text whose byte i is i % 100, and a run that was trained on all but its last tenth. */
static void put_run(void)
{
    char text[BYTES];
    const char *path = in_folder("text");
    const Meta option[] = { { "val-share", "0.1" }, { "file.0", path } };

    for (int i = 0; i < BYTES; i++)
        text[i] = (char)(i % 100);
    put(path, text, BYTES);
    put_run_on(corpus_read((CorpusFiles){ .path = &path, .n = 1, .held_back = 0.1 }), option,
               COUNT(option));
}

/* The tokens count up from this byte. */
static void check_text(TextChoice choice, int from, size_t n)
{
    Saved *run = saved_read(in_folder("model"), false);
    Tokens tokens = trained_text(run, choice);

    ck_assert_uint_eq(tokens.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(tokens.at[i], (from + (int)i) % 100);
    tokens_free(&tokens);
    saved_free(run);
}

START_TEST(without_a_text_a_model_is_evaluated_on_held_back_data)
{
    put_run();
    check_text((TextChoice){ .share = (double)NAN }, BYTES - HELD_BACK, HELD_BACK);
    check_text((TextChoice){ .share = (double)NAN, .most = 7 }, BYTES - HELD_BACK, 7);
}
END_TEST

START_TEST(a_given_text_is_used_whole_unless_a_share_is_given)
{
    const char *path;

    put_run();
    path = in_folder("text");
    check_text((TextChoice){ &path, 1, (double)NAN, 0, NULL }, 0, BYTES);
    check_text((TextChoice){ &path, 1, 0.25, 0, NULL }, 150, 50);
}
END_TEST

static void print_text(const char *path)
{
    Saved *run = saved_read(path, false);
    Tokens tokens = trained_text(run, (TextChoice){ .share = (double)NAN });

    fprintf(stderr, "%zu\n", tokens.n);
    tokens_free(&tokens);
    saved_free(run);
}

START_TEST(a_changed_validation_text_is_reported)
{
    put_run();
    ck_assert_int_eq(exit_code_of(print_text, in_folder("model")), 0);
    ck_assert_str_eq(said, "20\n");
    put(in_folder("text"), "something else, which is shorter", 32);
    ck_assert_int_eq(exit_code_of(print_text, in_folder("model")), 0);
    ck_assert_ptr_nonnull(strstr(said, "warning: this is not the text on which "));
}
END_TEST

/* A run that does not record how many there were has the default number. */
START_TEST(stories_are_as_many_as_the_run_had)
{
    const Meta few[] = { { "seed", "5" }, { "story-bytes", "3000" } };

    put_run_on(corpus_stories(5, 3000), few, 2);
    ck_assert_int_eq(exit_code_of(print_text, in_folder("model")), 0);
    ck_assert_ptr_null(strstr(said, "warning"));
    put_run_on(corpus_stories(5, STORIES_BYTES), few, 1);
    ck_assert_int_eq(exit_code_of(print_text, in_folder("model")), 0);
    ck_assert_ptr_null(strstr(said, "warning"));
}
END_TEST

START_TEST(options_of_a_run_are_in_their_range)
{
    static const char *const share[] = { "2", "-0.1", "0.91", "1e300", "-1e300" };
    static const char *const stories[] = { "0", "-5", "1e300", "1e12" };
    const char *path = in_folder("text");

    put(path, "a text that is longer than its end", 34);
    for (int i = 0; i < COUNT(share); i++) {
        const Meta option[] = { { "val-share", share[i] }, { "file.0", path } };

        put_run_on(corpus_read((CorpusFiles){ .path = &path, .n = 1, .held_back = 0.1 }), option,
                   2);
        check_dies(print_text, in_folder("model"), EXIT_DATA, "its --val-share is");
    }
    for (int i = 0; i < COUNT(stories); i++) {
        const Meta option[] = { { "seed", "5" }, { "story-bytes", stories[i] } };

        put_run_on(corpus_stories(5, 300), option, 2);
        check_dies(print_text, in_folder("model"), EXIT_DATA, "its --story-bytes is");
    }
}
END_TEST

static void open_rows(const char *path)
{
    held_back_free(held_back_open(saved_read(path, false), (TextChoice){ 0 }, 0));
}

/* A run of a task whose model has these outputs. */
static void put_task(const char *task, const char *symbols, int kind, int vocab, int classes)
{
    const Meta option[] = { { "seed", "5" }, { "symbols", symbols } };
    Config c = small_variant(0);

    c.vocab = vocab, c.classes = classes, c.task = kind, c.context = 32;
    Small *s = small_open(c, 2, 5);
    saved_write(in_folder("model"), &s->model, NULL, (Progress){ .best = HUGE_VAL, .loss = 1 },
                &(Origin){ .task = task, .option = option, .options = symbols ? 2 : 1 });
    small_close(s);
}

/* Otherwise answers would be counted, or targets looked up, beyond the model's outputs. */
START_TEST(a_model_has_the_outputs_of_its_task)
{
    static const struct {
        const char *task, *symbols;
        int kind, vocab, classes;
    } wrong[] = {
        { "listops", NULL, TASK_CLASSIFY, 18, 2 }, { "listops", NULL, TASK_CAUSAL, 18, 0 },
        { "recall", "8", TASK_CLASSIFY, 10, 10 },  { "recall", "9", TASK_CAUSAL, 10, 0 },
        { "recall", "-1", TASK_CAUSAL, 10, 0 },    { "recall", "1e300", TASK_CAUSAL, 10, 0 },
    };

    put_task("recall", "8", TASK_CAUSAL, 10, 0);
    ck_assert_int_eq(exit_code_of(open_rows, in_folder("model")), 0);
    for (int i = 0; i < COUNT(wrong); i++) {
        put_task(wrong[i].task, wrong[i].symbols, wrong[i].kind, wrong[i].vocab, wrong[i].classes);
        check_dies(open_rows, in_folder("model"), EXIT_DATA,
                   wrong[i].symbols && strlen(wrong[i].symbols) > 1 ? "its --symbols is"
                                                                    : "does not fit its task");
    }
}
END_TEST

static void open_labels(const char *path)
{
    held_back_free(held_back_open(saved_read(path, false),
                                  (TextChoice){ .labels = in_folder("rows.tsv") }, 0));
}

START_TEST(two_texts_are_not_compared_in_rows_of_one)
{
    static const Meta option[] = { { "texts", "1" }, { "label.0", "a" }, { "label.1", "b" } };
    Config c = small_variant(0);
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });

    c.vocab = 256, c.classes = 2, c.task = TASK_CLASSIFY, c.pairs = PAIRS_TOWERS;
    Small *s = small_open(c, 2, 5);
    saved_write(in_folder("model"), &s->model, NULL, (Progress){ .best = HUGE_VAL, .loss = 1 },
                &(Origin){ .task = "classify", .tokenizer = t, .option = option, .options = 3 });
    put(in_folder("rows.tsv"), "a\tone\nb\tother\n", 14);
    check_dies(open_labels, in_folder("model"), EXIT_DATA, "compares two texts");
    tokenizer_free(t);
    small_close(s);
}
END_TEST

Suite *suite_trained(void)
{
    Suite *s = suite_create("trained");
    TCase *t = with_folder(s, "trained");

    tcase_add_test(t, without_a_text_a_model_is_evaluated_on_held_back_data);
    tcase_add_test(t, a_given_text_is_used_whole_unless_a_share_is_given);
    tcase_add_test(t, a_changed_validation_text_is_reported);
    tcase_add_test(t, stories_are_as_many_as_the_run_had);
    tcase_add_test(t, options_of_a_run_are_in_their_range);
    tcase_add_test(t, a_model_has_the_outputs_of_its_task);
    tcase_add_test(t, two_texts_are_not_compared_in_rows_of_one);
    return s;
}
