/* Texts to tokenize, and tokenizers held against them. */
#ifndef TESTS_TEXTS_H
#define TESTS_TEXTS_H

#include "data/labelled.h"
#include "data/tokenizer.h"

#include <check.h>

extern const char sample_text[];

enum { ALPHABETS = 10 };
extern const char *const alphabets[ALPHABETS]; /* the last is NULL: any bytes */

/* A string without its 0, and with not one byte behind it that a reader could touch unseen. */
Bytes bytes_of(const char *s, size_t n);
void let_go(Bytes b);

/* As if from a file of that name. */
LabelledTexts labelled_text(const char *name, const char *text);

/* n characters of that alphabet, or any bytes. */
Bytes random_text(uint64_t seed, const char *alphabet, size_t n);

Tokenizer *learn(const char *words, const char *text);

/* The tokens of a text, checked: they are of the vocabulary, and their bytes are the text. */
Token *checked_tokens(const Tokenizer *t, Bytes text, size_t *n);
void check_there_and_back(const Tokenizer *t, Bytes text);
void check_tokens(const Tokenizer *t, const char *text, const int *want);

/* A tokenizer of GPT-2's kind as a string: "words", a token for each byte, the last byte first, and
 * what follows. */
enum { SAVED = 2000 };
const char *with_bytes(const char *words, const char *rest);

#endif
