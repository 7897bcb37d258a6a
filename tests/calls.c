/* These stand in front of the functions of libc, for the whole test program. */
#define _GNU_SOURCE /* syscall, SYS_, AT_EMPTY_PATH, O_LARGEFILE */
#include "tests/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_fcntl64 /* with locks of files beyond 2 GB */
#define SYS_FCNTL SYS_fcntl64
#else
#define SYS_FCNTL SYS_fcntl
#endif

__typeof__(calls) calls;

int renameat(int from, const char *old, int to, const char *new);

void calls_record(void)
{
    memset(&calls, 0, sizeof calls);
    calls.on = true;
}

void calls_fail(const char *failing, int error, int times)
{
    calls_record();
    calls.failing = failing, calls.error = error, calls.times = times;
}

static bool fails(char call)
{
    int *left = calls.passing ? &calls.passing : &calls.times;

    if (!calls.on || !calls.failing || !strchr(calls.failing, call) || *left == 0)
        return false;
    --*left;
    errno = calls.error;
    return left == &calls.times;
}

/* Records the call, and tells whether it is to fail. */
static bool made(char call)
{
    if (!calls.on)
        return false;
    if (calls.n < CALLS_MOST - 1)
        calls.made[calls.n] = call;
    calls.n++;
    if (calls.n == calls.end_at)
        raise(SIGKILL);
    return fails(call);
}

ssize_t write(int fd, const void *at, size_t n)
{
    if (made('w'))
        return calls.error ? -1 : 0;
    if (calls.on && calls.interrupts && calls.n % 2) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_write, fd, at, calls.on && calls.interrupts && n > 3 ? 3 : n);
}

ssize_t read(int fd, void *at, size_t n)
{
    static bool again;

    if (fails('i'))
        return -1;
    if (calls.on && calls.interrupts && (again = !again)) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_read, fd, at, calls.on && calls.interrupts && n > 3 ? 3 : n);
}

/* The linker has these called instead of readdir() (--wrap): in a static program, dlsym() could not
 * find the original. */
struct dirent *__real_readdir(DIR *list) __attribute__((weak)), /* one of them may not be there */
    *__real_readdir64(DIR *list) __attribute__((weak));
struct dirent *__wrap_readdir(DIR *list), *__wrap_readdir64(DIR *list);

struct dirent *__wrap_readdir(DIR *list)
{
    return fails('e') ? NULL : __real_readdir(list);
}

struct dirent *__wrap_readdir64(DIR *list)
{
    return fails('e') ? NULL : __real_readdir64(list);
}

/* A file is closed even if that fails. */
int close(int fd)
{
    const int failed = (int)syscall(SYS_close, fd);

    return fails('c') ? -1 : failed;
}

int fsync(int fd)
{
    struct stat info;

    if (made(fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? 'd' : 'f'))
        return -1;
    return (int)syscall(SYS_fsync, fd);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    if (made('l'))
        return -1;
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (made('r'))
        return -1;
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
    return fails('u') ? -1 : (int)syscall(SYS_unlinkat, dir, name, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    return fails('m') ? -1 : (int)syscall(SYS_mkdirat, dir, name, mode);
}

int fstat(int fd, struct stat *info)
{
    return fails('s') ? -1 : fstatat(fd, "", info, AT_EMPTY_PATH);
}

static int opened(int dir, const char *name, int flags, mode_t mode)
{
    return fails('o') ? -1 : (int)syscall(SYS_openat, dir, name, flags | O_LARGEFILE, mode);
}

int open(const char *name, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(AT_FDCWD, name, flags, mode);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(dir, name, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;

    va_start(rest, command);
    void *const what = va_arg(rest, void *); /* or a number of no more bits */
    va_end(rest);
    return fails('k') ? -1 : (int)syscall(SYS_FCNTL, fd, command, what);
}
