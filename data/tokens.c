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

/*
 * Where i goes in an order of 0 .. n-1, which need not be stored: four rounds of a Feistel cipher
 * permute the numbers of 2h bits, a power of 4 that is at least n; a result that is too large is
 * permuted again, until it is not.
 */
static uint64_t place_of(Random order, uint64_t i, uint64_t n)
{
    int h = 1;

    while (n > (uint64_t)1 << 2 * h)
        h++;
    const uint64_t mask = ((uint64_t)1 << h) - 1;
    do {
        uint64_t left = i >> h, right = i & mask;

        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (random_bits(order, round << h | right) & mask);

            left = right, right = next;
        }
        i = left << h | right;
    } while (i >= n);
    return i;
}

/* One window less than there is room for, so that each epoch can begin at any of T places. */
void tokens_shuffled(Tokens from, uint64_t seed, uint64_t number, Batch batch)
{
    const size_t T = (size_t)batch.T, room = (from.n - 1) / T, n = room > 1 ? room - 1 : 1;

    for (int b = 0; b < batch.B; b++) {
        const uint64_t row = number * (uint64_t)batch.B + (uint64_t)b;
        const Random order = random_stream(seed, RANDOM_EPOCH, row / n);
        const size_t first = random_below(order, UINT64_MAX / 2, from.n - n * T);

        copy_window(from.at + first + place_of(order, row % n, n) * T, batch_row(batch, b));
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
