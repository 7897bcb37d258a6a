/*
 * The folder of a run. Only one process at a time writes to it, and no other run is lost:
 *
 *     .lock         locked by the process that uses the run, and holds its process ID; the system
 *                   releases the lock when the process ends, even if it is killed
 *     .replaced/    the files of a run that is being overwritten, until the new run saves a
 *                   checkpoint; if it ends without one, they are moved back, if necessary by the
 *                   next process
 *
 * A process uses one run at a time. All functions die with EXIT_IO on failure.
 */
#ifndef TRAINING_FOLDER_H
#define TRAINING_FOLDER_H

#include "ops/base/file.h"

#include <stdbool.h>

#define FOLDER_ASIDE ".replaced"

/* The folder that the path's last part is in; false: its name is too long. */
bool folder_above(char to[PATH_BYTES], const char *path);

/* mkdir -p, of the path or of the folder above. */
void folder_make(const char *path);
void folder_make_above(const char *path);

/* Creates the first of runs/NAME, runs/NAME-2, ... that does not exist; sets `path`. */
void folder_make_numbered(char path[PATH_BYTES], const char *name);

/* Whether the folder contains files named like those of a run. */
bool folder_has_run(const char *path);

/* Whether it can be resumed. */
bool folder_has_checkpoint(const char *path);

/* Whether the path leads to one of those files in the folder. */
bool folder_owns(const char *folder, const char *path);

/* Whether a run in the folder would replace or delete the file. */
bool folder_replaces(const char *folder, const char *path);

/* Whether it leads to one of several of those files in its own folder: to a file of a run. */
bool folder_run_owns(const char *path);

/*
 * Dies if a new run cannot use the folder: EXIT_USAGE if it holds a run and `overwrite` is false,
 * or files that only look like a run; EXIT_IO if a process is using it, or if it cannot be written
 * to or created. Changes nothing.
 */
void folder_check(const char *path, bool overwrite);

/*
 * Locks an existing folder until folder_unlock() or the end of the process, and cleans up after
 * killed processes. Does nothing if this process holds the lock; EXIT_IO if another one does.
 */
void folder_lock(const char *path);
void folder_unlock(void);

/* Dies (EXIT_IO) if the path does not lead to the locked folder any more. */
void folder_check_place(void);

/* In the locked folder: moves the files of its run aside, for a new one; and deletes them. */
void folder_put_aside(void);
void folder_drop(void);

#endif
