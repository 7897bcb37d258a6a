/* Creates folders and their parents. */
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "training/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Returns false if the last part existed already. */
static bool make_all(const char *path)
{
    char part[PATH_BYTES];
    size_t n = strlen(path);
    bool made = false;

    for (size_t i = 1; i <= n; i++)
        if (i == n || path[i] == '/') {
            memcpy(part, path, i);
            part[i] = 0;
            made = mkdir(part, 0777) == 0;
            if (!made && errno != EEXIST)
                die(EXIT_IO, "cannot create the folder %.200s: %s", part, strerror(errno));
        }
    return made;
}

void folder_make(const char *path)
{
    make_all(path);
    if (!file_is_folder(path))
        die(EXIT_IO, "%.200s is not a folder; choose another name", path);
}

bool folder_above(char to[PATH_BYTES], const char *path)
{
    size_t n = strlen(path);

    for (; n > 0 && path[n - 1] == '/'; n--)
        ;
    for (; n > 0 && path[n - 1] != '/'; n--)
        ;
    return snprintf(to, PATH_BYTES, "%.*s.", (int)n, path) < PATH_BYTES;
}

void folder_make_above(const char *path)
{
    char folder[PATH_BYTES];

    if (!folder_above(folder, path))
        die(EXIT_IO, "the path %.60s... is too long", path);
    folder_make(folder);
}

void folder_make_numbered(char path[PATH_BYTES], const char *name)
{
    int i = 1;

    do
        snprintf(path, PATH_BYTES, i == 1 ? "runs/%.200s" : "runs/%.200s-%d", name, i);
    while (i++, !make_all(path));
}
