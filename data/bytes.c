/* Bytes as tokens: the number of a token is the byte. */
#include "data/tokenizer_kind.h"

#include <string.h>

static int parse(const char *words, Text *wrong)
{
    (void)wrong;
    return strcmp(words, "byte") == 0 ? FIRST : 0;
}

static size_t encode(const Tokenizer *t, Bytes text, Token *to)
{
    (void)t;
    for (size_t i = 0; i < text.n; i++)
        to[i] = text.at[i];
    return text.n;
}

const TokenizerKind tokenizer_bytes = {
    .words = "byte",
    .parse = parse,
    .token_bytes = 1,
    .encode = encode,
    .json = tokenizer_json_bytes,
};
