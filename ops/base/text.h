/* Short texts: built piece by piece, cut for a message; numbers and strings as JSON. */
#ifndef OPS_BASE_TEXT_H
#define OPS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* { 0 } is empty; what does not fit is dropped. */
typedef struct {
    size_t n;
    char at[1024];
} Text;

Text text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void text_add(Text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* At most `most` bytes of s and no half character, with "..." if that is not all of it. */
Text text_cut(const char *s, size_t most);

/* Whether s is one of the strings in `of`, which ends with NULL. */
bool text_is_one(const char *s, const char *const *of);

/* The shortest decimal that reads back as x; empty if x is not finite. */
Text text_number(double x);

/* Fixed point below 1e9, else four digits and an exponent; a NaN has no sign. */
Text text_fixed(double x, int decimals);

/* "640 MiB", from 10 GiB on "12.5 GiB". */
Text text_memory(double bytes);

/* s as a JSON string, safe for terminals; a byte that is not UTF-8 becomes U+FFFD, NULL becomes
 * null. */
void text_json(const char *s, FILE *out);

/*
 * Whether a terminal obeys the character instead of showing it: control characters, \n and \t among
 * them, and those that change the direction of writing.
 */
bool text_controls(uint32_t code);

/* Replaces each of these, and each byte that is not UTF-8, with a '?'. */
void text_plain(char *s);

/*
 * s as a word that a shell reads back as s, but for newlines at its end. Such characters and what
 * is not UTF-8 become escapes of printf, so that the word can be shown on a terminal.
 */
void text_shell(const char *s, FILE *out);

/* UTF-8, strictly: no overlong forms, no surrogates, nothing above 10FFFF. */
enum { UTF8_MOST = 4 };

/*
 * The character at s, where n >= 1 bytes are: its length, 1 to UTF8_MOST; 0 if there is none.
 * Decoding never looks beyond a byte 0, so in a C string n may be UTF8_MOST.
 */
int utf8_decode(const unsigned char *s, size_t n, uint32_t *code);

/* Writes a character of at most 4 bytes; its length. */
int utf8_encode(unsigned char *to, uint32_t code);

#endif
