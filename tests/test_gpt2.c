/* The tokenizers of imported models: pieces, special tokens, and what is none. */
#include "data/gpt2.h"
#include "data/tokenizer.h"
#include "data/unicode.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* The text without '|' has the pieces that are between them. */
static void check_pieces(size_t (*piece)(Bytes text), const char *cut)
{
    char text[100], got[200] = "", *to = text;
    size_t at = 0;

    for (const char *s = cut; *s; s++)
        if (*s != '|')
            *to++ = *s;
    const Bytes b = bytes_of(text, (size_t)(to - text));
    for (size_t i = 0, n; i < b.n; i += n) {
        n = piece((Bytes){ b.at + i, b.n - i });
        ck_assert(n > 0 && n <= b.n - i);
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%.*s", i ? "|" : "", (int)n,
                               (const char *)b.at + i);
    }
    ck_assert_str_eq(got, cut);
    let_go(b);
}

/* As the library cuts them; tests/import.py compares many more. */
START_TEST(a_text_has_the_pieces_of_gpt2s_pattern)
{
    static const char *const cut[] = {
        "It|'s| we|'ve|'ll|'|S| '|s|'",
        "a| | b| c|\n\n|\n|d|\t|\t|e|  ",
        " \n",
        "12| 345|a| 6|,|789|.|00| 1|st",
        "na\xc3\xafve| caf\xc3\xa9|!",
        "\xe3\x80\x80|\xe3\x80\x80|x|\xc2\xa0|y|\xe2\x80\x83| z",
        "\xd9\xa1\xc2\xbd|a| \xc2\xb2",
        "\xff\xfe|a| \xe4\xb8!",
        "x| !?\xf0\x9f\x98\x80",
        " a",
        " ",
    };

    for (int i = 0; i < COUNT(cut); i++)
        check_pieces(gpt2_piece, cut[i]);
}
END_TEST

START_TEST(each_number_may_be_a_piece_and_the_end_of_a_text)
{
    static const char *const cut[] = { "a|1|2| |3|b", "  |1|   |2| x|'|1", " |\xd9\xa1|\n\n|4",
                                       "'s|1| a" };

    for (int i = 0; i < COUNT(cut); i++)
        check_pieces(gpt2_digits_piece, cut[i]);
}
END_TEST

START_TEST(characters_have_the_classes_of_unicode)
{
    static const struct {
        uint32_t code;
        UnicodeClass is;
    } some[] = {
        { 'a', UNICODE_LETTER },     { '@', UNICODE_OTHER },      { '9', UNICODE_NUMBER },
        { 0x85, UNICODE_SPACE },     { 0x2028, UNICODE_SPACE },   { 0x200b, UNICODE_OTHER },
        { 0x4e00, UNICODE_LETTER },  { 0x2160, UNICODE_NUMBER },  { 0xbd, UNICODE_NUMBER },
        { 0x300, UNICODE_OTHER },    { 0x10ffff, UNICODE_OTHER }, { 0, UNICODE_OTHER },
        { 0x323af, UNICODE_LETTER }, { 0x3000, UNICODE_SPACE },   { 0x3001, UNICODE_OTHER }
    };

    for (int i = 0; i < COUNT(some); i++)
        ck_assert_int_eq(unicode_class(some[i].code), some[i].is);
}
END_TEST

static Tokenizer *loaded(const char *saved)
{
    Tokenizer *t = tokenizer_load(saved);

    ck_assert_msg(t != NULL, "%s", saved);
    char *again = tokenizer_save(t);
    ck_assert_str_eq(again, saved);
    free(again);
    return t;
}

/* Byte b is token 255 - b; 256 is "ab", 257 " ab", 258 "bc". */
static const char merges[] = " 158,157 223,256 157,156";

