/* These stand in front of the functions of libc, for the whole test program. */
#define _GNU_SOURCE /* syscall, SYS_ */
#include "tests/calls.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

__typeof__(calls) calls;

int renameat(int from, const char *old, int to, const char *new);

void calls_record(void)
{
    memset(&calls, 0, sizeof calls);
    calls.on = true;
}

/* Whether the call is to fail. */
static bool made(char call)
{
    if (!calls.on)
        return false;
    if (calls.n < CALLS_MOST - 1)
        calls.made[calls.n] = call;
    calls.n++;
    if (calls.n == calls.end_at)
        raise(SIGKILL);
    if (call != calls.failing || calls.times == 0)
        return false;
    calls.times--;
    errno = calls.error;
    return true;
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

    if (calls.on && calls.interrupts && (again = !again)) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_read, fd, at, calls.on && calls.interrupts && n > 3 ? 3 : n);
}

int close(int fd)
{
    const int failed = (int)syscall(SYS_close, fd);

    if (!calls.on || !calls.unclosed)
        return failed;
    errno = EIO;
    return -1;
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
    if (calls.on && calls.unmoved && calls.n >= calls.unmoved) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}
