/* The linker replaces each call of NAME by one of __wrap_NAME; __real_NAME is the original. */
#include "tests/fuzz/fuzz.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

noreturn void __wrap_die(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void __wrap_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void __wrap_exit(int code);
noreturn void __real_exit(int code);
unsigned char *__wrap_file_read(const char *path, size_t *bytes);
void *__wrap_malloc(size_t bytes);
void *__real_malloc(size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t unit, size_t bytes);
void *__real_aligned_alloc(size_t unit, size_t bytes);
void __wrap_free(void *p);
void __real_free(void *p);

/* What fuzz_run() has allocated: a run has few pieces at a time, and frees the last ones first. */
enum { PIECES = 1 << 16 };
static void *piece[PIECES];
static int pieces;

static bool running;
static int returned;
static jmp_buf back;
static const uint8_t *contents;
static size_t length;

static void *keep(void *p)
{
    if (!running || !p)
        return p;
    if (pieces == PIECES)
        BUG("fuzz: more than %d allocations", PIECES);
    return piece[pieces++] = p;
}

static void forget(const void *p)
{
    for (int i = pieces; p && i-- > 0;)
        if (piece[i] == p) {
            piece[i] = piece[--pieces];
            return;
        }
}

void *__wrap_malloc(size_t bytes)
{
    return keep(__real_malloc(bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
    forget(p);
    return keep(__real_realloc(p, bytes));
}

void *__wrap_aligned_alloc(size_t unit, size_t bytes)
{
    return keep(__real_aligned_alloc(unit, bytes));
}

void __wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}

/* What they say is not looked at. */
void __wrap_warn(const char *fmt, ...)
{
    (void)fmt;
}

noreturn void __wrap_die(int code, const char *fmt, ...)
{
    (void)fmt;
    __wrap_exit(code);
}

noreturn void __wrap_exit(int code)
{
    if (!running)
        __real_exit(code);
    longjmp(back, 1);
}

unsigned char *fuzz_copy(const uint8_t *data, size_t n)
{
    unsigned char *copy = xmalloc(n + 1);

    memcpy(copy, data, n);
    copy[n] = 0;
    return copy;
}

void fuzz_file(const uint8_t *data, size_t n)
{
    contents = data, length = n;
}

unsigned char *__wrap_file_read(const char *path, size_t *bytes)
{
    (void)path;
    *bytes = length;
    return fuzz_copy(contents, length);
}

bool fuzz_run(void (*f)(void *ctx), void *ctx)
{
    const bool died = setjmp(back) != 0;

    running = !died;
    if (!died)
        f(ctx);
    running = false;
    while (pieces > 0)
        __real_free(piece[--pieces]);
    returned += !died;
    return !died;
}

int fuzz_returned(void)
{
    return returned;
}

int fuzz_pieces(void)
{
    return pieces;
}