START_TEST(merges_join_the_tokens_of_bytes)
{
    Tokenizer *t = loaded(with_bytes("gpt2:259", merges));

    ck_assert_int_eq(tokenizer_size(t), 259);
    check_tokens(t, "ab abc", (const int[]){ 256, 257, 156, NONE });
    check_tokens(t, "bca abcb", (const int[]){ 258, 158, 257, 156, 157, NONE });
    check_tokens(t, "", (const int[]){ NONE });
    for (int k = 0; k < ALPHABETS; k++) {
        const Bytes text = random_text(1, alphabets[k], 300);

        check_there_and_back(t, text);
        let_go(text);
    }
    tokenizer_free(t);
}
END_TEST

/* Of "a" and "bc", which is token 256, comes "abc", which has been made of "ab" and "c". */
START_TEST(two_merges_may_make_the_same_token)
{
    Tokenizer *t = loaded(with_bytes("gpt2:260", " 157,156 158,157 257,156 _ 158,256=258"));

    check_tokens(t, "abc bc", (const int[]){ 258, 223, 256, NONE });
    tokenizer_free(t);
}
END_TEST

START_TEST(the_longest_special_token_comes_before_all_pieces)
{
    Tokenizer *t = loaded(with_bytes("gpt2:262", " '3c733e '3c733e3c733e 158,157 _ _3c _6162"));

    check_tokens(t, "<s>", (const int[]){ 256, NONE });
    check_tokens(t, "<s><s><s>", (const int[]){ 257, 256, NONE });
    check_tokens(t, "a<s>b", (const int[]){ 158, 256, 157, NONE });
    check_tokens(t, "<s><s", (const int[]){ 256, 195, 140, NONE });
    check_tokens(t, "ab<sab", (const int[]){ 258, 195, 140, 258, NONE });
    ck_assert_uint_eq(tokenizer_token(t, 259).n, 0);
    ck_assert_uint_eq(tokenizer_token(t, 261).n, 2);
    tokenizer_free(t);
    t = loaded(with_bytes("gpt2:258", " '3c733e3c733e '3c733e")); /* the longer one first */
    check_tokens(t, "<s><s><s>", (const int[]){ 256, 257, NONE });
    tokenizer_free(t);
}
END_TEST

