#include "ops/base/file.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PATH: the longest name that leaves room for the cause in a line of die(). */
#define PATH "%.200s"
enum { AT_ONCE = 1 << 30, FIRST_ROOM = 1 << 16, NAME_ROOM = 256 };

static const char *kind(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "directory"
           : S_ISFIFO(mode) ? "FIFO"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static noreturn void not_regular(const char *path, mode_t mode)
{
    die(EXIT_IO, PATH " is a %s, not a regular file", path, kind(mode));
}

static noreturn void not_readable(const char *path, mode_t mode)
{
    if (S_ISFIFO(mode))
        die(EXIT_IO, PATH " is a FIFO, not a regular file: give - to read standard input", path);
    not_regular(path, mode);
}

/* The most that a file may have, and what to say about one that has more. */
typedef struct {
    size_t most;
    bool of_text;
} Limit;

static size_t share_of_memory(double share)
{
    const size_t all = SIZE_MAX / 2;
    const double bytes = share * machine_memory();

    return bytes < (double)all ? (size_t)bytes : all;
}

/* O_NONBLOCK: opening a FIFO would wait for its writer. No effect on regular files. */
int file_open(const char *path, size_t *bytes)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), cause = errno;
    struct stat st;

    if (fd < 0 && stat(path, &st) == 0 && kind(st.st_mode))
        not_readable(path, st.st_mode); /* a socket cannot even be opened */
    if (fd < 0)
        die(EXIT_IO, "cannot open '" PATH "': %s", path, strerror(cause));
    if (fstat(fd, &st)) {
        const int failure = errno;

        close(fd);
        die(EXIT_IO, "cannot read " PATH ": %s", path, strerror(failure));
    }
    if (kind(st.st_mode)) {
        close(fd);
        not_readable(path, st.st_mode);
    }
    *bytes = (uintmax_t)st.st_size < SIZE_MAX ? (size_t)st.st_size : SIZE_MAX;
    return fd;
}

/* read() that waits for data: -1 on failure, 0 at the end. */
static ssize_t read_some(int fd, unsigned char *to, size_t room)
{
    for (;;) {
        ssize_t got = read(fd, to, room < AT_ONCE ? room : AT_ONCE);

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
        else if (got >= 0 || errno != EINTR)
            return got;
    }
}

static Text size_words(double bytes)
{
    return bytes < 1e9 ? text_format("%.0f MB", 1e-6 * bytes)
                       : text_format("%.1f GB", 1e-9 * bytes);
}

static void check_size(const char *name, size_t size, Limit limit)
{
    const Text has = size_words((double)size), most = size_words((double)limit.most);

    if (size <= limit.most)
        return;
    if (limit.of_text)
        die(EXIT_DATA,
            "%.120s has %s or more, but there is room for %s of text in this machine's "
            "memory: use a part of it, such as that of head -c %.0fM",
            name, has.at, most.at, floor(1e-6 * (double)limit.most));
    die(EXIT_DATA, PATH " has %s or more; the limit is half of this machine's memory, %s", name,
        has.at, most.at);
}

static unsigned char *read_within(const char *path, size_t *bytes, Limit limit)
{
    static bool spent;
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    size_t used = 0, room = FIRST_ROOM;
    const int fd = standard ? STDIN_FILENO : file_open(path, &room);
    ssize_t got = 1;

    if (standard && spent)
        die(EXIT_USAGE, "standard input can be read only once: give - for one file at most");
    spent = spent || standard;
    check_size(name, room, limit);
    unsigned char *to = xmalloc(++room);
    while (got > 0) { /* the size may have changed: only read() tells the end */
        if (used == room) {
            check_size(name, used, limit);
            to = xrealloc(to, room = 2 * room + FIRST_ROOM);
        }
        got = read_some(fd, to + used, room - used);
        used += got > 0 ? (size_t)got : 0;
    }
    const int cause = errno;
    if (!standard)
        close(fd);
    if (got < 0) {
        free(to);
        die(EXIT_IO, "cannot read " PATH ": %s", name, strerror(cause));
    }
    to = xrealloc(to, used + 1);
    to[used] = 0;
    *bytes = used;
    return to;
}

unsigned char *file_read(const char *path, size_t *bytes)
{
    return read_within(path, bytes, (Limit){ share_of_memory(0.5), false });
}

size_t file_text_room(void)
{
    return share_of_memory(0.25);
}

unsigned char *file_read_text(const char *path, size_t *bytes, size_t before)
{
    const size_t most = file_text_room();

    return read_within(path, bytes, (Limit){ most > before ? most - before : 0, true });
}

typedef struct {
    const char *path, *name; /* the name is the path's last part */
    int dir, fd;
    char temporary[NAME_ROOM];
} Replacement;

static noreturn void give_up(const Replacement *r, const char *verb)
{
    const int cause = errno;

    unlinkat(r->dir, r->temporary, 0);
    if (r->fd >= 0)
        close(r->fd);
    close(r->dir);
    die(EXIT_IO, "cannot %s " PATH ": %s; what was there before is untouched", verb, r->path,
        strerror(cause));
}

/* Of `--csv /dev/stdout >results`: replacing would lose what is printed, and for root the device.
 */
