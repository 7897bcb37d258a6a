/* A text as tokens, and the windows of it that a model sees. */
#ifndef DATA_TOKENS_H
#define DATA_TOKENS_H

#include "data/disk_text.h"
#include "data/tokenizer.h"
#include "ops/base/batch.h"

typedef struct {
    Token *at;       /* for free(); NULL: they are on disk */
    size_t n, bytes; /* the numbers of tokens, and of bytes of text */
    const Tokenizer *tokenizer;
    const DiskText *disk; /* tokens are its bytes from `first` on */
    size_t first;
} Tokens;

Tokens tokens_of(const Tokenizer *t, Bytes text);
Tokens tokens_on_disk(const Tokenizer *t, const DiskText *disk, size_t first, size_t n);
void tokens_free(Tokens *tokens);

/* Reads tokens that are on disk. EXIT_DATA if they do not fit into the memory either. */
Tokens tokens_into_memory(Tokens on_disk);

/*
 * Fills a batch with windows of the text, which has more than T tokens: its tokens, and for each
 * the next one. A batch depends only on the seed and its number.
 */
void tokens_batch(Tokens from, uint64_t seed, uint64_t number, Batch batch);

/*
 * The same without replacement: windows side by side, in a new order in every epoch, and cut at
 * other places. All batches of a run have rows of the same number and length.
 */
void tokens_shuffled(Tokens from, uint64_t seed, uint64_t number, Batch batch);

/* Fills one row with window k of those side by side; and the number of windows of T tokens. */
void tokens_window(Tokens from, size_t k, Batch row);
size_t tokens_windows(Tokens from, int T);

#endif
