/* The pieces of a text for GPT-2's kind of byte pair encoding (data/gpt2.c). */
#ifndef DATA_GPT2_H
#define DATA_GPT2_H

#include "data/token.h"

/*
 * The length of the first piece of a text, which must not be empty: by GPT-2's pattern; and where
 * each \p{N} is cut out before that.
 */
size_t gpt2_piece(Bytes text);
size_t gpt2_digits_piece(Bytes text);

#define GPT2_PATTERN                                                                               \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

#endif