static bool is_standard(const struct stat *file)
{
    struct stat own;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == file->st_dev && own.st_ino == file->st_ino)
            return true;
    return false;
}

static void open_directory(Replacement *r)
{
    const char *slash = strrchr(r->path, '/');
    const size_t length = slash ? (size_t)(slash - r->path) + 1 : 0;
    char *dir = xmalloc(length + 2);
    struct stat st;

    memcpy(dir, length ? r->path : ".", length ? length : 1);
    dir[length ? length : 1] = 0;
    r->name = r->path + length;
    if (!*r->name)
        die(EXIT_IO, "cannot write '" PATH "': it names no file", r->path);
    r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir < 0)
        die(EXIT_IO, "cannot write into the folder " PATH ": %s", dir, strerror(errno));
    free(dir);
    if (fstatat(r->dir, r->name, &st, 0) == 0 && (kind(st.st_mode) || is_standard(&st))) {
        close(r->dir);
        if (kind(st.st_mode))
            not_regular(r->path, st.st_mode);
        die(EXIT_USAGE, "cannot write " PATH ": it is standard input, output or error already",
            r->path);
    }
}

void file_check_output(const char *path)
{
    Replacement r = { .path = path };

    open_directory(&r);
    if (faccessat(r.dir, ".", W_OK, 0))
        die(EXIT_IO, "cannot write " PATH ": %s", path, strerror(errno));
    close(r.dir);
}

/* A file of that name can only be from a process that had the same id and died. */
static void open_temporary(Replacement *r)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;

    snprintf(r->temporary, sizeof r->temporary, ".%.200s.%ld.tmp", r->name, (long)getpid());
    r->fd = openat(r->dir, r->temporary, flags, 0666);
    if (r->fd < 0 && errno == EEXIST && unlinkat(r->dir, r->temporary, 0) == 0)
        r->fd = openat(r->dir, r->temporary, flags, 0666);
    if (r->fd < 0) {
        const int cause = errno;

        close(r->dir);
        die(EXIT_IO, "cannot write " PATH ": %s", r->path, strerror(cause));
    }
}

bool file_append(int fd, const void *at, size_t bytes)
{
    const unsigned char *from = at;

    for (size_t left = bytes; left > 0;) {
        ssize_t put = write(fd, from, left < AT_ONCE ? left : AT_ONCE);

        if (put == 0)
            errno = ENOSPC;
        if (put == 0 || (put < 0 && errno != EINTR))
            return false;
        if (put > 0)
            from += put, left -= (size_t)put;
    }
    return true;
}

/* A failed fsync is never repeated: the pages it lost are marked clean afterwards. */
static bool synced(int fd)
{
    int failed;

    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    return !failed;
}

/* By a second link, so that the file is under its own name at every moment. rename() does nothing
 * if both names are the same file already, as after a kill: then the new link is left to remove.
 * A file system without links leaves a moment with only the other name. */
static bool keep_old(const Replacement *r, const char *as)
{
    char link[NAME_ROOM];

    snprintf(link, sizeof link, ".%.200s.%ld.tmp", as, (long)getpid());
    unlinkat(r->dir, link, 0);
    if (linkat(r->dir, r->name, r->dir, link, 0)) {
        const bool links = errno != EPERM && errno != ENOTSUP && errno != EMLINK && errno != ENOSYS;

        return errno == ENOENT || (!links && renameat(r->dir, r->name, r->dir, as) == 0);
    }
    const int failed = renameat(r->dir, link, r->dir, as), cause = errno;
    unlinkat(r->dir, link, 0);
    errno = cause;
    return !failed;
}

void file_replace(const char *path, const Piece *piece, int n)
{
    file_replace_keeping(path, NULL, piece, n);
}

void file_replace_keeping(const char *path, const char *as, const Piece *piece, int n)
{
    Replacement r = { .path = path };

    open_directory(&r);
    open_temporary(&r);
    for (int i = 0; i < n; i++)
        if (!file_append(r.fd, piece[i].at, piece[i].bytes))
            give_up(&r, "write");
    if (!synced(r.fd))
        give_up(&r, "write");
    const int fd = r.fd;
    r.fd = -1;
    if (close(fd) && errno != EINTR)
        give_up(&r, "write");
    if (as && !keep_old(&r, as))
        give_up(&r, "keep the file that is replaced by");
    if (renameat(r.dir, r.temporary, r.dir, r.name))
        give_up(&r, "replace");
    if (!synced(r.dir) && errno != EINVAL) /* EINVAL: not supported by the file system */
        die(EXIT_IO, "wrote " PATH ", but its folder cannot be synced: %s", path, strerror(errno));
    close(r.dir);
}

void file_ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

const char *file_join(char path[PATH_BYTES], const char *folder, const char *name)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
        die(EXIT_IO, "the path %.60s.../%.60s is too long", folder, name);
    return path;
}

bool file_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

const void *file_order(const void *numbers, size_t bytes, size_t width)
{
    const unsigned char *from = numbers;

    if (width == 1 || little_endian())
        return numbers;
    unsigned char *to = xmalloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i / width * width + (width - 1 - i % width)];
    return to;
}
