/*
 * Characters as tokens: of those beyond ASCII the ones that the text has at
 * least OFTEN times, in order of their code points. A character that has no
 * token is encoded byte by byte, as is invalid UTF-8; the bytes of a character
 * after its first start no other, so they meet no token of a character.
 */
#include "data/tokenizer_kind.h"

#include "ops/base/error.h"
#include "ops/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { OFTEN = 3, CODES = 0x110000 };

typedef struct {
    uint32_t code;
    size_t count;
} Character;

static int by_code(const void *left, const void *right)
{
    const Character *a = left, *b = right;

    return (a->code > b->code) - (a->code < b->code);
}

static int by_count(const void *left, const void *right)
{
    const Character *a = left, *b = right;

    return a->count == b->count ? by_code(a, b) : a->count < b->count ? 1 : -1;
}

/* Counts characters beyond ASCII, and returns the number of bytes of invalid UTF-8. */
static size_t count_characters(Bytes text, size_t *count)
{
    size_t invalid = 0;
    uint32_t code;
    int n;

    for (size_t i = 0; i < text.n; i += n ? (size_t)n : 1) {
        n = utf8_decode(text.at + i, text.n - i, &code);
        if (n > 1)
            count[code]++;
        invalid += n == 0;
    }
    return invalid;
}

static bool add(Tokenizer *t, uint32_t code)
{
    unsigned char *to = t->text + t->start[t->size];
    uint32_t again;

    if (code < 0x80 || code >= CODES || (t->parts.n && code <= t->parts.thing[t->parts.n - 1].n))
        return false;
    const int n = utf8_encode(to, code);
    if (utf8_decode(to, (size_t)n, &again) != n) /* a surrogate */
        return false;
    tokenizer_append(t, code, (size_t)n);
    return true;
}

static void learn(Tokenizer *t, Bytes text)
{
    size_t *count = xmalloc(CODES * sizeof *count), n = 0;

    memset(count, 0, CODES * sizeof *count);
    const size_t invalid = count_characters(text, count);
    Character *often = xmalloc(CODES * sizeof *often);
    for (uint32_t code = 0; code < CODES; code++)
        if (count[code] >= OFTEN)
            often[n++] = (Character){ code, count[code] };
    qsort(often, n, sizeof *often, by_count);
    if (n > TOKENS_MAX - FIRST)
        n = TOKENS_MAX - FIRST;
    qsort(often, n, sizeof *often, by_code);
    for (size_t i = 0; i < n; i++)
        add(t, often[i].code);
    free(often);
    free(count);
    if (invalid)
        warn("%zu of the text's %zu bytes are not valid UTF-8; they are kept as bytes", invalid,
             text.n);
}

static size_t encode(const Tokenizer *t, Bytes text, Token *to)
{
    size_t tokens = 0;
    uint32_t code;

    for (size_t i = 0; i < text.n;) {
        const int n = utf8_decode(text.at + i, text.n - i, &code);
        const uint32_t number = n > 1 ? numbers_find(&t->parts, key_of(code)) : UNNUMBERED;
        const bool whole = number != UNNUMBERED;

        to[tokens++] = whole ? (Token)(FIRST + number) : text.at[i];
        i += whole ? (size_t)n : 1;
    }
    return tokens;
}

static void write_code(char *to, uint32_t code)
{
    snprintf(to, PARTS_TEXT, "%x", code);
}

static const char *read_code(const char *from, uint32_t *code)
{
    return tokenizer_number(from, 16, code);
}

const TokenizerKind tokenizer_characters = {
    .words = "char",
    .most = TOKENS_MAX,
    .token_bytes = 4,
    .learn = learn,
    .encode = encode,
    .json = tokenizer_json_characters,
    .add = add,
    .write = write_code,
    .read = read_code,
};
