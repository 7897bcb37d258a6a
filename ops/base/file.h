/*
 * Files are read and written whole, except through file_open(). A file is copied to memory before
 * it is used, so later changes to it have no effect. A write replaces the old file atomically:
 *
 *     dir/.NAME.PID.tmp   write, fsync, close   --rename-->   dir/NAME, fsync dir
 *
 * so at every moment, even after a power cut, the name leads to the complete old
 * file or to the complete new one. file_read() and file_replace() die() on failure.
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
 * The contents of a regular file, or of standard input if the path is "-", for
 * free(), with a 0 after them that is not counted. EXIT_IO if it cannot be read or
 * is not a regular file (it never waits for a FIFO), EXIT_DATA if it is larger than
 * half of the machine's memory.
 */
unsigned char *file_read(const char *path, size_t *bytes);

/*
 * The same for a text, of which tokens of two bytes each will be made: EXIT_DATA, with what to do,
 * if it has more than a quarter of the memory together with the `before` bytes that were read
 * before.
 */
unsigned char *file_read_text(const char *path, size_t *bytes, size_t before);
size_t file_text_room(void); /* that quarter */

/* A regular file that stays open, and its size; EXIT_IO as above. */
int file_open(const char *path, size_t *bytes);

/*
 * Makes the concatenated pieces the contents of `path`. A symbolic link is replaced,
 * not followed. On failure (EXIT_IO) nothing is left behind and the old file is
 * unchanged. A limit on the file's size (RLIMIT_FSIZE) is such a failure only while
 * SIGXFSZ is ignored.
 */
void file_replace(const char *path, const Piece *piece, int n);

/*
 * The same, but the old file, if there is one, stays in the folder under the name `as`, instead of
 * what had that name. At every moment one of both names leads to a complete file.
 */
void file_replace_keeping(const char *path, const char *as, const Piece *piece, int n);

/* Dies as these would, as far as can be known before there is anything to write. */
void file_check_output(const char *path);

/* Writes all of it, in one call unless that is interrupted; false: it failed, see errno. */
bool file_append(int fd, const void *at, size_t bytes);

/*
 * What `print` prints, for free(), with a 0 after it that is not counted; or as the new contents
 * of `path`. EXIT_MEMORY if there is not enough memory, even if `print` looks at no result of its
 * calls.
 */
typedef void Print(FILE *out, void *ctx);
char *print_to_memory(Print *print, void *ctx, size_t *bytes);
void file_print(const char *path, Print *print, void *ctx);

/* Makes writing to a closed pipe, or beyond a file size limit, an error instead of a signal. */
void file_ignore_signals(void);

/* Whether both paths lead to the same existing file; whether one leads to a folder. */
bool file_same(const char *a, const char *b);
bool file_is_folder(const char *path);

/* For each of n paths, the number of the first that leads to the same existing file: of most, their
 * own. For free(). */
int *file_firsts(const char *const *path, int n);

/* "FOLDER/NAME"; dies (EXIT_IO) if it is too long. */
enum { PATH_BYTES = 4096 };
const char *file_join(char path[PATH_BYTES], const char *folder, const char *name);

/* The kind of a file given by mistake ("a web page ..."); NULL: not recognised. */
const char *file_looks_like(const unsigned char *file, size_t bytes);
void file_warn_look(const char *path, const unsigned char *text, size_t bytes);

/*
 * Numbers in files are little-endian. Converts between their order and the host's: returns
 * the argument where these are the same, else a copy for free().
 */
const void *file_order(const void *numbers, size_t bytes, size_t width);

#endif
