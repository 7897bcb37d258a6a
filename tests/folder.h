/* A folder for each test, and functions that stop their process. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

extern char folder[64];

/* A test case whose tests each have a new, empty folder. */
TCase *with_folder(Suite *s, const char *name);

/* The path of a file in it; valid until three more were asked for. */
const char *in_folder(const char *name);

/* How many files there are; with `all` it removes them. */
int files(bool all);

void put(const char *path, const void *at, size_t bytes);
void put_text(const char *name, const char *text); /* in the folder */

/* The file has these bytes, and file_read() ends them with a 0. */
void check_file(const char *path, const void *want, size_t bytes);

/* For a child that will die in the middle of its work: a leak checker, if there is one, is idle. */
void leaks_are_expected(void);

/* Runs f in a process of its own: its exit code (or minus its signal), and what it said. */
extern char said[16000];
int exit_code_of(void (*f)(const char *path), const char *path);

/* The same, where what it writes to the second file comes out of the first; closes the second. */
int exit_code_through(const int pipes[2], void (*f)(const char *path), const char *path);

/* From now on no file of this process gets longer; when it exits it may write again. */
void limit_file_size(size_t bytes);

/* It stops with that code and one line that has `words` in it. */
void check_dies(void (*f)(const char *path), const char *path, int code, const char *words);

#endif
