/*
 * The tokenizers of folders: those that tokenizer_json() writes come back, and those that ours
 * cannot be are refused.
 */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"
#include "tools/common/foreign.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bytes `from` in the text become `to`. */
static void change(char **text, const char *from, const char *to)
{
    char *at = strstr(*text, from), *changed;
    const size_t room = strlen(*text) + strlen(to) + 1;

    ck_assert_msg(at != NULL, "no '%s' in %s", from, *text);
    changed = xmalloc(room);
    snprintf(changed, room, "%.*s%s%s", (int)(at - *text), *text, to, at + strlen(from));
    free(*text);
    *text = changed;
}

static void put_tokenizer(FILE *out, void *ctx)
{
    tokenizer_json(ctx, out);
}

/* The tokenizer is written and read as the same one. */
static void check_comes_back(Tokenizer *t)
{
    char *want = tokenizer_save(t), *got;

    file_print(in_folder("tokenizer.json"), put_tokenizer, t);
    Tokenizer *again = foreign_tokenizer(folder, tokenizer_size(t));
    got = tokenizer_save(again);
    ck_assert_str_eq(got, want);
    free(got), free(want);
    tokenizer_free(t), tokenizer_free(again);
}

/* As many tokens as there are, for no model yet. */
static void check_size(Tokenizer *t)
{
    file_print(in_folder("tokenizer.json"), put_tokenizer, t);
    Tokenizer *again = foreign_tokenizer(folder, 0);
    ck_assert(tokenizer_same(again, t));
    tokenizer_free(t), tokenizer_free(again);
}

/* All bytes in order, and what follows. */
static Tokenizer *gpt2(const char *words, const char *rest)
{
    char saved[2000];
    size_t at = (size_t)snprintf(saved, sizeof saved, "%s", words);

    for (unsigned byte = 0; byte < 256; byte++)
        at += (size_t)snprintf(saved + at, sizeof saved - at, " %02x", byte);
    snprintf(saved + at, sizeof saved - at, "%s", rest);
    return tokenizer_load(saved);
}

START_TEST(saved_tokenizers_are_read_back)
{
    check_comes_back(learn("byte", sample_text));
    check_comes_back(learn("bpe:261", sample_text));
    check_comes_back(learn("char", "\xc3\xa4\xc3\xa4\xe4\xb8\x80\xe4\xb8\x80 a"));
    check_size(learn("byte", sample_text));
    check_size(learn("bpe:261", sample_text));
    check_size(gpt2("gpt2-digits:260", " 97,98 256,99 '3c733e _61617a"));
}
END_TEST

START_TEST(tokenizers_with_other_tokens_are_not_the_same)
{
    Tokenizer *t[] = { learn("bpe:261", sample_text), learn("bpe:260", sample_text),
                       learn("byte", ""), learn("char", "") };

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            ck_assert_int_eq(tokenizer_same(t[i], t[j]), i == j);
    for (int i = 0; i < 4; i++)
        tokenizer_free(t[i]);
}
END_TEST

START_TEST(tokenizers_of_other_programs_are_read)
{
    check_comes_back(gpt2("gpt2:259", " 97,98 '3c733e _"));
    check_comes_back(gpt2("gpt2:259", " 97,98 98,99 256,99 97,257=258"));
    check_comes_back(gpt2("gpt2:260", " 97,98 98,99 256,99 _ 97,257=258"));
    check_comes_back(gpt2("gpt2-digits:260", " 97,98 256,99 '3c733e _61617a"));
}
END_TEST

static int vocabulary = 259;

static void import_its_tokenizer(const char *dir)
{
    leaks_are_expected();
    tokenizer_free(foreign_tokenizer(dir, vocabulary));
}

