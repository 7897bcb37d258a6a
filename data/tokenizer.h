/*
 * How text becomes tokens, and tokens become text. Any bytes have tokens, and
 * these decode to the same bytes:
 *
 *     byte     a token for each byte; its number is the byte
 *     char     the same, and one for each Unicode character beyond ASCII that is
 *              frequent enough in the text; everything else is encoded byte by byte
 *     bpe:N    the same 256, and N - 256 pieces of words, learned by joining the
 *              most frequent pair again and again
 *
 *     gpt2:N, gpt2-digits:N
 *              those of imported models: GPT-2's pieces, any numbers of tokens, special
 *              tokens; they cannot be learned
 *
 * Tokens 0 to 255 are the bytes in the first three. To add one, see data/tokenizer_kind.h.
 */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include "data/token.h"
#include "ops/base/text.h"

typedef struct Tokenizer Tokenizer;

/* What is wrong with the words of --tokenizer, as the end of a sentence; empty: nothing is. */
Text tokenizer_wrong(const char *words);

/* The tokenizer of those words, which must be valid, learned from the text. */
Tokenizer *tokenizer_learn(const char *words, Bytes text);
void tokenizer_free(Tokenizer *t);

/* The tokenizer as a string of valid UTF-8 without zeros, for free(); and back. NULL if the string
 * is not valid. */
char *tokenizer_save(const Tokenizer *t);
Tokenizer *tokenizer_load(const char *saved);
bool tokenizer_same(const Tokenizer *a, const Tokenizer *b);

const char *tokenizer_words(const Tokenizer *t); /* "bpe:4096" */
int tokenizer_size(const Tokenizer *t);          /* of the vocabulary, at most TOKENS_MAX */
Bytes tokenizer_token(const Tokenizer *t, int token);

/* Encodes a text into `to`, which has room for one token a byte, and returns their number. */
size_t tokenizer_encode(const Tokenizer *t, Bytes text, Token *to);

/* The character that stands for a byte in a tokenizer.json. */
uint32_t tokenizer_letter(unsigned byte);

/* A tokenizer.json for Hugging Face's tokenizers, which gives valid UTF-8 the same tokens. */
void tokenizer_json(const Tokenizer *t, FILE *out);

#endif
