/* The classes of characters that regular expressions of tokenizers distinguish. */
#ifndef DATA_UNICODE_H
#define DATA_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* \p{L}, \p{N}, \s and the rest */
typedef enum { UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE, UNICODE_OTHER } UnicodeClass;

UnicodeClass unicode_class(uint32_t code);

#endif
