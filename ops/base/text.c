#include "ops/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void text_add(Text *text, const char *fmt, ...)
{
    size_t room = sizeof text->at - text->n;
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text->at + text->n, room, fmt, ap);
    va_end(ap);
    text->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

Text text_cut(const char *s, size_t most)
{
    size_t n = strnlen(s, most + 1);
    Text text = { 0 };

    if (n > most)
        for (n = most; n && (s[n] & 0xc0) == 0x80; n--)
            ;
    text_add(&text, "%.*s%s", (int)n, s, s[n] ? "..." : "");
    return text;
}

Text text_number(double x)
{
    Text text = { 0 };

    for (int precision = 15; isfinite(x) && precision <= 17; precision++) {
        text.n = 0;
        text_add(&text, "%.*g", precision, x);
        if (strtod(text.at, NULL) == x)
            break;
    }
    return text;
}

/* The bytes of the character at s, or 0 if there is none in UTF-8. */
static int utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    int n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    uint32_t c = n > 1 ? s[0] & (0x7fu >> n) : s[0];

    for (int i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || c >> 11 == 0x1b ? 0 : n;
}

void text_json(const char *string, FILE *out)
{
    const unsigned char *s = (const unsigned char *)string;

    if (!s) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (int n; *s; s += n ? n : 1) {
        n = utf8_length(s);
        if (!n)
            fputs("\\ufffd", out);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(out, "\\u%04x", *s);
        else
            fprintf(out, "%s%.*s", *s == '"' || *s == '\\' ? "\\" : "", n, (const char *)s);
    }
    fputc('"', out);
}
