#include "training/folder.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK ".lock"
#define EVENTS "events.out.tfevents."
#define ALL_ASIDE "all" /* among the files put aside: what is in the folder is the new run's */

/* A run writes these; any of them that is there already is a run's, or somebody's. */
static const char *const files[] = { "model.safetensors", "log.jsonl",
                                     "config.json",       "previous.safetensors",
                                     "best.safetensors",  "tokenizer.json",
                                     "loss.svg" };
enum { FILES = sizeof files / sizeof *files };

static struct {
    char path[PATH_BYTES];
    int dir, lock; /* -1: nothing is locked */
} held = { .dir = -1, .lock = -1 };

static int open_in(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool exists(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, 0) == 0;
}

/* The first of these files that exists, or NULL. */
static const char *telling(int dir)
{
    for (int i = 0; i < FILES; i++)
        if (exists(dir, files[i]))
            return files[i];
    return exists(dir, FOLDER_ASIDE) ? FOLDER_ASIDE : NULL;
}

static bool has_run(int dir)
{
    return telling(dir) != NULL;
}

static bool has_checkpoint(int dir)
{
    return exists(dir, "model.safetensors") || exists(dir, "previous.safetensors") ||
           exists(dir, FOLDER_ASIDE);
}

static bool is_folder_that(bool (*has)(int dir), const char *path)
{
    const int dir = open_in(AT_FDCWD, path);
    const bool it_has = dir >= 0 && has(dir);

    if (dir >= 0)
        close(dir);
    return it_has;
}

bool folder_has_run(const char *path)
{
    return is_folder_that(has_run, path);
}

bool folder_has_checkpoint(const char *path)
{
    return is_folder_that(has_checkpoint, path);
}

bool folder_owns(const char *folder, const char *path)
{
    char name[PATH_BYTES];
    bool same = false;

    for (int i = 0; i < FILES; i++)
        same |= snprintf(name, sizeof name, "%s/%s", folder, files[i]) < PATH_BYTES &&
                file_same(name, path);
    return same;
}

bool folder_run_owns(const char *path)
{
    char folder[PATH_BYTES];
    const int dir = folder_above(folder, path) ? open_in(AT_FDCWD, folder) : -1;
    int there = 0;

    for (int i = 0; dir >= 0 && i < FILES; i++)
        there += exists(dir, files[i]);
    if (dir >= 0)
        close(dir);
    return there > 1 && folder_owns(folder, path);
}

/* Dies if another process has locked the file. */
static void check_lock(int lock, const char *path)
{
    struct flock who = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(lock, F_GETLK, &who) == 0 && who.l_type != F_UNLCK)
        die(EXIT_IO, "%s is using the run in %.200s; wait for it, or choose another folder",
            who.l_pid > 0 ? text_format("process %ld", (long)who.l_pid).at : "another process",
            path);
}

