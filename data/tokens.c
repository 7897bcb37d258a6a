#include "data/tokens.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/random.h"

#include <stdlib.h>

Tokens tokens_of(const Tokenizer *t, Bytes text)
{
    Tokens tokens = { .at = xmalloc((text.n + 1) * sizeof(Token)),
                      .bytes = text.n,
                      .tokenizer = t };

    tokens.n = tokenizer_encode(t, text, tokens.at);
    tokens.at = xrealloc(tokens.at, (tokens.n + 1) * sizeof(Token));
    return tokens;
}

Tokens tokens_on_disk(const Tokenizer *t, const DiskText *disk, size_t first, size_t n)
{
    return (Tokens){ .n = n, .bytes = n, .tokenizer = t, .disk = disk, .first = first };
}

Tokens tokens_into_memory(Tokens from)
{
    const size_t room = file_text_room(), option = 1 << 30; /* the most that --max-tokens takes */

    if (from.n > room)
        die(EXIT_DATA,
            "%.1f GB of text are to be read, but there is room for %.1f GB: use fewer of its "
            "tokens (--max-tokens %zu)",
            (double)from.n / 1e9, (double)room / 1e9, room < option ? room : option);
    unsigned char *at = xmalloc(from.n + 1);
    disk_text_read(from.disk, from.first, from.n, at);
    Tokens tokens = tokens_of(from.tokenizer, (Bytes){ at, from.n });
    free(at);
    return tokens;
}

void tokens_free(Tokens *tokens)
{
    free(tokens->at);
    *tokens = (Tokens){ .at = NULL };
}

static void copy_tokens(const Token *from, Batch row)
{
    for (int t = 0; t < row.T; t++) {
        row.id[t] = from[t];
        row.target[t] = from[t + 1];
    }
}

static void read_tokens(const DiskText *disk, size_t from, Batch row)
{
    enum { PIECE = 4096 };
    unsigned char byte[PIECE + 1];

    for (int t0 = 0, n; t0 < row.T; t0 += n) {
        n = row.T - t0 < PIECE ? row.T - t0 : PIECE;
        disk_text_read(disk, from + (size_t)t0, (size_t)n + 1, byte);
        for (int t = 0; t < n; t++) {
            row.id[t0 + t] = byte[t];
            row.target[t0 + t] = byte[t + 1];
        }
    }
}

/* The T tokens from `start` on, and for each the next one. */
static void copy_window(Tokens from, size_t start, Batch row)
{
    if (from.disk)
        read_tokens(from.disk, from.first + start, row);
    else
        copy_tokens(from.at + start, row);
}

void tokens_batch(Tokens from, uint64_t seed, uint64_t number, Batch batch)
{
    Random r = random_stream(seed, RANDOM_BATCH, number);

    for (int b = 0; b < batch.B; b++) {
        size_t start = random_below(r, (uint64_t)b, from.n - (size_t)batch.T);

        copy_window(from, start, batch_row(batch, b));
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

        copy_window(from, first + place_of(order, row % n, n) * T, batch_row(batch, b));
    }
}

size_t tokens_windows(Tokens from, int T)
{
    return from.n > 0 ? (from.n - 1) / (size_t)T : 0;
}

void tokens_window(Tokens from, size_t k, Batch row)
{
    copy_window(from, k * (size_t)row.T, row);
}
