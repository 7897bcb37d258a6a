/*
 * The kinds of tokenizer, and what they share: a table of what the tokens from
 * 256 on are made of, which says everything, and the bytes of all tokens, which
 * follow from it. For data/ alone.
 */
#ifndef DATA_TOKENIZER_KIND_H
#define DATA_TOKENIZER_KIND_H

#include "data/numbering.h"

enum { FIRST = 256 }; /* tokens before it are bytes */

typedef struct {
    const char *name;
    int tokens;      /* of the vocabulary, at most */
    int token_bytes; /* of a token, at most */
    void (*learn)(Tokenizer *t, Bytes text);
    size_t (*encode)(const Tokenizer *t, Bytes text, Token *to);
    void (*json)(const Tokenizer *t, FILE *out);
    /* The next token; false, and nothing has changed, if there can be no such token. */
    bool (*add)(Tokenizer *t, uint32_t parts);
    /* What it is made of, as text: PARTS_TEXT bytes with the 0; and back, NULL or what follows. */
    void (*write)(char *to, uint32_t parts);
    const char *(*read)(const char *from, uint32_t *parts);
} TokenizerKind;

enum { PARTS_TEXT = 12 };

extern const TokenizerKind tokenizer_bytes, tokenizer_characters, tokenizer_bpe;

struct Tokenizer {
    const TokenizerKind *kind;
    char words[12];
    int size, most;      /* tokens: now, and ever */
    KeyNumbers parts;    /* token 256 + i: a code point, or left << 16 | right */
    unsigned char *text; /* the tokens' bytes, one after the other; it never moves */
    uint32_t *start;     /* where token i starts in it; start[size] is its end */
    BytesNumbers spelt;  /* bpe: token 256 + i again, by its bytes */
};

/* Makes the n bytes at the end of `text`, which the caller has written there, the next token. */
void tokenizer_append(Tokenizer *t, uint32_t parts, size_t n);

/* A number without sign or leading zeros, of at most six digits: NULL, or what follows it. */
const char *tokenizer_number(const char *from, unsigned base, uint32_t *number);

/* A tokenizer.json whose symbols are bytes; and one whose symbols are characters. */
void tokenizer_json_bytes(const Tokenizer *t, FILE *out);
void tokenizer_json_characters(const Tokenizer *t, FILE *out);

#endif
