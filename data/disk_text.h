/*
 * A text that stays on disk because it is too large for the memory: files, one after the other, of
 * which pieces are read when they are needed.
 */
#ifndef DATA_DISK_TEXT_H
#define DATA_DISK_TEXT_H

#include <stddef.h>

typedef struct DiskText DiskText;

/* Of n regular files, which stay open; EXIT_IO if there is a problem. The paths must remain. */
DiskText *disk_text_open(const char *const *path, int n);
void disk_text_free(DiskText *text); /* NULL: nothing */

size_t disk_text_bytes(const DiskText *text, int file); /* of file 0, 1, .. */

/* The n bytes from there on. EXIT_IO if they cannot be read, or if a file is not what it was. */
void disk_text_read(const DiskText *text, size_t from, size_t n, unsigned char *to);

#endif
