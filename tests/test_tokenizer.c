/* Every tokenizer, as it is learned, saved, read and used. */
#include "data/bpe.h"
#include "ops/base/error.h"
#include "ops/base/random.h"
#include "ops/base/text.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "tests/texts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "byte", "char", "bpe:257", "bpe:265" };

START_TEST(tokenizer_names_are_checked)
{
    static const char *const right[] = { "byte",      "char",     "bpe:257",          "bpe:4096",
                                         "bpe:65536", "gpt2:256", "gpt2-digits:50257" };
    static const char *const wrong[] = { "",
                                         "Byte",
                                         "byte ",
                                         "bytes",
                                         "characters",
                                         "bpe",
                                         "bpe:",
                                         "bpe:0",
                                         "bpe:256",
                                         "bpe:65537",
                                         "bpe:0257",
                                         "bpe:+300",
                                         "bpe:-300",
                                         "bpe: 300",
                                         "bpe:300 ",
                                         "bpe:1e3",
                                         "bpe:300x",
                                         "bpe:4294967596",
                                         "bpe:65536000000000000000000",
                                         "BPE:300",
                                         "bpe300",
                                         "gpt2:255",
                                         "gpt2",
                                         "gpt2-digits",
                                         "gpt2-:256",
                                         "gpt2-digits:65537",
                                         "gpt3:300" };

    for (int i = 0; i < COUNT(right); i++)
        ck_assert_msg(tokenizer_wrong(right[i]).n == 0, "%s", right[i]);
    for (int i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(tokenizer_wrong(wrong[i]).n > 0, "%s", wrong[i]);
    ck_assert_ptr_nonnull(strstr(tokenizer_wrong("bpe:256").at, "257 to 65536"));
    ck_assert_ptr_nonnull(
        strstr(tokenizer_wrong("word").at, "is not a tokenizer: choose byte, char or bpe:N"));
}
END_TEST

static void learn_of_wrong_words(const char *words)
{
    learn(words, sample_text);
}

START_TEST(learning_an_unknown_tokenizer_is_a_bug)
{
    ck_assert_int_eq(exit_code_of(learn_of_wrong_words, "bpe:9"), -6);
    ck_assert_ptr_nonnull(strstr(said, "BUG"));
}
END_TEST

START_TEST(a_tokenizer_remembers_its_name)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = learn(kinds[k], sample_text);

        ck_assert_str_eq(tokenizer_words(t), kinds[k]);
        tokenizer_free(t);
    }
    tokenizer_free(NULL);
}
END_TEST

START_TEST(tokens_below_256_are_the_bytes)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = learn(kinds[k], sample_text);

        for (int i = 0; i < 256; i++) {
            const Bytes token = tokenizer_token(t, i);

            ck_assert_uint_eq(token.n, 1);
            ck_assert_uint_eq(token.at[0], i);
        }
        tokenizer_free(t);
    }
}
END_TEST

static void check_many_texts(const Tokenizer *t)
{
    static const char *const broken[] = { "\xc0\x80",
                                          "\xc1\xbf",
                                          "\xe0\x80\x80",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xff\xfe",
                                          "\xe4\xb8",
                                          "\xe4",
                                          "\xb8\x80",
                                          "\xe4\xe4\xb8\x80",
                                          "\xf0\x9f\x98",
                                          "",
                                          "\xe4\xb8\x80\xb8\x80",
                                          "a\xf0\x9f\x98\x80\x98z",
                                          "'",
                                          " ",
                                          "  ",
                                          " '",
                                          "'l",
                                          "\n ",
                                          " \xff " };
    unsigned char all[256];

    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    check_there_and_back(t, (Bytes){ all, 256 });
    for (int i = 0; i < COUNT(broken); i++) {
        const Bytes text = bytes_of(broken[i], strlen(broken[i]));

        check_there_and_back(t, text);
        let_go(text);
    }
    for (uint64_t seed = 0; seed < 20; seed++) {
        const Bytes text = random_text(seed, alphabets[seed % ALPHABETS], 10 * seed * seed);

        check_there_and_back(t, text);
        let_go(text);
    }
}

