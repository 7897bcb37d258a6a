/*
 * For LD_PRELOAD, with glibc: calls of a program fail on purpose.
 *
 *     FAULT=memory:17   the 17th malloc(), calloc(), realloc() or aligned_alloc() fails
 *     FAULT=files:3+    the third call for a file, and all after it: open, read, pread, fsync,
 *                       close, rename, link, mkdir, ftruncate, write (not to standard streams)
 *     FAULT=kill:3      the process is killed instead of the third of these
 *     FAULT=short:1+    reads and writes are interrupted, or of one byte
 *     FAULT_COUNT=FILE  the numbers of both kinds of calls go there at the end of the program
 *
 * Counts are shared by the processes of a program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t unit, size_t n);

typedef enum { MEMORY, FILES, KINDS } Kind;

static struct {
    _Atomic long *count; /* of each kind; NULL before the program's own calls */
    Kind kind;
    long at;
    bool on, later, kills, shortens;
} fault;

__attribute__((constructor)) static void prepare(void)
{
    const char *words = getenv("FAULT");
    char kind[16] = "", more[2] = "";

    fault.on = words && sscanf(words, "%15[a-z]:%ld%1[+]", kind, &fault.at, more) >= 2;
    fault.later = *more;
    fault.kind = strcmp(kind, "memory") == 0 ? MEMORY : FILES;
    fault.kills = strcmp(kind, "kill") == 0;
    fault.shortens = strcmp(kind, "short") == 0;
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fault.count = at == MAP_FAILED ? NULL : at;
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAULT_COUNT");
    char line[64];
    const int fd = path && fault.count ? (int)syscall(SYS_openat, AT_FDCWD, path,
                                                      O_WRONLY | O_CREAT | O_TRUNC, 0666)
                                       : -1;

    if (fd < 0)
        return;
    const int n = snprintf(line, sizeof line, "%ld %ld\n", fault.count[MEMORY], fault.count[FILES]);
    syscall(SYS_write, fd, line, n);
    syscall(SYS_close, fd);
}

static bool fails(Kind kind, int cause)
{
    if (!fault.count)
        return false;
    const long n = ++fault.count[kind];
    if (!fault.on || kind != fault.kind || !(n == fault.at || (fault.later && n > fault.at)))
        return false;
    if (fault.kills)
        raise(SIGKILL);
    errno = cause;
    return !fault.shortens;
}

void *malloc(size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t unit, size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(unit, n);
}

/* Programs that are built with 64-bit offsets call the names with 64, others those without. */
static int opened(int dir, const char *path, int flags, mode_t mode)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN(head, dir)                                                                            \
    head                                                                                           \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, flags);                                                                       \
        const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;                              \
        va_end(ap);                                                                                \
        return opened(dir, path, flags, mode);                                                     \
    }

OPEN(int openat(int dir, const char *path, int flags, ...), dir)
OPEN(int openat64(int dir, const char *path, int flags, ...), dir)
OPEN(int open(const char *path, int flags, ...), AT_FDCWD)
OPEN(int open64(const char *path, int flags, ...), AT_FDCWD)

/* Every other call is interrupted. */
static bool interrupted(void)
{
    static _Atomic int calls;

    errno = EINTR;
    return fault.shortens && ++calls % 2;
}

ssize_t read(int fd, void *to, size_t n)
{
    if (fails(FILES, EIO) || interrupted())
        return -1;
    return syscall(SYS_read, fd, to, fault.shortens && n > 1 ? 1 + n / 2 : n);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    if (fails(FILES, EIO) || interrupted())
        return -1;
    return syscall(SYS_pread64, fd, to, fault.shortens && n > 1 ? 1 + n / 2 : n, at);
}

ssize_t write(int fd, const void *at, size_t n)
{
    if (fd > 2 && (fails(FILES, ENOSPC) || interrupted()))
        return -1;
    return syscall(SYS_write, fd, at, fd > 2 && fault.shortens && n > 1 ? 1 + n / 2 : n);
}

int fsync(int fd)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int close(int fd)
{
    const bool failed = fails(FILES, EIO);
    const long closed = syscall(SYS_close, fd);

    return failed ? (errno = EIO, -1) : (int)closed;
}

int renameat(int from, const char *old, int to, const char *new)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_mkdirat, dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int ftruncate64(int fd, off64_t size)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}
