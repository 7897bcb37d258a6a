/*
 * Whole files, in and out. What is read is in the program's own memory before
 * anyone looks at it, so whatever happens to the file afterwards changes
 * nothing. What is written replaces the old file in one instant:
 *
 *     dir/.NAME.PID.tmp   write, fsync, close   --rename-->   dir/NAME, fsync dir
 *
 * so at every moment, power cuts included, the name leads to the whole old file
 * or to the whole new one. Both functions die() if they cannot do their work.
 */
#ifndef OPS_BASE_FILE_H
#define OPS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    const void *at;
    size_t bytes;
} Piece;

/*
 * The contents of a regular file, or of standard input if the path is "-", in
 * memory for free(), followed by a 0 that is not counted. EXIT_IO if it cannot
 * be read or is no regular file (it never waits for a FIFO), EXIT_DATA if it is
 * larger than half of the machine's memory.
 */
unsigned char *file_read(const char *path, size_t *bytes);

/*
 * Makes the pieces, one after the other, the contents of `path`. A symbolic link
 * is replaced, not followed. On failure nothing is left behind, the old file is
 * as it was, and the exit is EXIT_IO. A limit on the file's size (RLIMIT_FSIZE)
 * is such a failure only while SIGXFSZ is ignored.
 */
void file_replace(const char *path, const Piece *piece, int n);

/*
 * What `print` prints, in memory for free(), followed by a 0 that is not counted; or as the new
 * contents of `path`. EXIT_MEMORY where there is no room for it.
 */
typedef void Print(FILE *out, void *ctx);
char *print_to_memory(Print *print, void *ctx, size_t *bytes);
void file_print(const char *path, Print *print, void *ctx);

/* Makes a pipe that nobody reads and a file that cannot grow errors, which they are not by default.
 */
void file_ignore_signals(void);

/* Whether both paths lead to one file that is there. */
bool file_same(const char *a, const char *b);

/* What a file seems to be that was given by mistake ("a web page ..."); NULL if nothing known. */
const char *file_looks_like(const unsigned char *file, size_t bytes);

/*
 * Numbers in files are little-endian. The same numbers in the other order, file's
 * or host's: themselves where these are one, else a copy for free().
 */
const void *file_order(const void *numbers, size_t bytes, size_t width);

#endif
