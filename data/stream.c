#include "data/stream.h"

#include "ops/base/text.h"

#include <string.h>

/*
 * Whether the bytes held are the beginning of some character. The characters with
 * one beginning have codes from that with the smallest bytes after it to that with
 * the largest; if any is valid, one of these two is.
 */
static bool may_become(const Stream *s)
{
    uint32_t code;

    for (int fill = 0x80; fill <= 0xbf; fill += 0x3f) {
        unsigned char c[4];

        memset(c, fill, sizeof c);
        memcpy(c, s->at, (size_t)s->held);
        if (utf8_decode(c, sizeof c, &code) > s->held)
            return true;
    }
    return false;
}

static void print(Stream *s, Bytes bytes)
{
    s->failed |= fwrite(bytes.at, 1, bytes.n, s->out) != bytes.n;
}

static bool is_printed(const Stream *s)
{
    return fflush(s->out) == 0 && !ferror(s->out) && !s->failed;
}

/* Prints the character that is held, or its replacement. */
static void put(Stream *s, uint32_t code)
{
    bool control = text_controls(code) && code != '\n' && code != '\t';
    unsigned char c[4];
    int n = utf8_encode(c, control ? '?' : code == '\n' && s->one_line ? ' ' : code);

    print(s, (Bytes){ .at = c, .n = (size_t)n });
    s->held = 0;
}

static void put_invalid(Stream *s)
{
    if (!s->skip)
        put(s, 0xfffd);
    s->held = 0;
}

static void take(Stream *s, unsigned char byte)
{
    uint32_t code;

    s->at[s->held++] = byte;
    if (utf8_decode(s->at, (size_t)s->held, &code)) {
        put(s, code);
    } else if (!may_become(s)) {
        bool alone = s->held == 1;

        put_invalid(s);
        if (!alone) /* it is not part of what was held */
            take(s, byte);
    }
}

bool stream_write(Stream *s, Bytes bytes)
{
    if (s->raw && bytes.n > 0) /* fwrite takes no NULL, not even for nothing */
        print(s, bytes);
    for (size_t i = 0; !s->raw && i < bytes.n; i++)
        take(s, bytes.at[i]);
    return is_printed(s);
}

bool stream_end(Stream *s)
{
    if (s->held)
        put_invalid(s);
    return is_printed(s);
}
