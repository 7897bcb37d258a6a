#include "ops/base/text.h"

#include "ops/base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static void add(Text *text, const char *fmt, va_list ap)
{
    const size_t room = sizeof text->at - text->n;
    const int n = vsnprintf(text->at + text->n, room, fmt, ap);

    text->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

void text_add(Text *text, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(text, fmt, ap);
    va_end(ap);
}

Text text_format(const char *fmt, ...)
{
    Text text = { 0 };
    va_list ap;

    va_start(ap, fmt);
    add(&text, fmt, ap);
    va_end(ap);
    return text;
}

Text text_cut(const char *s, size_t most)
{
    size_t n = strnlen(s, most + 1);

    if (n > most)
        for (n = most; n && (s[n] & 0xc0) == 0x80; n--)
            ;
    return text_format("%.*s%s", (int)n, s, s[n] ? "..." : "");
}

Text text_number(double x)
{
    Text text = { 0 };

    for (int precision = 15; isfinite(x) && precision <= 17; precision++) {
        text = text_format("%.*g", precision, x);
        if (strtod(text.at, NULL) == x)
            break;
    }
    return text;
}

void text_json(const char *string, FILE *out)
{
    const unsigned char *s = (const unsigned char *)string;
    uint32_t code;

    if (!s) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (int n; *s; s += n ? n : 1) {
        n = utf8_decode(s, UTF8_MOST, &code);
        if (!n)
            fputs("\\ufffd", out);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(out, "\\u%04x", *s);
        else
            fprintf(out, "%s%.*s", *s == '"' || *s == '\\' ? "\\" : "", n, (const char *)s);
    }
    fputc('"', out);
}
