#include "data/stops.h"

#include <stdlib.h>
#include <string.h>

/* The first n bytes that wait are printed. */
static bool let_go(Stops *s, size_t n)
{
    if (n == 0)
        return true;
    const bool written = stream_write(s->out, (Bytes){ s->held.at, n });
    memmove(s->held.at, s->held.at + n, s->held.n - n);
    s->held.n -= n;
    return written;
}

/* How many of the last bytes are the first ones of a stop string. */
static size_t beginning(const Stops *s, const char *stop)
{
    size_t n = strlen(stop);

    for (n = n < s->held.n ? n : s->held.n; n > 0; n--)
        if (memcmp(s->held.at + s->held.n - n, stop, n) == 0)
            break;
    return n;
}

/* After one more byte: prints what can no longer belong to a stop string. */
static bool sort_out(Stops *s)
{
    size_t keep = 0, stop = 0; /* the longest beginning, and the longest that is all of one */

    for (int i = 0; i < s->n; i++) {
        const size_t n = beginning(s, s->text[i]), all = strlen(s->text[i]);

        keep = n > keep ? n : keep;
        stop = n == all && n > stop ? n : stop;
        s->met = s->met || n == all;
    }
    keep = s->met ? stop : keep;
    const bool written = let_go(s, s->held.n - keep);
    if (s->met)
        s->held.n = 0;
    return written;
}

bool stops_write(Stops *s, Bytes bytes)
{
    bool written = true;

    if (s->n == 0)
        return stream_write(s->out, bytes);
    for (size_t i = 0; i < bytes.n && !s->met && written; i++) {
        buffer_add(&s->held, bytes.at + i, 1);
        written = sort_out(s);
    }
    return written;
}

bool stops_end(Stops *s)
{
    return let_go(s, s->held.n) && stream_end(s->out);
}

void stops_free(Stops *s)
{
    free(s->held.at);
    *s = (Stops){ 0 };
}