/* Closing the file would unlock it if this process had locked it. */
static void check_use(int dir, const char *path)
{
    const int lock = held.dir < 0 ? openat(dir, LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

    if (lock >= 0) {
        check_lock(lock, path);
        close(lock);
    }
}

/* Dies if the folder, or the next one above it that exists, cannot be written to. */
static void check_permission(const char *path)
{
    char part[PATH_BYTES], above[PATH_BYTES] = { *path == '/' ? '/' : '.' };
    const size_t n = strlen(path);

    for (size_t i = 1; i <= n && i < PATH_BYTES; i++)
        if (i == n || path[i] == '/') {
            memcpy(part, path, i);
            part[i] = 0;
            if (access(part, F_OK) != 0)
                break;
            memcpy(above, part, i + 1);
        }
    if (!file_is_folder(above))
        die(EXIT_IO, "%.200s is not a folder", above);
    if (access(above, W_OK | X_OK) != 0)
        die(EXIT_IO, "cannot write to the folder %.200s: %s", above, strerror(errno));
}

void folder_check(const char *path, bool overwrite)
{
    const int dir = open_in(AT_FDCWD, path);
    const char *found = dir < 0 ? NULL : telling(dir);

    check_permission(path);
    if (dir < 0)
        return;
    check_use(dir, path);
    if (found && !exists(dir, "log.jsonl") && !exists(dir, FOLDER_ASIDE))
        die(EXIT_USAGE, "%.200s has a %s, but no log of a run; choose another folder", path, found);
    if (found && !overwrite)
        die(EXIT_USAGE, "%.200s has a run already%s --overwrite starts over", path,
            has_checkpoint(dir) ? ": ./train --resume continues it," : ", but no checkpoint:");
    close(dir);
}

/* Calls f for every file; false: they cannot all be listed, and errno says why. */
static bool visit(int dir, void (*f)(int dir, const char *name, int to), int to)
{
    const int copy = open_in(dir, ".");
    DIR *list = copy < 0 ? NULL : fdopendir(copy);

    if (list)
        errno = 0;
    for (struct dirent *e; list && (e = readdir(list)); errno = 0)
        f(dir, e->d_name, to);
    const int error = errno;
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
    errno = error;
    return error == 0;
}

/* "NAME" and a rest that begins with a '.' or is empty. */
static const char *after_name(const char *name, const char *file)
{
    const size_t n = strlen(file);

    return strncmp(name, file, n) == 0 && (!name[n] || name[n] == '.') ? name + n : NULL;
}

/* .NAME.PID.tmp (ops/base/file.h) */
static void remove_temporary(int dir, const char *name, int to)
{
    (void)to;
    for (int i = 0; *name == '.' && i < FILES; i++) {
        const char *rest = after_name(name + 1, files[i]);

        if (rest && rest[0] && strspn(rest + 1, "0123456789") > 0 &&
            strcmp(rest + 1 + strspn(rest + 1, "0123456789"), ".tmp") == 0)
            unlinkat(dir, name, 0);
    }
}

/* What a run writes, and how its weights were evaluated. */
static bool is_of_run(const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (strcmp(name, files[i]) == 0)
            return true;
    return strncmp(name, EVENTS, strlen(EVENTS)) == 0 || strcmp(name, "eval.csv") == 0;
}

bool folder_replaces(const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/');
    char above[PATH_BYTES];

    return folder_owns(folder, path) || (is_of_run(slash ? slash + 1 : path) &&
                                         folder_above(above, path) && file_same(above, folder));
}

static bool moved(int dir, const char *name, int to)
{
    return !is_of_run(name) || renameat(dir, name, to, name) == 0;
}

/* What stayed would be overwritten. */
static void move_aside(int dir, const char *name, int to)
{
    if (!moved(dir, name, to))
        die(EXIT_IO, "cannot move %s of %.200s: %s", name, held.path, strerror(errno));
}

static void move_back(int dir, const char *name, int to)
{
    if (!moved(dir, name, to))
        warn("cannot move %s of %.200s back: %s", name, held.path, strerror(errno));
}

static void drop(int dir, const char *name, int to)
{
    (void)to;
    if (is_of_run(name))
        unlinkat(dir, name, 0);
}

/* The weights are the first to go: while they are missing, those put aside are the only ones. */
void folder_put_aside(void)
{
    if (!telling(held.dir))
        return;
    const bool there =
        mkdirat(held.dir, FOLDER_ASIDE, 0777) == 0 || errno == EEXIST; /* with other files */
    const int aside = there ? open_in(held.dir, FOLDER_ASIDE) : -1;
    if (aside < 0)
        die(EXIT_IO, "cannot create %.200s/" FOLDER_ASIDE ": %s", held.path, strerror(errno));
    if (exists(held.dir, *files))
        move_aside(held.dir, *files, aside);
    if (!visit(held.dir, move_aside, aside))
        die(errno == ENOMEM ? EXIT_MEMORY : EXIT_IO, "cannot list the files of %.200s: %s",
            held.path, strerror(errno));
    const int all = openat(aside, ALL_ASIDE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (all < 0 || close(all) != 0)
        die(EXIT_IO, "cannot write to %.200s/" FOLDER_ASIDE ": %s", held.path, strerror(errno));
    close(aside);
}

/* Without a list of the files if there is no memory for one, as the program may end for that
 * reason. */
static void for_files(int in, void (*f)(int dir, const char *name, int to), int to)
{
    if (!visit(in, f, to))
        for (int i = 0; i < FILES; i++)
            if (exists(in, files[i]))
                f(in, files[i], to);
}

/* The files that were put aside are dropped; or moved back if there are no weights but theirs, in
 * place of what the new run has written. */
static void end_aside(bool back)
{
    const int aside = open_in(held.dir, FOLDER_ASIDE);

    if (aside < 0)
        return;
    if (back)
        warn("the run in %.200s is not overwritten: the new one saved nothing", held.path);
    if (back && exists(aside, ALL_ASIDE))
        for_files(held.dir, drop, -1);
    unlinkat(aside, ALL_ASIDE, 0);
    for_files(aside, back ? move_back : drop, held.dir);
    close(aside);
    unlinkat(held.dir, FOLDER_ASIDE, AT_REMOVEDIR);
}

void folder_drop(void)
{
    end_aside(false);
}

static int open_lock(int dir, const char *path)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const int lock = openat(dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (lock < 0)
        die(EXIT_IO, "cannot write %.200s/" LOCK ": %s", path, strerror(errno));
    if (fcntl(lock, F_SETLK, &whole) == 0)
        return lock;
    if (errno != EACCES && errno != EAGAIN) {
        warn("%.200s cannot be locked (%s): no other process may use it", path, strerror(errno));
        return lock;
    }
    check_lock(lock, path);
    close(lock); /* unlocked in between */
    return -1;
}

/* Whether it is still the one that others would open: who had it before may have removed it. */
static bool is_current(int dir, int lock)
{
    struct stat mine, theirs;

    return fstat(lock, &mine) == 0 && fstatat(dir, LOCK, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_ino == theirs.st_ino;
}

static int lock_in(int dir, const char *path)
{
    for (;;) {
        const int lock = open_lock(dir, path);

        if (lock >= 0 && is_current(dir, lock))
            return lock;
        if (lock >= 0)
            close(lock);
    }
}

void folder_lock(const char *path)
{
    static bool registered;

    if (held.dir >= 0)
        return;
    const int dir = open_in(AT_FDCWD, path);
    if (dir < 0)
        die(EXIT_IO, "cannot open the folder %.200s: %s", path, strerror(errno));
    held.lock = lock_in(dir, path);
    held.dir = dir;
    snprintf(held.path, sizeof held.path, "%s", path);
    if (!registered)
        registered = atexit(folder_unlock) == 0;
    if (ftruncate(held.lock, 0) != 0 || dprintf(held.lock, "%ld\n", (long)getpid()) < 0)
        die(EXIT_IO, "cannot write %.200s/" LOCK ": %s", path, strerror(errno));
    visit(dir, remove_temporary, -1);
    end_aside(!exists(dir, *files));
}

void folder_check_place(void)
{
    struct stat mine, there;

    if (held.dir < 0 || fstat(held.dir, &mine) != 0)
        return;
    if (stat(held.path, &there) != 0 || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
        die(EXIT_IO, "the folder %.200s was moved, removed or replaced while the run used it",
            held.path);
}

void folder_unlock(void)
{
    if (held.dir < 0)
        return;
    end_aside(!exists(held.dir, *files));
    unlinkat(held.dir, LOCK, 0); /* before it is unlocked: nobody else has it now */
    close(held.lock);
    close(held.dir);
    held.dir = held.lock = -1;
}
