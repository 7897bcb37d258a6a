/* Bytes as tokens: the number of a token is the byte. */
#include "data/tokenizer_kind.h"

static size_t encode(const Tokenizer *t, Bytes text, Token *to)
{
    (void)t;
    for (size_t i = 0; i < text.n; i++)
        to[i] = text.at[i];
    return text.n;
}

const TokenizerKind tokenizer_bytes = {
    .words = "byte",
    .most = FIRST,
    .token_bytes = 1,
    .encode = encode,
    .json = tokenizer_json_bytes,
};