/* What is changed in a tokenizer.json, and the message. */
static const char *const wrong[][3] = {
    { "\"BPE\"", "\"Unigram\"", "its model is Unigram" },
    { "\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}", "normalizer is NFC" },
    { "\"dropout\": null", "\"dropout\": 0.1", "dropout is 0.1" },
    { "\"ignore_merges\": false", "\"ignore_merges\": true", "ignore_merges is true" },
    { "\"byte_fallback\": false", "\"byte_fallback\": true", "byte_fallback is true" },
    { "\"end_of_word_suffix\": null", "\"end_of_word_suffix\": \"</w>\"", "end_of_word_suffix" },
    { "\"add_prefix_space\": false", "\"add_prefix_space\": true", "add_prefix_space is true" },
    { "\"use_regex\": true", "\"use_regex\": false", "merges go across words" },
    { "\"type\": \"ByteLevel\"", "\"type\": \"Whitespace\"", "its pre_tokenizer is Whitespace" },
    { "\"lstrip\": false", "\"lstrip\": true", "has lstrip" },
    { "\"a\": 97", "\"a\": 98", "another's" },
    { "\"a\": 97", "\"a\": 259", "too large" },
    { "\"a\": 97", "\"a\": \"x\"", "has no whole number" },
    { "\"a\": 97,\n", "", "merge 0, 'a' and 'b', does not join" },
    { "\"d\": 100,\n", "", "is no tokenizer" },
    { "\"a b\"", "\"a  b\"", "merge 0" },
    { "\"a b\"", "\"ab\"", "merge 0" },
    { "\"a b\"", "[\"a\"]", "merge 0 is not two strings" },
    { "\"a b\"", "\"a c\"", "merge 0" },
    { "\"content\": \"<s>\"", "\"content\": \"\"", "without content" },
    { "{\"id\": 257", "{\"id\": 258", "has two numbers" },
    { "\"content\": \"<s>\"", "\"content\": \"ab\"", "is not the result of its merge" },
};

START_TEST(a_tokenizer_that_differs_is_refused)
{
    Tokenizer *t = gpt2("gpt2:259", " 97,98 '3c733e _");
    size_t bytes;
    char *text = print_to_memory(put_tokenizer, t, &bytes);
    char *json = text;

    if (strcmp(wrong[_i][0], "{\"id\": 257") == 0)
        ck_assert(strstr(text, wrong[_i][0]) != NULL);
    if (strcmp(wrong[_i][2], "is not the result of its merge") == 0)
        change(&json, "{\"id\": 257", "{\"id\": 256");
    change(&json, wrong[_i][0], wrong[_i][1]);
    put(in_folder("tokenizer.json"), json, strlen(json));
    check_dies(import_its_tokenizer, folder, EXIT_DATA, wrong[_i][2]);
    free(json);
    tokenizer_free(t);
}
END_TEST

/* With two changes of the tokenizer.json of a tokenizer of ours. */
static void check_changed(Tokenizer *t, const char *const to[4], const char *words)
{
    size_t bytes;
    char *json = print_to_memory(put_tokenizer, t, &bytes);

    change(&json, to[0], to[1]), change(&json, to[2], to[3]);
    put(in_folder("tokenizer.json"), json, strlen(json));
    check_dies(import_its_tokenizer, folder, EXIT_DATA, words);
    free(json);
    tokenizer_free(t);
}

START_TEST(exported_tokenizers_that_were_changed_are_refused)
{
    static const char *const swapped[] = { "\"a\": 97", "\"a\": 98", "\"b\": 98", "\"b\": 97" };
    static const char *const merged[] = { "\"b\": 98", "\"b\": 98,\n\"ab\": 256", "\"merges\": []",
                                          "\"merges\": [\"a b\"]" };
    static const char *const longer[] = { "\"b\": 98", "\"b\": 98,\n\"ab\": 256", "{", "{" };

    vocabulary = 256;
    check_changed(learn("byte", ""), swapped, "token 97 is not the byte 97");
    vocabulary = 257;
    check_changed(learn("byte", ""), longer, "has 0 merges for 257 tokens");
    check_changed(learn("char", ""), merged, "byte_fallback is true");
    check_changed(learn("char", ""), longer, "token 256 is not a byte or character");
    vocabulary = 256;
    check_changed(learn("char", ""), swapped, "token 97 is not a byte or character");
}
END_TEST

