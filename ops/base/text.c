#include "ops/base/text.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
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

bool text_is_one(const char *s, const char *const *of)
{
    while (*of && strcmp(s, *of) != 0)
        of++;
    return *of != NULL;
}

Text text_cut(const char *s, size_t most)
{
    size_t n = strnlen(s, most + 1);

    if (n > most)
        for (n = most; n && (s[n] & 0xc0) == 0x80; n--)
            ;
    return text_format("%.*s%s", (int)n, s, s[n] ? "..." : "");
}

static bool reads_as(const Text *text, double x)
{
    return strtod(text->at, NULL) == x;
}

/*
 * The next decimal of 16 digits beyond that which is nearest to x. Doubles are closer to a power of
 * two on the side of 0 than on the other, so a decimal that is not the nearest may still read as
 * it.
 */
static Text next_decimal(double x)
{
    Text text = text_format("%.15e", x);

    ++strchr(text.at, 'e')[-1]; /* not a 9: there would be a decimal of 15 digits */
    return text;
}

/* Of a normal number, a decimal of up to 15 digits is always the nearest of 15 digits. */
Text text_number(double x)
{
    Text text = { 0 };
    int exponent;

    for (int digits = fabs(x) < DBL_MIN ? 1 : 15; isfinite(x) && digits <= 17; digits++) {
        text = text_format("%.*g", digits, x);
        if (!reads_as(&text, x) && digits == 16 && fabs(frexp(x, &exponent)) == 0.5)
            text = next_decimal(x);
        if (reads_as(&text, x))
            break;
    }
    return text;
}

Text text_fixed(double x, int decimals)
{
    if (isnan(x))
        return text_format("nan");
    return text_format(fabs(x) < 1e9 ? "%.*f" : "%.*g", fabs(x) < 1e9 ? decimals : 4, x);
}

Text text_memory(double bytes)
{
    return bytes < 10 * 0x1p30 ? text_format("%.0f MiB", bytes / 0x1p20)
                               : text_format("%.1f GiB", bytes / 0x1p30);
}

/* Embeddings, overrides and isolates of Unicode's bidirectional algorithm, and its marks. */
static bool turns(uint32_t code)
{
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x200e || code == 0x200f || code == 0x61c;
}

bool text_controls(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns(code);
}

void text_plain(char *s)
{
    char *to = s;
    uint32_t code;

    while (*s) {
        const int n = utf8_decode((unsigned char *)s, UTF8_MOST, &code);
        const bool plain = n && !text_controls(code);

        if (plain)
            memmove(to, s, (size_t)n);
        else
            *to = '?';
        to += plain ? n : 1;
        s += n ? n : 1;
    }
    *to = 0;
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
        else if (text_controls(code))
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            fprintf(out, "%s%.*s", *s == '"' || *s == '\\' ? "\\" : "", n, (const char *)s);
    }
    fputc('"', out);
}

/* The length of the character at s; 0: it cannot be shown. */
static int shown(const char *s)
{
    const unsigned char *at = (const unsigned char *)s;
    uint32_t code;

    const int n = utf8_decode(at, UTF8_MOST, &code);

    return text_controls(code) ? 0 : n;
}

void text_shell(const char *s, FILE *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./,:+@=-";
    bool escape = false;

    for (const char *c = s; *c; c += shown(c) ? shown(c) : 1)
        escape |= !shown(c);
    if (*s && !s[strspn(s, plain)]) {
        fputs(s, out);
        return;
    }
    fputs(escape ? "\"$(printf '" : "'", out);
    for (const char *c = s; *c; c++)
        if (escape && !strchr(plain, *c))
            fprintf(out, "\\%03o", (unsigned)(unsigned char)*c);
        else if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    fputs(escape ? "')\"" : "'", out);
}

int utf8_decode(const unsigned char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const int length = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;

    *code = s[0];
    if (s[0] < 0x80)
        return 1;
    if (!length || (size_t)length > n)
        return 0;
    *code &= 0x7fu >> length;
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return length;
}

int utf8_encode(unsigned char *to, uint32_t code)
{
    const int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (length == 1) {
        to[0] = (unsigned char)code;
        return 1;
    }
    for (int i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (unsigned char)(0x80 | (code & 0x3f));
    to[0] = (unsigned char)(0xf00u >> length | code);
    return length;
}
