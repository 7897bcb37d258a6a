/* What programs measure a trained model on. */
#include "tools/common/trained.h"

#include "data/corpus.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"

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

Suite *suite_trained(void)
{
    Suite *s = suite_create("trained");
    TCase *t = with_folder(s, "trained");

    tcase_add_test(t, without_a_text_a_model_is_evaluated_on_held_back_data);
    tcase_add_test(t, a_given_text_is_used_whole_unless_a_share_is_given);
    tcase_add_test(t, a_changed_validation_text_is_reported);
    tcase_add_test(t, stories_are_as_many_as_the_run_had);
    return s;
}