START_TEST(strings_that_are_not_gpt2_tokenizers_are_refused)
{
    static const char *const wrong[][2] = {
        { "gpt2:256", " 00" },
        { "gpt2:256", " _" },
        { "gpt2:257", "" },
        { "gpt2:257", " 00" },
        { "gpt2:257", " 158" },
        { "gpt2:257", " 158,257" },
        { "gpt2:257", " 256,157" },
        { "gpt2:257", " 158,157 " },
        { "gpt2:257", " 158,157=" },
        { "gpt2:257", " 158,157x" },
        { "gpt2:257", " x,157" },
        { "gpt2:256", " 158,157=0" },
        { "gpt2:257", " 158,157=9999999" },
        { "gpt2:258", " 158,157 158,157" },
        { "gpt2:258", " 158,157 158,157=256" },
        { "gpt2:257", " '" },
        { "gpt2:257", " '4" },
        { "gpt2:257", " '4g" },
        { "gpt2:257", " 'AB" },
        { "gpt2:257", " _4" },
        { "gpt2:257", "  _" },
        { "gpt2:260", " 157,156 158,157 257,156 158,256" },
        { "gpt3:257", " _" },
    };
    char half[40];

    for (int i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(!tokenizer_load(with_bytes(wrong[i][0], wrong[i][1])), "%s", wrong[i][1]);
    snprintf(half, sizeof half, "gpt2:256 00 01");
    ck_assert_ptr_null(tokenizer_load(half));
    char long_name[SAVED] = " _";
    for (int i = 0; i < 129; i++)
        strcat(long_name, "61");
    ck_assert_ptr_null(tokenizer_load(with_bytes("gpt2:257", long_name)));
    long_name[2 + 2 * 100] = 0;
    strcat(long_name, " 256,256"); /* 200 bytes */
    ck_assert_ptr_null(tokenizer_load(with_bytes("gpt2:258", long_name)));
    long_name[2 + 2 * 100] = 0;
    tokenizer_free(loaded(with_bytes("gpt2-digits:257", long_name)));
}
END_TEST

/* As many special tokens as that, each as long as its number in digits. */
static Tokenizer *with_specials(int n)
{
    char words[20], *saved = malloc(SAVED + (size_t)n * 12);

    snprintf(words, sizeof words, "gpt2:%d", 256 + n);
    char *to = saved + sprintf(saved, "%s", with_bytes(words, ""));
    for (int i = 0; i < n; i++)
        to += sprintf(to, " '%08x", (unsigned)i);
    Tokenizer *t = tokenizer_load(saved);
    free(saved);
    return t;
}

/* With that many empty tokens, each joined with each byte, which makes the byte. */
static Tokenizer *with_merges(int empty)
{
    enum { MERGE = sizeof " 256,000=000" };
    char words[20], *saved = malloc(SAVED + (size_t)empty * (256 * MERGE + 2));

    snprintf(words, sizeof words, "gpt2:%d", 256 + empty);
    char *to = saved + sprintf(saved, "%s", with_bytes(words, ""));
    for (int i = 0; i < empty; i++)
        to += sprintf(to, " _");
    for (int i = 0; i < empty; i++)
        for (int byte = 0; byte < 256; byte++)
            to += sprintf(to, " %d,%d=%d", 256 + i, byte, byte);
    Tokenizer *t = tokenizer_load(saved);
    free(saved);
    return t;
}

START_TEST(special_tokens_and_merges_have_a_most)
{
    Tokenizer *t = with_specials(1024);

    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(tokenizer_size(t), 1280);
    tokenizer_free(t);
    ck_assert_ptr_null(with_specials(1025));
    t = with_merges(256);
    ck_assert_ptr_nonnull(t);
    tokenizer_free(t);
    ck_assert_ptr_null(with_merges(257));
}
END_TEST

static void learn_it(const char *words)
{
    learn(words, sample_text);
}

START_TEST(a_gpt2_tokenizer_cannot_be_learned)
{
    check_dies(learn_it, "gpt2:300", EXIT_USAGE, "is not learned; bpe:300 is");
}
END_TEST

START_TEST(tokenizer_json_has_the_pattern_and_special_tokens)
{
    Tokenizer *t = loaded(with_bytes("gpt2-digits:258", " '3c733e _"));
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    tokenizer_json(t, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "{\"id\": 256, \"content\": \"<s>\""));
    ck_assert_ptr_nonnull(strstr(text, "\"<s>\": 256"));
    ck_assert_ptr_nonnull(strstr(text, "\"individual_digits\": true"));
    ck_assert_ptr_nonnull(strstr(text, "\"use_regex\": true"));
    ck_assert_ptr_null(strstr(text, ": 257"));
    free(text);
    tokenizer_free(t);
    t = loaded(with_bytes("gpt2:258", " '3c733e '3c653e"));
    out = open_memstream(&text, &bytes);
    tokenizer_json(t, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "\"special\": true},\n{\"id\": 257, \"content\": \"<e>\""));
    free(text);
    tokenizer_free(t);
}
END_TEST

Suite *suite_gpt2(void)
{
    Suite *s = suite_create("gpt2");
    TCase *t = group(s, "tokenizers of others");

    tcase_add_test(t, a_text_has_the_pieces_of_gpt2s_pattern);
    tcase_add_test(t, each_number_may_be_a_piece_and_the_end_of_a_text);
    tcase_add_test(t, characters_have_the_classes_of_unicode);
    tcase_add_test(t, merges_join_the_tokens_of_bytes);
    tcase_add_test(t, two_merges_may_make_the_same_token);
    tcase_add_test(t, the_longest_special_token_comes_before_all_pieces);
    tcase_add_test(t, strings_that_are_not_gpt2_tokenizers_are_refused);
    tcase_add_test(t, special_tokens_and_merges_have_a_most);
    tcase_add_test(t, a_gpt2_tokenizer_cannot_be_learned);
    tcase_add_test(t, tokenizer_json_has_the_pattern_and_special_tokens);
    return s;
}
