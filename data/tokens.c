#include "data/tokens.h"

#include "ops/base/error.h"
#include "ops/base/random.h"

#include <stdlib.h>

Tokens tokens_of(const Tokenizer *t, Bytes text)
{
    Tokens tokens = { xmalloc((text.n + 1) * sizeof(Token)), 0, text.n, t };

    tokens.n = tokenizer_encode(t, text, tokens.at);
    tokens.at = xrealloc(tokens.at, (tokens.n + 1) * sizeof(Token));
    return tokens;
}

void tokens_free(Tokens *tokens)
{
    free(tokens->at);
    *tokens = (Tokens){ .at = NULL };
}

static void copy_window(const Token *from, Batch row)
{
    for (int t = 0; t < row.T; t++) {
        row.id[t] = from[t];
        row.target[t] = from[t + 1];
    }
}

void tokens_batch(Tokens from, uint64_t seed, uint64_t number, Batch batch)
{
    Random r = random_stream(seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++) {
        size_t start = random_below(r, (uint64_t)b, from.n - (size_t)batch.T);

        copy_window(from.at + start, batch_row(batch, b));
    }
}

size_t tokens_windows(Tokens from, int T)
{
    return from.n > 0 ? (from.n - 1) / (size_t)T : 0;
}

void tokens_window(Tokens from, size_t k, Batch row)
{
    copy_window(from.at + k * (size_t)row.T, row);
}
