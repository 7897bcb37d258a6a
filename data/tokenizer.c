#include "data/tokenizer.h"

#include "ops/error.h"

#include <stdlib.h>
#include <string.h>

struct Tokenizer {
    unsigned char byte[256];
};

const char *tokenizer_wrong(const char *words)
{
    return strcmp(words, "byte") == 0 ? NULL : "is no tokenizer: it is byte";
}

Tokenizer *tokenizer_learn(const char *words, Bytes text)
{
    (void)text;
    return tokenizer_load(words);
}

Tokenizer *tokenizer_load(const char *saved)
{
    if (strcmp(saved, "byte") != 0)
        return NULL;
    Tokenizer *t = xmalloc(sizeof *t);

    for (int i = 0; i < 256; i++)
        t->byte[i] = (unsigned char)i;
    return t;
}

void tokenizer_free(Tokenizer *t)
{
    free(t);
}

char *tokenizer_save(const Tokenizer *t)
{
    (void)t;
    return strcpy(xmalloc(5), "byte");
}

const char *tokenizer_words(const Tokenizer *t)
{
    (void)t;
    return "byte";
}

int tokenizer_size(const Tokenizer *t)
{
    (void)t;
    return 256;
}

Bytes tokenizer_token(const Tokenizer *t, int token)
{
    return (Bytes){ &t->byte[token], 1 };
}

size_t tokenizer_encode(const Tokenizer *t, Bytes text, Token *to)
{
    (void)t;
    for (size_t i = 0; i < text.n; i++)
        to[i] = text.at[i];
    return text.n;
}