START_TEST(any_bytes_are_restored_by_decoding)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        const Bytes noise = random_text(5, NULL, 20000);
        Tokenizer *t = learn(kinds[k], sample_text), *of_noise = tokenizer_learn(kinds[k], noise);

        check_many_texts(t);
        check_many_texts(of_noise);
        tokenizer_free(t), tokenizer_free(of_noise);
        let_go(noise);
    }
}
END_TEST

START_TEST(an_empty_text_has_no_tokens)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = learn(kinds[k], sample_text);

        ck_assert_uint_eq(tokenizer_encode(t, (Bytes){ NULL, 0 }, NULL), 0);
        tokenizer_free(t);
    }
}
END_TEST

START_TEST(the_same_text_gives_the_same_tokenizer)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        const Bytes text = random_text(9, "abc \xe4\xb8\x80", 3000),
                    copy = bytes_of((const char *)text.at, text.n);
        Tokenizer *t = tokenizer_learn(kinds[k], text), *u = tokenizer_learn(kinds[k], copy);
        char *a = tokenizer_save(t), *b = tokenizer_save(u);

        ck_assert_str_eq(a, b);
        free(a), free(b);
        tokenizer_free(t), tokenizer_free(u);
        let_go(text), let_go(copy);
    }
}
END_TEST

START_TEST(frequent_characters_are_tokens_ordered_by_code)
{
    Tokenizer *t =
        learn("char", "\xf0\x9f\x98\x80\xc3\xa4\xf0\x9f\x98\x80"
                      "aaa\xe4\xb8\x80\xe4\xb8\x80\xc3\xa4\xf0\x9f\x98\x80\xc3\xa4\xc3\xa4");

    ck_assert_int_eq(tokenizer_size(t), 258);
    check_tokens(t,
                 "\xc3\xa4\xf0\x9f\x98\x80"
                 "a\xe4\xb8\x80\xc3\xa4",
                 (const int[]){ 256, 257, 'a', 0xe4, 0xb8, 0x80, 256, -1 });
    check_tokens(t, "\xf0\x9f\x98\xc3\xa4\xc3\xc3\xa4\xa4",
                 (const int[]){ 0xf0, 0x9f, 0x98, 256, 0xc3, 256, 0xa4, -1 });
    tokenizer_free(t);
}
END_TEST

/* `times` of each character from `first` to `last`. */
static unsigned char *put_characters(unsigned char *to, uint32_t first, uint32_t last, int times)
{
    for (uint32_t code = first; code <= last; code++)
        for (int i = 0; i < times; i++)
            to += utf8_encode(to, code);
    return to;
}

START_TEST(only_the_most_frequent_characters_get_tokens)
{
    enum { FROM = 0x10000, LAST = FROM + TOKENS_MAX - 256 + 1 }; /* two too many */
    unsigned char *at = xmalloc((LAST - FROM + 1) * 4 * 5), *end = at;

    end = put_characters(end, FROM, FROM + 4, 3);
    end = put_characters(end, FROM + 5, LAST - 3, 5);
    end = put_characters(end, LAST - 2, LAST, 4);
    Tokenizer *t = tokenizer_learn("char", (Bytes){ at, (size_t)(end - at) });
    ck_assert_int_eq(tokenizer_size(t), TOKENS_MAX);
    check_tokens(t, "\xf0\x90\x80\x80", (const int[]){ 256, -1 });
    check_tokens(t, "\xf0\x90\x80\x82", (const int[]){ 258, -1 });
    check_tokens(t, "\xf0\x90\x80\x83", (const int[]){ 0xf0, 0x90, 0x80, 0x83, -1 });
    check_tokens(t, "\xf0\x90\x80\x84", (const int[]){ 0xf0, 0x90, 0x80, 0x84, -1 });
    check_tokens(t, "\xf0\x90\x80\x85", (const int[]){ 259, -1 });
    check_there_and_back(t, (Bytes){ at, (size_t)(end - at) });
    tokenizer_free(t);
    free(at);
}
END_TEST

