#define _DEFAULT_SOURCE /* madvise */
#include "ops/base/error.h"

#include "ops/base/terminal.h"
#include "ops/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGN = 64, HUGE = 2 << 20 };

_Thread_local Rescue *rescue;

__attribute__((format(printf, 2, 0))) static void write_line(char line[ERROR_LINE], const char *fmt,
                                                             va_list ap)
{
    vsnprintf(line, ERROR_LINE, fmt, ap);
    text_plain(line);
}

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *fmt, va_list ap)
{
    char line[ERROR_LINE];

    write_line(line, fmt, ap);
    fflush(stdout);
    terminal_end_line();
    fprintf(stderr, "attn.c: %s: %s\n", kind, line);
}

noreturn void die(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (rescue)
        write_line(rescue->line, fmt, ap);
    else
        say("error", fmt, ap);
    va_end(ap);
    if (!rescue)
        exit(code);
    rescue->code = code;
    longjmp(rescue->back, 1);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("warning", fmt, ap);
    va_end(ap);
}

noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    terminal_end_line();
    fprintf(stderr, "BUG: %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

static void *checked(void *p, size_t bytes)
{
    if (!p)
        die(EXIT_MEMORY, "out of memory (%zu bytes requested)", bytes);
    return p;
}

void *xmalloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1), bytes);
}

void *xrealloc(void *p, size_t bytes)
{
    return checked(realloc(p, bytes ? bytes : 1), bytes);
}

void *xgrow(void *p, size_t n, size_t size)
{
    return n & (n - 1) ? p : xrealloc(p, (n ? 2 * n : 1) * size);
}

/* Large blocks get large pages where the system has them: a matrix then spans few of them. */
void *xmalloc_aligned(size_t bytes)
{
    size_t unit = bytes >= 2 * HUGE ? HUGE : ALIGN;

    if (bytes > (size_t)-1 - unit)
        checked(NULL, bytes);
    bytes = bytes ? (bytes + unit - 1) / unit * unit : unit;
    void *p = checked(aligned_alloc(unit, bytes), bytes);
#ifdef MADV_HUGEPAGE
    if (unit == HUGE)
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}
