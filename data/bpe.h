/* Byte pair encoding: what learning (bpe_learn.c) and encoding (bpe.c) share. */
#ifndef DATA_BPE_H
#define DATA_BPE_H

#include "data/tokenizer_kind.h"

/*
 * The most bytes of a token: each can be twice as long as earlier ones, and an
 * untrusted file must not make the table take more memory than this allows. And the
 * most bytes of a text to learn from, its first ones: a place among them is a 32-bit
 * number. A piece is no longer than that: its places are in memory while it is encoded. The tests
 * of the proof build cross all limits.
 */
#ifdef PROOF
enum { BPE_TOKEN_BYTES = 8, BPE_TEXT_MAX = 1 << 20 };
#else
enum { BPE_TOKEN_BYTES = 128, BPE_TEXT_MAX = 1 << 26 };
#endif

static inline uint32_t bpe_pair(Token left, Token right)
{
    return (uint32_t)left << 16 | right;
}

/* The length of the first piece, of a kind's own; dies if it is too long. */
size_t bpe_piece(const Tokenizer *t, Bytes text);

/* Encodes a text by the merges of `t`, in pieces of its kind. */
size_t bpe_encode(const Tokenizer *t, Bytes text, Token *to);

/* "left,right" as bpe_pair(): NULL, or what follows. */
const char *bpe_read_pair(const char *from, uint32_t *pair);

void bpe_learn(Tokenizer *t, Bytes text);

/* Makes that pair the next token. False, and nothing has changed, if one of the two is not a token
 * yet, if it is longer than BPE_TOKEN_BYTES, or if it has the same bytes as another token. */
bool bpe_add(Tokenizer *t, uint32_t pair);

#endif