static void learn_characters(const char *text)
{
    tokenizer_free(learn("char", text));
}

START_TEST(bytes_of_no_character_are_counted_once_for_all)
{
    ck_assert_int_eq(exit_code_of(learn_characters, "a\xff\xe4\xb8\x80\xed\xa0\x80\xc3"), 0);
    ck_assert_ptr_nonnull(strstr(said, "warning: 5 of the text's 9 bytes are not valid UTF-8"));
    ck_assert_ptr_eq(strchr(said, '\n'), strrchr(said, '\n'));
    ck_assert_int_eq(exit_code_of(learn_characters, sample_text), 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(exit_code_of(learn_characters, "abc abc"), 0);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(a_tokenizer_is_read_back_unchanged)
{
    const Bytes text = random_text(3, "abcd \xe4\xb8\x80", 5000);

    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = tokenizer_learn(kinds[k], text);
        char *saved = tokenizer_save(t);
        Tokenizer *again = tokenizer_load(saved);
        size_t n, m;

        ck_assert_ptr_nonnull(again);
        ck_assert_str_eq(tokenizer_words(again), kinds[k]);
        ck_assert_int_eq(tokenizer_size(again), tokenizer_size(t));
        Token *a = checked_tokens(t, text, &n), *b = checked_tokens(again, text, &m);
        ck_assert_uint_eq(n, m);
        ck_assert_mem_eq(a, b, n * sizeof *a);
        free(a), free(b), free(saved);
        tokenizer_free(t), tokenizer_free(again);
    }
    let_go(text);
}
END_TEST

/* A string that is accepted is a tokenizer, and the only way to write it. */
static bool accepts(const char *saved)
{
    Tokenizer *t = tokenizer_load(saved);

    if (!t)
        return false;
    char *again = tokenizer_save(t);
    ck_assert_str_eq(again, saved);
    free(again);
    check_there_and_back(t, (Bytes){ (const unsigned char *)sample_text, strlen(sample_text) + 1 });
    for (int i = 256; i < tokenizer_size(t); i++)
        ck_assert_uint_le(tokenizer_token(t, i).n, BPE_TOKEN_BYTES);
    tokenizer_free(t);
    return true;
}

static const char *const right_words[] = { "byte",
                                           "char",
                                           "char 80",
                                           "char e4 f6 4e00 10ffff",
                                           "bpe:300",
                                           "bpe:257 0,0",
                                           "bpe:300 97,98 256,99 99,257",
                                           "bpe:65536 255,255" };
static const char *const wrong_words[] = { "",
                                           "a name that no tokenizer has",
                                           "charcharcharcharcharcharchar 80",
                                           " ",
                                           "byte ",
                                           "byte 1",
                                           "bytes",
                                           "char ",
                                           "char  e4",
                                           " char e4",
                                           "char e4 ",
                                           "char e4,f6",
                                           "char f6 e4",
                                           "char e4 e4",
                                           "char 7f",
                                           "char 0",
                                           "char 0e4",
                                           "char E4",
                                           "char 0xe4",
                                           "char -e4",
                                           "char d800",
                                           "char dfff",
                                           "char 110000",
                                           "char 10ffff0",
                                           "char 10000e4",
                                           "char g",
                                           "char e4\n",
                                           "char e4 d7fg",
                                           "bpe:257 ",
                                           "bpe:257 97",
                                           "bpe:257 97,",
                                           "bpe:257 ,97",
                                           "bpe:257 97,98,99",
                                           "bpe:257 97;98",
                                           "bpe:257 97, 98",
                                           "bpe:257 97,098",
                                           "bpe:257 97,+98",
                                           "bpe:257 97,256",
                                           "bpe:257 256,97",
                                           "bpe:257 97,98 97,99",
                                           "bpe:300 97,98 97,98",
                                           "bpe:300 97,98 257,97",
                                           "bpe:300 97,98 98,257",
                                           "bpe:300 97,65633",
                                           "bpe:300 65633,97",
                                           "bpe:300 97,4294967394",
                                           "bpe:300 97,98 ",
                                           "bpe:256",
                                           "bpe:65537 97,98",
                                           "bpe:1234567890123456",
                                           "bpe:65536000",
                                           "bpe 97,98" };

START_TEST(strings_that_are_not_tokenizers_are_refused)
{
    for (int i = 0; i < COUNT(right_words); i++)
        ck_assert_msg(accepts(right_words[i]), "'%s'", right_words[i]);
    for (int i = 0; i < COUNT(wrong_words); i++)
        ck_assert_msg(!accepts(wrong_words[i]), "'%s'", wrong_words[i]);
}
END_TEST

START_TEST(doubling_tokens_stop_at_the_limit)
{
    Text text = { 0 };
    int token = 256;

    text_add(&text, "bpe:65536 97,97");
    for (int length = 2; 2 * length <= BPE_TOKEN_BYTES; length *= 2, token++)
        text_add(&text, " %d,%d", token, token);
    ck_assert(accepts(text.at));
    text_add(&text, " %d,97", token);
    ck_assert(!accepts(text.at));
}
END_TEST

/* Changes one byte, takes one away, puts one in, or cuts the end off. */
static void mutate(char *s, size_t n, Random r)
{
    static const char letters[] = "0123456789abcdef ,:xbpechart\xff";
    const size_t at = random_below(r, 0, n);
    const char letter = letters[random_below(r, 1, sizeof letters - 1)];

    switch (random_below(r, 2, 4)) {
    case 0:
        s[at] = letter;
        break;
    case 1:
        memmove(s + at, s + at + 1, n - at);
        break;
    case 2:
        memmove(s + at + 1, s + at, n - at + 1);
        s[at] = letter;
        break;
    default:
        s[at] = 0;
    }
}

START_TEST(damaged_tokenizers_are_refused_or_valid)
{
    int accepted = 0, refused = 0;

    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = learn(kinds[k], sample_text);
        char *saved = tokenizer_save(t);

        for (uint64_t seed = 0; seed < 3000; seed++) {
            const size_t n = strlen(saved), changes = 1 + seed % 3;
            char *s = strcpy(xmalloc(n + 1 + changes), saved);

            for (uint64_t i = 0; i < changes && *s; i++)
                mutate(s, strlen(s), random_stream(seed, RANDOM_TEST, i));
            *(accepts(s) ? &accepted : &refused) += 1;
            free(s);
        }
        free(saved);
        tokenizer_free(t);
    }
    ck_assert_int_gt(accepted, 500);
    ck_assert_int_gt(refused, 5000);
}
END_TEST

