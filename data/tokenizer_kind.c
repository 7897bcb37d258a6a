#include "data/tokenizer_kind.h"

#include "data/token.h"
#include "ops/base/error.h"

#include <string.h>

void tokenizer_append(Tokenizer *t, uint32_t parts, size_t n)
{
    if (t->size == t->most || numbers_add(&t->parts, key_of(parts)) != (uint32_t)(t->size - FIRST))
        BUG("token %d of %d, made of %x", t->size, t->most, parts);
    t->start[t->size + 1] = t->start[t->size] + (uint32_t)n;
    t->size++;
}

const char *tokenizer_number(const char *from, unsigned base, uint32_t *number)
{
    static const char digits[] = "0123456789abcdef";
    const char *s = from;

    *number = 0;
    for (const char *digit; s < from + 6 && *s && (digit = memchr(digits, *s, base)); s++)
        *number = *number * base + (uint32_t)(digit - digits);
    return s == from || (*from == '0' && s > from + 1) ? NULL : s;
}

int tokenizer_sized(const char *words, const char *name, int least, Text *wrong)
{
    const size_t n = strlen(name);
    uint32_t size;

    if (strncmp(words, name, n) != 0 || words[n] == '-')
        return 0;
    const char *end = words[n] == ':' ? tokenizer_number(words + n + 1, 10, &size) : NULL;
    if (end && !*end && (int)size >= least && size <= TOKENS_MAX)
        return (int)size;
    text_add(wrong, "needs the size of its vocabulary, from %d to %d, such as %s:%d", least,
             TOKENS_MAX, name, least > 1024 ? least : 1024);
    return 0;
}
