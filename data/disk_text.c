#include "data/disk_text.h"

#include "ops/base/error.h"
#include "ops/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "%.200s"

typedef struct {
    const char *path;
    int fd;
    size_t bytes;
    struct timespec changed;
} File;

struct DiskText {
    int n;
    File file[];
};

static struct timespec change_of(const File *f)
{
    struct stat st;

    if (fstat(f->fd, &st))
        die(EXIT_IO, "cannot read " PATH ": %s", f->path, strerror(errno));
    return st.st_mtim;
}

DiskText *disk_text_open(const char *const *path, int n)
{
    DiskText *text = xmalloc(sizeof *text + (size_t)n * sizeof *text->file);

    text->n = n;
    for (int i = 0; i < n; i++) {
        File *f = &text->file[i];

        f->path = path[i];
        f->fd = file_open(f->path, &f->bytes);
        f->changed = change_of(f);
    }
    return text;
}

void disk_text_free(DiskText *text)
{
    for (int i = 0; text && i < text->n; i++)
        close(text->file[i].fd);
    free(text);
}

size_t disk_text_bytes(const DiskText *text, int file)
{
    return text->file[file].bytes;
}

/* A text that changes would be a mixture of two, and no other run could repeat this one. */
static noreturn void changed(const File *f)
{
    die(EXIT_IO,
        PATH " has changed while it was in use: train on a copy that nothing writes to, or on a "
             "part that fits in memory",
        f->path);
}

static void read_file(const File *f, size_t from, size_t n, unsigned char *to)
{
    while (n > 0) {
        const ssize_t got = pread(f->fd, to, n, (off_t)from);

        if (got < 0 && errno != EINTR)
            die(EXIT_IO, "cannot read " PATH ": %s", f->path, strerror(errno));
        if (got == 0)
            changed(f);
        if (got > 0)
            from += (size_t)got, to += got, n -= (size_t)got;
    }
    const struct timespec now = change_of(f);
    if (now.tv_sec != f->changed.tv_sec || now.tv_nsec != f->changed.tv_nsec)
        changed(f);
}

void disk_text_read(const DiskText *text, size_t from, size_t n, unsigned char *to)
{
    for (int i = 0; n > 0; i++) {
        const File *f = &text->file[i];
        const size_t left = from < f->bytes ? f->bytes - from : 0, here = n < left ? n : left;

        if (here > 0)
            read_file(f, from, here, to);
        from = left > 0 ? 0 : from - f->bytes;
        n -= here, to += here;
    }
}
