#include "tests/texts.h"

#include "ops/base/error.h"
#include "ops/base/random.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

const char sample_text[] =
    "It's the \xe4\xb8\x80\xe4\xb8\x80 of the \xe4\xb8\x80, that's all: "
    "the the the, 12 12 12 \xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80.\n";

Bytes bytes_of(const char *s, size_t n)
{
    return (Bytes){ memcpy(xmalloc(n), s, n), n };
}

void let_go(Bytes b)
{
    free((void *)(uintptr_t)b.at);
}

LabelledTexts labelled_text(const char *name, const char *text)
{
    const size_t n = strlen(text);

    return labelled_parse(name, memcpy(xmalloc(n + 1), text, n + 1), n);
}

Bytes random_text(uint64_t seed, const char *alphabet, size_t n)
{
    const Random r = random_stream(seed, RANDOM_TEST, n);
    const size_t letters = alphabet ? strlen(alphabet) : 256;
    unsigned char *at = xmalloc(n);

    for (size_t i = 0; i < n; i++) {
        const size_t k = random_below(r, i, letters);

        at[i] = (unsigned char)(alphabet ? (size_t)alphabet[k] : k);
    }
    return (Bytes){ at, n };
}

const char *const alphabets[ALPHABETS] = { "a",        "ab",   "ab ",        "aab's \n",
                                           "abcdefgh", "a1 !", "st'dmlvre ", "\xe4\xb8\x80\xff",
                                           "  \n\ta",  NULL };

Tokenizer *learn(const char *words, const char *text)
{
    return tokenizer_learn(words, (Bytes){ (const unsigned char *)text, strlen(text) });
}

Token *checked_tokens(const Tokenizer *t, Bytes text, size_t *n)
{
    Token *to = xmalloc(text.n * sizeof *to);
    size_t at = 0;

    *n = tokenizer_encode(t, text, to);
    ck_assert_uint_le(*n, text.n);
    for (size_t i = 0; i < *n; i++) { /* an assertion for each of a million would take seconds */
        const bool known = to[i] < tokenizer_size(t);
        const Bytes token = tokenizer_token(t, known ? to[i] : 0);

        if (!known || token.n > text.n - at || memcmp(token.at, text.at + at, token.n) != 0)
            ck_abort_msg("token %zu, %d, is not what byte %zu begins", i, to[i], at);
        at += token.n;
    }
    ck_assert_uint_eq(at, text.n);
    return to;
}

void check_there_and_back(const Tokenizer *t, Bytes text)
{
    size_t n;

    free(checked_tokens(t, text, &n));
}

void check_tokens(const Tokenizer *t, const char *text, const int *want)
{
    const Bytes b = bytes_of(text, strlen(text));
    size_t n, wanted = 0;
    Token *got = checked_tokens(t, b, &n);

    for (; want[wanted] >= 0; wanted++)
        ck_assert_msg(wanted < n && got[wanted] == want[wanted], "%s: token %zu", text, wanted);
    ck_assert_uint_eq(n, wanted);
    free(got);
    let_go(b);
}

const char *with_bytes(const char *words, const char *rest)
{
    static char saved[SAVED];
    size_t at = (size_t)snprintf(saved, SAVED, "%s", words);

    for (int byte = 255; byte >= 0; byte--)
        at += (size_t)snprintf(saved + at, SAVED - at, " %02x", (unsigned)byte);
    snprintf(saved + at, SAVED - at, "%s", rest);
    return saved;
}
