/* Byte pair encoding: what learning (bpe_learn.c) and encoding (bpe.c) share. */
#ifndef DATA_BPE_H
#define DATA_BPE_H

#include "data/tokenizer_kind.h"

/*
 * The bytes of a token, at most: each can be twice as long as those before it,
 * and the table of a file must not take more memory than this allows. And the
 * bytes that are learnt from, the text's first: a place among them is a number
 * of 32 bits. The proof build crosses both edges.
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

void bpe_learn(Tokenizer *t, Bytes text);

/* Makes that pair the next token. False, and nothing has changed, if it joins what is no token
 * yet, is longer than BPE_TOKEN_BYTES, or reads as another token does. */
bool bpe_add(Tokenizer *t, uint32_t pair);

#endif
