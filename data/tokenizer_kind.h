/*
 * The kinds of tokenizer, a row each, and what they share: a table of what the
 * tokens from 256 on are made of, which defines the tokenizer, and the bytes of all
 * tokens, which follow from it. For data/ alone.
 *
 * To add one, write data/<name>.c with the row tokenizer_<name>, and add the name to
 * TOKENIZERS.
 */
#ifndef DATA_TOKENIZER_KIND_H
#define DATA_TOKENIZER_KIND_H

#include "data/numbering.h"
#include "ops/base/text.h"

enum { FIRST = 256 }; /* tokens before it are bytes */

typedef struct Tokenizer Tokenizer;

typedef struct {
    const char *words; /* what --tokenizer takes, for messages: "bpe:N" */
    int most;          /* tokens that it can have; or `parse` says it of words that vary: */
    /* 0: they are not of this kind, or there is something wrong with them, as the end of a
     * sentence. */
    int (*parse)(const char *words, Text *wrong);
    int token_bytes;             /* of a token, at most */
    const char *pattern;         /* the regular expression that splits a text first; NULL: none, */
    bool gpt2, digits;           /* or GPT-2's own, after each number has been split off */
    size_t (*piece)(Bytes text); /* the same here: the length of the first piece */
    void (*learn)(Tokenizer *t, Bytes text); /* NULL: there is nothing to learn */
    size_t (*encode)(const Tokenizer *t, Bytes text, Token *to);
    void (*json)(const Tokenizer *t, FILE *out);
    /* Adds the next token; false, and nothing has changed, if there can be no such token. */
    bool (*add)(Tokenizer *t, uint32_t parts);
    /* Its parts as text of at most PARTS_TEXT bytes with the 0; and back: NULL, or what follows. */
    void (*write)(char *to, uint32_t parts);
    const char *(*read)(const char *from, uint32_t *parts);
    /* Instead of these three: all tokens, from what follows the words. */
    bool (*load)(Tokenizer *t, const char *saved);
} TokenizerKind;

enum { PARTS_TEXT = 12 };

#define TOKENIZERS(ROW) ROW(bytes) ROW(characters) ROW(bpe) ROW(gpt2) ROW(gpt2_digits)
#define TOKENIZER_DECLARE(name) extern const TokenizerKind tokenizer_##name;
TOKENIZERS(TOKENIZER_DECLARE)

struct Tokenizer {
    const TokenizerKind *kind;
    char words[24];
    int size, most;      /* tokens: now, and ever */
    Numbers parts;       /* token 256 + i: a code point, or left << 16 | right */
    unsigned char *text; /* the tokens' bytes, one after the other; it never moves */
    uint32_t *start;     /* where token i starts in it; start[size] is its end */
    Numbers spelt; /* bpe: token 256 + i again, by its bytes; gpt2: tokens of bytes and merges */
    /* gpt2: */
    Token byte[FIRST]; /* the token of each byte */
    Token *made;       /* that of each merge, and `parts` has its two; NULL: 256 + i */
    Token *special;    /* those that a text in the text becomes */
    int specials;
    char *saved; /* the tokenizer as a string */
};

/* Makes the n bytes at the end of `text`, which the caller has written there, the next token. */
void tokenizer_append(Tokenizer *t, uint32_t parts, size_t n);

/* The N of words "name:N", at least `least`; 0 as of TokenizerKind.parse. */
int tokenizer_sized(const char *words, const char *name, int least, Text *wrong);

/* A number without sign or leading zeros, of at most six digits: NULL, or what follows it. */
const char *tokenizer_number(const char *from, unsigned base, uint32_t *number);

/* A tokenizer.json whose symbols are bytes; and one whose symbols are characters. */
void tokenizer_json_bytes(const Tokenizer *t, FILE *out);
void tokenizer_json_characters(const Tokenizer *t, FILE *out);

#endif
