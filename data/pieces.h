/*
 * The pieces of a text; bpe joins bytes only within one: words, numbers, punctuation,
 * each with the space before it, and white space. Nearly as GPT-2 does:
 *
 *     's 't 'd 'm 'll 've 're     whatever follows
 *     a space if there is one, and letters; or digits; or others
 *     white space up to the last one before something else, or all
 *
 * The first that fits is taken, as long as possible. A letter is a-z, A-Z and every
 * byte from 128 on: in UTF-8 the characters beyond ASCII consist of those alone, so
 * the pattern below is equivalent on characters, and needs no Unicode tables.
 */
#ifndef DATA_PIECES_H
#define DATA_PIECES_H

#include "data/token.h"

/* The length of the first piece of a text, which must not be empty. */
size_t piece_length(Bytes text);

/* That of an 's, 't, ... at its beginning; 0: there is none. */
size_t piece_contraction(Bytes text);

#define PIECE_LETTER "[^\\x00-\\x40\\x5b-\\x60\\x7b-\\x7f]"
#define PIECE_OTHER "[\\x00-\\x08\\x0e-\\x1f\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7f]"
#define PIECE_SPACE "[\\x09-\\x0d\\x20]"
#define PIECE_SOMETHING "[^\\x09-\\x0d\\x20]"
#define PIECE_PATTERN                                                                              \
    "'(?:[stdm]|ll|ve|re)| ?" PIECE_LETTER "+| ?[0-9]+| ?" PIECE_OTHER "+|" PIECE_SPACE            \
    "+(?!" PIECE_SOMETHING ")|" PIECE_SPACE "+"

#endif
