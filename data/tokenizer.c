/*
 * A tokenizer as a string is the words that asked for it, and what each of its
 * tokens from 256 on is made of:
 *
 *     byte
 *     char e4 f6 4e00              code points, ascending
 *     bpe:4096 101,32 116,104 ...  two earlier tokens
 *
 * Whoever wrote the string is not trusted. The grammar has one way to write a
 * tokenizer, and each token goes through the function that learning calls, which
 * refuses what cannot be. So a string that is accepted is what tokenizer_save()
 * makes of it.
 */
#include "data/tokenizer_kind.h"

#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

static void learn_nothing(Tokenizer *t, Bytes text)
{
    (void)t, (void)text;
}

static size_t encode_bytes(const Tokenizer *t, Bytes text, Token *to)
{
    (void)t;
    for (size_t i = 0; i < text.n; i++)
        to[i] = text.at[i];
    return text.n;
}

const TokenizerKind tokenizer_bytes = {
    .name = "byte",
    .tokens = FIRST,
    .token_bytes = 1,
    .learn = learn_nothing,
    .encode = encode_bytes,
    .json = tokenizer_json_bytes,
};

static const TokenizerKind *const kinds[] = { &tokenizer_bytes, &tokenizer_characters,
                                              &tokenizer_bpe, NULL };

const char *tokenizer_number(const char *from, unsigned base, uint32_t *number)
{
    static const char digits[] = "0123456789abcdef";
    const char *s = from;

    *number = 0;
    for (const char *digit; s < from + 6 && *s && (digit = memchr(digits, *s, base)); s++)
        *number = *number * base + (uint32_t)(digit - digits);
    return s == from || (*from == '0' && s > from + 1) ? NULL : s;
}

/* The N of "bpe:N", or 0. */
static int bpe_size(const char *words)
{
    uint32_t n;

    if (strncmp(words, "bpe:", 4) != 0)
        return 0;
    const char *end = tokenizer_number(words + 4, 10, &n);
    return end && !*end && n > FIRST && n <= TOKENS_MAX ? (int)n : 0;
}

const char *tokenizer_wrong(const char *words)
{
    if (strcmp(words, "byte") == 0 || strcmp(words, "char") == 0 || bpe_size(words))
        return NULL;
    if (strncmp(words, "bpe", 3) == 0)
        return "names no size of a vocabulary: it is bpe:N, with N from 257 to 65536";
    return "is no tokenizer: there are byte, char and bpe:N";
}

static Tokenizer *tokenizer_new(const char *words)
{
    Tokenizer *t = xmalloc(sizeof *t);
    int k = 0;

    if (tokenizer_wrong(words))
        BUG("'%s' %s", words, tokenizer_wrong(words));
    while (strncmp(words, kinds[k]->name, strlen(kinds[k]->name)) != 0)
        k++;
    *t = (Tokenizer){ .kind = kinds[k], .size = FIRST, .most = kinds[k]->tokens };
    if (bpe_size(words))
        t->most = bpe_size(words);
    strcpy(t->words, words);
    t->text = xmalloc(FIRST + (size_t)(t->most - FIRST) * (size_t)t->kind->token_bytes);
    t->start = xmalloc((size_t)(t->most + 1) * sizeof *t->start);
    for (uint32_t i = 0; i < FIRST; i++) {
        t->text[i] = (unsigned char)i;
        t->start[i] = i;
    }
    t->start[FIRST] = FIRST;
    return t;
}

void tokenizer_append(Tokenizer *t, uint32_t parts, size_t n)
{
    if (t->size == t->most || key_number(&t->parts, parts) != (uint32_t)(t->size - FIRST))
        BUG("token %d of %d, made of %x", t->size, t->most, parts);
    t->start[t->size + 1] = t->start[t->size] + (uint32_t)n;
    t->size++;
}

Tokenizer *tokenizer_learn(const char *words, Bytes text)
{
    Tokenizer *t = tokenizer_new(words);

    t->kind->learn(t, text);
    return t;
}

void tokenizer_free(Tokenizer *t)
{
    if (!t)
        return;
    key_free(&t->parts);
    bytes_free(&t->spelt);
    free(t->text);
    free(t->start);
    free(t);
}

char *tokenizer_save(const Tokenizer *t)
{
    char *saved = xmalloc(sizeof t->words + (size_t)(t->size - FIRST) * (1 + PARTS_TEXT));
    char *to = strcpy(saved, t->words);

    for (uint32_t i = 0; i < t->parts.n; i++) {
        to += strlen(to);
        *to++ = ' ';
        t->kind->write(to, t->parts.key[i]);
    }
    return saved;
}

/* All tokens from 256 on, to the end of the string. */
static bool read_tokens(Tokenizer *t, const char *s)
{
    uint32_t parts;

    while (*s == ' ' && t->size < t->most) {
        s = t->kind->read(s + 1, &parts);
        if (!s || !t->kind->add(t, parts))
            return false;
    }
    return !*s;
}

Tokenizer *tokenizer_load(const char *saved)
{
    const size_t n = strcspn(saved, " ");
    char words[sizeof((Tokenizer *)0)->words] = "";

    if (n >= sizeof words || tokenizer_wrong(memcpy(words, saved, n)))
        return NULL;
    Tokenizer *t = tokenizer_new(words);
    if (read_tokens(t, saved + n))
        return t;
    tokenizer_free(t);
    return NULL;
}

const char *tokenizer_words(const Tokenizer *t)
{
    return t->words;
}

int tokenizer_size(const Tokenizer *t)
{
    return t->size;
}

Bytes tokenizer_token(const Tokenizer *t, int token)
{
    const uint32_t start = t->start[token];

    return (Bytes){ t->text + start, t->start[token + 1] - start };
}

size_t tokenizer_encode(const Tokenizer *t, Bytes text, Token *to)
{
    return t->kind->encode(t, text, to);
}

void tokenizer_json(const Tokenizer *t, FILE *out)
{
    t->kind->json(t, out);
}
