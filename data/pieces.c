#include "data/pieces.h"

#include <string.h>

typedef enum { SPACE, LETTER, DIGIT, OTHER } Class;

static Class class_of(unsigned char c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return SPACE;
    if (c >= '0' && c <= '9')
        return DIGIT;
    return c >= 128 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? LETTER : OTHER;
}

size_t piece_contraction(Bytes text)
{
    static const char *const all[] = { "'s", "'t", "'d", "'m", "'ll", "'ve", "'re" };

    for (size_t i = 0; text.at[0] == '\'' && i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i]);

        if (n <= text.n && memcmp(text.at, all[i], n) == 0)
            return n;
    }
    return 0;
}

size_t piece_length(Bytes text)
{
    size_t n = piece_contraction(text);

    if (n)
        return n;
    n = text.n > 1 && text.at[0] == ' ';
    const Class class = class_of(text.at[n]);
    while (n < text.n && class_of(text.at[n]) == class)
        n++;
    return class == SPACE && n < text.n && n > 1 ? n - 1 : n;
}
