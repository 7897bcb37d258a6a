/*
 * The two ways to stop. die() is for mistakes of the user: a file, an option or a
 * number that cannot be used; it prints one line, `attn.c: error: ...`, and exits
 * with the code of its kind. BUG() is for mistakes of the programmer: it prints where
 * a promise was broken, and aborts. No function returns an error code.
 */
#ifndef OPS_BASE_ERROR_H
#define OPS_BASE_ERROR_H

#include <setjmp.h>
#include <stddef.h>
#include <stdnoreturn.h>

/* The exit codes. */
enum {
    EXIT_FAILED = 1, /* the run failed: diverged, a check did not hold */
    EXIT_USAGE = 2,
    EXIT_MEMORY = 3,
    EXIT_IO = 4,
    EXIT_DATA = 5, /* invalid contents of a file */
    EXIT_INTERRUPTED = 130,
};

/* What a terminal obeys instead of showing is printed as '?': no name can fake a second line. */
noreturn void die(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A library must not end its host: while `rescue` points to one of these, die() on this thread
 * leaves code and line there and jumps back, instead of printing and exiting. What was allocated
 * on the way is lost, and BUG() still aborts.
 */
enum { ERROR_LINE = 380 };
typedef struct {
    jmp_buf back;
    int code;
    char line[ERROR_LINE];
} Rescue;
extern _Thread_local Rescue *rescue;

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

/* malloc() and realloc() that die if there is no memory left. */
void *xmalloc(size_t bytes);
void *xrealloc(void *p, size_t bytes);
/* An array of n with room for one more: it has room for the next power of two. */
void *xgrow(void *p, size_t n, size_t size);
/* xmalloc() aligned to vectors and cache lines. For free(). */
void *xmalloc_aligned(size_t bytes);

#endif
