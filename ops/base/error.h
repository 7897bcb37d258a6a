/*
 * The two ways to stop. die() is for the user: a file, an option or a number
 * that cannot be used; it prints one line, `attn.c: error: ...`, and exits with
 * the code of its kind. BUG() is for the programmer: a broken promise inside
 * the program; it says where, and aborts. No function returns an error code.
 */
#ifndef OPS_BASE_ERROR_H
#define OPS_BASE_ERROR_H

#include <stddef.h>
#include <stdnoreturn.h>

/* What the exit code tells a script. */
enum {
    EXIT_FAILED = 1, /* the run failed: diverged, a check did not hold */
    EXIT_USAGE = 2,
    EXIT_MEMORY = 3,
    EXIT_IO = 4,
    EXIT_DATA = 5, /* a corpus or a checkpoint that cannot be what it should */
    EXIT_INTERRUPTED = 130,
};

/* Control characters in the message are printed as '?', so no name can fake a second line. */
noreturn void die(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

/* malloc that dies when there is no memory left; free() takes it back. */
void *xmalloc(size_t bytes);
void *xrealloc(void *p, size_t bytes);
/* The same, aligned for any vector unit and any cache line. */
void *xmalloc_aligned(size_t bytes);

#endif
