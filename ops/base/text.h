/* Short texts: built piece by piece, cut for a message; numbers and strings as JSON. */
#ifndef OPS_BASE_TEXT_H
#define OPS_BASE_TEXT_H

#include <stddef.h>
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

/* The shortest decimal that reads back as x; empty if x is not finite. */
Text text_number(double x);

/* s as a JSON string; a byte that is not UTF-8 becomes U+FFFD, NULL becomes null. */
void text_json(const char *s, FILE *out);

#endif
