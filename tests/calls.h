/*
 * Calls to the system, as the tests replace them: recorded, interrupted, or the end of the process.
 */
#ifndef TESTS_CALLS_H
#define TESTS_CALLS_H

#include <stdbool.h>

enum { CALLS_MOST = 200 };
extern struct {
    bool on; /* all else means nothing before */
    /* A letter each: w a write, f an fsync of a file, d of a folder, l a link, r a renaming. */
    char made[CALLS_MOST];
    int n;
    int end_at;      /* the process is killed when it makes this one, from 1; 0: it is not */
    bool interrupts; /* a write is interrupted, or writes three bytes, in turn; a read likewise */
    /* Of these calls the first `passing` succeed, and the next `times` fail with `error` (0: a
     * write writes nothing). Further letters, which are not recorded: o open or openat, s fstat, i
     * read, c close, u unlinkat, m mkdirat, k fcntl, e readdir. */
    const char *failing;
    int error, times, passing;
} calls;

/* Starts to record. */
void calls_record(void);

/* Starts to record; the next `times` of these calls fail. */
void calls_fail(const char *failing, int error, int times);

#endif
