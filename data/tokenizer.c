/*
 * A tokenizer as a string is its words on the command line, and what each of its
 * tokens from 256 on is made of:
 *
 *     byte
 *     char e4 f6 4e00              code points, ascending
 *     bpe:4096 101,32 116,104 ...  two earlier tokens
 *     gpt2:50257 21 22 ...         all tokens, see data/gpt2.c
 *
 * The string is not trusted. There is one way to write a tokenizer, and each token
 * goes through the function that learning calls, which refuses invalid ones. So a
 * string that is accepted is exactly what tokenizer_save() would write.
 */
#include "data/tokenizer.h"

#include "data/tokenizer_kind.h"
#include "ops/base/error.h"

#include <stdlib.h>
#include <string.h>

#define TOKENIZER_ADDRESS(name) &tokenizer_##name,
static const TokenizerKind *const kinds[] = { TOKENIZERS(TOKENIZER_ADDRESS) NULL };

/* The kind of those words, and the most tokens that they allow; NULL, and `wrong` says why. */
static const TokenizerKind *find(const char *words, int *most, Text *wrong)
{
    for (int k = 0; kinds[k]; k++) {
        *most = kinds[k]->parse                       ? kinds[k]->parse(words, wrong)
                : strcmp(words, kinds[k]->words) == 0 ? kinds[k]->most
                                                      : 0;
        if (*most)
            return kinds[k];
        if (wrong->n)
            return NULL;
    }
    text_add(wrong, "is not a tokenizer: choose");
    for (int k = 0; kinds[k]; k++)
        if (!kinds[k]->load)
            text_add(wrong, "%s %s",
                     k == 0                                ? ""
                     : kinds[k + 1] && !kinds[k + 1]->load ? ","
                                                           : " or",
                     kinds[k]->words);
    return NULL;
}

Text tokenizer_wrong(const char *words)
{
    Text wrong = { 0 };
    int most;

    find(words, &most, &wrong);
    return wrong;
}

static Tokenizer *tokenizer_new(const char *words)
{
    Tokenizer *t = xmalloc(sizeof *t);
    Text wrong = { 0 };
    int most;
    const TokenizerKind *kind = find(words, &most, &wrong);

    if (!kind)
        BUG("'%s' %s", words, wrong.at);
    *t = (Tokenizer){ .kind = kind, .size = FIRST, .most = most };
    strcpy(t->words, words);
    t->text = xmalloc(FIRST + (size_t)t->most * (size_t)t->kind->token_bytes);
    t->start = xmalloc((size_t)(t->most + 1) * sizeof *t->start);
    for (uint32_t i = 0; i < FIRST; i++) {
        t->text[i] = (unsigned char)i;
        t->start[i] = i;
        t->byte[i] = (Token)i;
    }
    t->start[FIRST] = FIRST;
    return t;
}

Tokenizer *tokenizer_learn(const char *words, Bytes text)
{
    Tokenizer *t = tokenizer_new(words);

    if (t->kind->learn)
        t->kind->learn(t, text);
    return t;
}

void tokenizer_free(Tokenizer *t)
{
    if (!t)
        return;
    numbers_free(&t->parts);
    numbers_free(&t->spelt);
    free(t->text);
    free(t->start);
    free(t->made);
    free(t->special);
    free(t->saved);
    free(t);
}

char *tokenizer_save(const Tokenizer *t)
{
    if (t->saved)
        return strcpy(xmalloc(strlen(t->saved) + 1), t->saved);
    char *saved = xmalloc(sizeof t->words + (size_t)(t->size - FIRST) * (1 + PARTS_TEXT));
    char *to = strcpy(saved, t->words);

    for (uint32_t i = 0; i < t->parts.n; i++) {
        to += strlen(to);
        *to++ = ' ';
        t->kind->write(to, (uint32_t)t->parts.thing[i].n);
    }
    return saved;
}

/* All tokens from 256 on, to the end of the string. */
static bool read_tokens(Tokenizer *t, const char *s)
{
    uint32_t parts;

    if (t->kind->load)
        return t->kind->load(t, s);
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

    if (n >= sizeof words || tokenizer_wrong(memcpy(words, saved, n)).n)
        return NULL;
    Tokenizer *t = tokenizer_new(words);
    if (read_tokens(t, saved + n)) {
        if (t->kind->load)
            t->saved = strcpy(xmalloc(strlen(saved) + 1), saved);
        return t;
    }
    tokenizer_free(t);
    return NULL;
}

bool tokenizer_same(const Tokenizer *a, const Tokenizer *b)
{
    char *one = tokenizer_save(a), *other = tokenizer_save(b);
    const bool same = strcmp(one, other) == 0;

    free(one);
    free(other);
    return same;
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
