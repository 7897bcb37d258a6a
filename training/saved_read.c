/*
 * Which checkpoint of a folder is read. A run leaves its last two: where the latest is damaged, the
 * one before it takes its place, and a message says so.
 */
#include "training/saved.h"

#include "ops/base/error.h"
#include "training/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Dies if the path leads nowhere. */
static bool is_folder(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode);
    if (strcmp(path, "-") != 0)
        die(EXIT_IO, "cannot open '%.200s': %s", path, strerror(errno));
    return false;
}

/* The file of that name in the folder; `name` NULL: the path itself. */
static void put_path(Saved *s, const char *path, const char *name)
{
    const char *slash = name ? "/" : "";

    if (snprintf(s->path, sizeof s->path, "%s%s%s", path, slash, name ? name : "") >=
        (int)sizeof s->path)
        die(EXIT_IO, "the path %.60s... is too long", path);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Returns 0, or the exit code with which the program would have ended, and sets `why`. */
static int try_file(Saved *s, Text *why)
{
    static _Thread_local Rescue here;
    Rescue *const caller = rescue;

    here.code = 0;
    rescue = &here;
    if (setjmp(here.back) == 0)
        saved_load(s);
    rescue = caller;
    if (here.code) {
        *why = text_format("%s", here.line);
        saved_drop(s);
    }
    return here.code;
}

/* Only a fault of the file leads to the one before it: not a lack of memory. */
static void read_either(Saved *s, const char *path)
{
    Text why, other;
    const int code = try_file(s, &why);

    if (code == 0)
        return;
    if (code != EXIT_DATA && code != EXIT_IO)
        die(code, "%s", why.at);
    put_path(s, path, SAVED_PREVIOUS);
    const int second = try_file(s, &other);
    if (second == EXIT_MEMORY)
        die(second, "%s", other.at);
    if (second)
        die(code, "%.230s; the previous checkpoint fails, too: %.110s", why.at, other.at);
    s->previous = true;
    warn("%.260s; using the previous checkpoint, " SAVED_PREVIOUS " of step %d", why.at,
         s->progress.step);
}

static bool has(const char *path, const char *name)
{
    Saved s = { .mem = NULL };

    put_path(&s, path, name);
    return exists(s.path);
}

/* There is no file of that name in the folder; errno says why. */
static noreturn void refuse_folder(const char *path, const char *name)
{
    const int why = errno;

    if (has(path, FOLDER_ASIDE "/" SAVED_LAST))
        die(EXIT_IO,
            "%.200s: the run that replaces another one here has no checkpoint yet; if it was "
            "killed, ./train --resume brings the other one back",
            path);
    if (strcmp(name, SAVED_LAST) == 0 && has(path, SAVED_BEST))
        die(EXIT_IO, "%.200s has no " SAVED_LAST ", only " SAVED_BEST ": name that file", path);
    if (has(path, "log.jsonl"))
        die(EXIT_IO,
            "%.200s has no %s yet; if its run was killed before its first checkpoint, ./train "
            "--overwrite starts over",
            path, name);
    die(EXIT_IO, "%.200s is not a run's folder: there is no %s in it (%s)", path, name,
        strerror(why));
}

/* Nothing is allocated before the file is found: a caller of the library may go on without it. */
Saved *saved_read(const char *path, bool best)
{
    const bool folder = is_folder(path);
    const char *name = !folder ? NULL : best ? SAVED_BEST : SAVED_LAST;
    Saved found = { .mem = NULL };

    if (best && !folder)
        die(EXIT_USAGE, "--best needs a run's folder, and %.200s is not one", path);
    put_path(&found, path, SAVED_PREVIOUS);
    const bool two = folder && !best && exists(found.path);
    put_path(&found, path, name);
    if (folder && !two && !exists(found.path))
        refuse_folder(path, name);
    Saved *s = xmalloc(sizeof *s);
    *s = found;
    if (two)
        read_either(s, path);
    else
        saved_load(s);
    return s;
}

bool saved_progress(const char *path, uint64_t corpus, Progress *progress)
{
    Saved s = { .mem = NULL };
    Text why;

    put_path(&s, path, NULL);
    if (!exists(path) || try_file(&s, &why) != 0)
        return false;
    const char *its = safetensors_meta(s.file, "attnc.corpus"); /* a file of others has none */
    const bool same = its && strtoull(its, NULL, 16) == corpus;
    if (same)
        *progress = s.progress;
    saved_drop(&s);
    return same;
}

void saved_free(Saved *s)
{
    saved_drop(s);
    free(s);
}
