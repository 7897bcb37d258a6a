/*
 * A text that stays on disk because it is too large for memory: files, one after the other, from
 * which pieces are read as needed.
 */
#ifndef DATA_DISK_TEXT_H
#define DATA_DISK_TEXT_H

#include <stddef.h>

typedef struct DiskText DiskText;

/* Opens n regular files; EXIT_IO on failure. The paths must outlive the text. */
DiskText *disk_text_open(const char *const *path, int n);
void disk_text_free(DiskText *text); /* NULL: nothing */

size_t disk_text_bytes(const DiskText *text, int file); /* of file 0, 1, .. */

/* The n bytes at `from`. EXIT_IO if they cannot be read, or if a file has changed. */
void disk_text_read(const DiskText *text, size_t from, size_t n, unsigned char *to);

#endif