static char *json_of(const Tokenizer *t)
{
    char *at;
    size_t bytes;
    FILE *out = open_memstream(&at, &bytes);

    tokenizer_json(t, out);
    fclose(out);
    return at;
}

static const char *skip_space(const char *s)
{
    return s + strspn(s, " \n");
}

static const char *json_string(const char *s)
{
    if (*s++ != '"')
        return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20 || (*s == '\\' && !strchr("\"\\u", *++s)))
            return NULL;
        if (s[-1] == '\\' && *s == 'u' && strspn(s + 1, "0123456789abcdef") < 4)
            return NULL;
    }
    return s + 1;
}

/* What follows the value at s; NULL if there is none. Objects and lists differ by their brackets.
 */
static const char *json_value(const char *s)
{
    static const char *const words[] = { "null", "true", "false" };
    const bool object = *s == '{';

    for (int i = 0; i < COUNT(words); i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    if (isdigit(*s))
        return s + strspn(s, "0123456789");
    if (!object && *s != '[')
        return json_string(s);
    s = skip_space(s + 1);
    for (bool first = true; *s != (object ? '}' : ']'); first = false, s = skip_space(s)) {
        if (!first && *s++ != ',')
            return NULL;
        if (object && (!(s = json_string(skip_space(s))) || *s++ != ':'))
            return NULL;
        if (!(s = json_value(skip_space(s))))
            return NULL;
    }
    return s + 1;
}

START_TEST(tokenizer_json_is_json_and_numbers_every_token)
{
    for (int k = 0; k < COUNT(kinds); k++) {
        Tokenizer *t = learn(kinds[k], sample_text);
        char *json = json_of(t), *vocab = strstr(json, "\"vocab\": {"),
             *end = json_value(json) ? vocab : NULL;

        ck_assert_ptr_nonnull(end);
        ck_assert_str_eq(json_value(json), "\n");
        for (int i = 0; i < tokenizer_size(t); i++) {
            Text line = { 0 };

            text_add(&line, ": %d%s", i, i + 1 < tokenizer_size(t) ? ",\n" : "}");
            end = strstr(end, line.at);
            ck_assert_msg(end != NULL, "%s has no %s", kinds[k], line.at);
        }
        free(json);
        tokenizer_free(t);
    }
}
END_TEST

static void check_has(const char *json, const char *words)
{
    ck_assert_msg(strstr(json, words) != NULL, "no %s", words);
}

START_TEST(tokenizer_json_names_bytes_as_its_kind_does)
{
    Tokenizer *bpe = learn("bpe:257", " a a a a"), *characters = learn("char", sample_text);
    char *json = json_of(bpe), *other = json_of(characters);

    check_has(json, "\n\"\xc4\x80\": 0,\n");
    check_has(json, "\n\"\xc4\xa0\": 32,\n\"!\": 33,\n\"\\\"\": 34,\n");
    check_has(json, "\n\"~\": 126,\n\"\xc4\xa1\": 127,\n\"\xc4\xa2\": 128,\n");
    check_has(json, "\n\"\xc5\x82\": 160,\n\"\xc2\xa1\": 161,\n");
    check_has(json, "\n\"\xc2\xac\": 172,\n\"\xc5\x83\": 173,\n\"\xc2\xae\": 174,\n");
    check_has(json, "\n\"\xc4\xa0"
                    "a\": 256");
    check_has(json, "\"merges\": [\n\"\xc4\xa0 a\"");
    check_has(other, "\n\"\\u0000\": 0,\n\"\\u0001\": 1,\n");
    check_has(other, "\n\"\\u007f\": 127,\n\"<0x80>\": 128,\n");
    check_has(other, "\n\"<0xFF>\": 255,\n\"\xe4\xb8\x80\": 256,\n");
    check_has(other, "\"byte_fallback\": true,");
    free(json), free(other);
    tokenizer_free(bpe), tokenizer_free(characters);
}
END_TEST

Suite *suite_tokenizer(void)
{
    Suite *s = suite_create("tokenizer");
    TCase *t = group(s, "every tokenizer");

    tcase_add_test(t, tokenizer_names_are_checked);
    tcase_add_test(t, learning_an_unknown_tokenizer_is_a_bug);
    tcase_add_test(t, a_tokenizer_remembers_its_name);
    tcase_add_test(t, tokens_below_256_are_the_bytes);
    tcase_add_test(t, any_bytes_are_restored_by_decoding);
    tcase_add_test(t, an_empty_text_has_no_tokens);
    tcase_add_test(t, the_same_text_gives_the_same_tokenizer);
    t = group(s, "characters");
    tcase_add_test(t, frequent_characters_are_tokens_ordered_by_code);
    tcase_add_test(t, only_the_most_frequent_characters_get_tokens);
    tcase_add_test(t, bytes_of_no_character_are_counted_once_for_all);
    t = group(s, "strings");
    tcase_add_test(t, a_tokenizer_is_read_back_unchanged);
    tcase_add_test(t, strings_that_are_not_tokenizers_are_refused);
    tcase_add_test(t, doubling_tokens_stop_at_the_limit);
    tcase_add_test(t, damaged_tokenizers_are_refused_or_valid);
    tcase_add_test(t, tokenizer_json_is_json_and_numbers_every_token);
    tcase_add_test(t, tokenizer_json_names_bytes_as_its_kind_does);
    return s;
}
