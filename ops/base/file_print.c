/*
 * Printing to memory. open_memstream() would be less to write, but where its memory cannot grow it
 * drops what is printed, and neither ferror() nor fclose() tells.
 */
#define _GNU_SOURCE /* fopencookie */
#include "ops/base/error.h"
#include "ops/base/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MemorySanitizer does not see what libc writes into the buffer of a stream. */
#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define written_by_libc(at, n) __msan_unpoison(at, n)
#endif
#endif
#ifndef written_by_libc
#define written_by_libc(at, n) ((void)0)
#endif

/* Not on the stack of print_to_memory(): after a rescue its stream is flushed at the end of the
 * program. */
typedef struct {
    char *at;
    size_t n, room;
    bool failed;
} Memory;

/* A stream stands between this and its caller: no die() here, which would flush the stream again.
 */
static ssize_t add(void *to, const char *bytes, size_t n)
{
    Memory *m = to;

    if (n >= m->room - m->n) { /* with a 0 at the end */
        const size_t room = 2 * m->room + n + 1;
        char *more = realloc(m->at, room);

        m->failed |= !more;
        if (!more)
            return 0;
        m->at = more, m->room = room;
    }
    written_by_libc(bytes, n);
    memcpy(m->at + m->n, bytes, n);
    m->n += n;
    return (ssize_t)n;
}

char *print_to_memory(Print *print, void *ctx, size_t *bytes)
{
    Memory *m = xmalloc(sizeof *m);

    *m = (Memory){ .at = xmalloc(1), .room = 1 };
    FILE *out = fopencookie(m, "w", (cookie_io_functions_t){ .write = add });
    if (out)
        print(out, ctx);
    if (!out || fclose(out) != 0 || m->failed)
        die(EXIT_MEMORY, "out of memory for a text");
    char *text = m->at;
    text[m->n] = 0;
    *bytes = m->n;
    free(m);
    return text;
}

void file_print(const char *path, Print *print, void *ctx)
{
    size_t bytes;
    char *text = print_to_memory(print, ctx, &bytes);

    file_replace(path, &(Piece){ text, bytes }, 1);
    free(text);
}