START_TEST(the_two_files_of_gpt2_are_a_tokenizer)
{
    Tokenizer *t = gpt2("gpt2:258", " 97,98 '3c7c656e646f66746578747c3e"), *got;
    size_t bytes;
    char *text = print_to_memory(put_tokenizer, t, &bytes), *want = tokenizer_save(t), *saved;
    const char *vocab = strchr(strstr(text, "\"vocab\""), '{');

    vocabulary = 258;
    check_dies(import_its_tokenizer, folder, EXIT_IO, "has no tokenizer.json, nor vocab.json");
    put(in_folder("vocab.json"), vocab, (size_t)(strstr(vocab, "},\n\"merges\"") + 1 - vocab));
    put(in_folder("merges.txt"), "#version: 0.2\r\na b\r\n", 20);
    got = foreign_tokenizer(folder, 258);
    saved = tokenizer_save(got);
    ck_assert_str_eq(saved, want);
    free(saved), free(want), free(text);
    tokenizer_free(got), tokenizer_free(t);
}
END_TEST

/* The vocab.json of t, and what else is in the folder. */
static void check_specials(const Tokenizer *t, const char *file, const char *json)
{
    char *want = tokenizer_save(t);

    put(in_folder(file), json, strlen(json));
    Tokenizer *got = foreign_tokenizer(folder, tokenizer_size(t));
    char *saved = tokenizer_save(got);
    ck_assert_str_eq(saved, want);
    unlink(in_folder(file));
    free(saved), free(want);
    tokenizer_free(got);
}

START_TEST(files_beside_these_two_say_what_is_special)
{
    Tokenizer *t = gpt2("gpt2:258", " 97,98 '3c733e");
    size_t bytes;
    char *text = print_to_memory(put_tokenizer, t, &bytes);
    const char *vocab = strchr(strstr(text, "\"vocab\""), '{');
    const char *end = strstr(vocab, "},\n\"merges\"") + 1, *token = strstr(vocab, ",\n\"<s>\"");

    vocabulary = 258;
    put(in_folder("merges.txt"), "a b\n", 4);
    put(in_folder("vocab.json"), vocab, (size_t)(end - vocab));
    check_specials(t, "special_tokens_map.json",
                   "{\"pad_token\": \"[PAD]\", \"bos_token\": \"<s>\"}");
    check_specials(t, "special_tokens_map.json", "{\"bos_token\": {\"content\": \"<s>\"}}");
    check_specials(t, "special_tokens_map.json", "{\"additional_special_tokens\": [\"<s>\"]}");
    put(in_folder("merges.txt"), "a b\n\0x", 6);
    check_dies(import_its_tokenizer, folder, EXIT_DATA, "byte 4 is NUL");
    put(in_folder("merges.txt"), "a b\n", 4);
    char *less = strndup(vocab, (size_t)(token - vocab + 1));
    less[token - vocab] = '}';
    put(in_folder("vocab.json"), less, strlen(less));
    check_specials(t, "added_tokens.json", "{\"<s>\": 257}");
    free(less), free(text);
    tokenizer_free(t);
}
END_TEST

Suite *suite_vocabulary(void)
{
    Suite *s = suite_create("vocabulary");
    TCase *t = with_folder(s, "tokenizers of folders");

    tcase_add_test(t, saved_tokenizers_are_read_back);
    tcase_add_test(t, tokenizers_with_other_tokens_are_not_the_same);
    tcase_add_test(t, tokenizers_of_other_programs_are_read);
    tcase_add_test(t, the_two_files_of_gpt2_are_a_tokenizer);
    tcase_add_test(t, files_beside_these_two_say_what_is_special);
    tcase_add_test(t, exported_tokenizers_that_were_changed_are_refused);
    tcase_add_loop_test(t, a_tokenizer_that_differs_is_refused, 0, COUNT(wrong));
    return s;
}
