/*
 * How text becomes tokens, and tokens become text. Any bytes have tokens, and
 * these lead back to the same bytes:
 *
 *     byte     a token for each byte; its number is the byte
 *     char     the same, and one for each character of Unicode beyond ASCII that
 *              the text has often enough; what else there is goes byte by byte
 *     bpe:N    the same 256, and N - 256 pieces of words, learnt by joining the
 *              pair that is the most frequent again and again
 *
 * Tokens 0 to 255 are the bytes in all of them.
 */
#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    const unsigned char *at;
    size_t n;
} Bytes;

typedef uint16_t Token;
enum { TOKENS_MAX = 1 << 16 };

typedef struct Tokenizer Tokenizer;

/* What is wrong with the words of --tokenizer, as the end of a sentence; NULL: nothing is. */
const char *tokenizer_wrong(const char *words);

/* The tokenizer of those words, which must not be wrong, learnt from the text. */
Tokenizer *tokenizer_learn(const char *words, Bytes text);
void tokenizer_free(Tokenizer *t);

/* The tokenizer as a string of valid UTF-8 without zeros, for free(); and back. NULL if the string
 * is no such thing. */
char *tokenizer_save(const Tokenizer *t);
Tokenizer *tokenizer_load(const char *saved);

const char *tokenizer_words(const Tokenizer *t); /* "bpe:4096" */
int tokenizer_size(const Tokenizer *t);          /* of the vocabulary, at most TOKENS_MAX */
Bytes tokenizer_token(const Tokenizer *t, int token);

/* The tokens of a text into `to`, which has room for as many as the text has bytes; how many. */
size_t tokenizer_encode(const Tokenizer *t, Bytes text, Token *to);

/* A tokenizer.json of Hugging Face's tokenizers, which gives valid UTF-8 the same tokens. */
void tokenizer_json(const Tokenizer *t, FILE *out);

#endif
