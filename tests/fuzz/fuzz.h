/*
 * Fuzz targets, one for each reader of untrusted input. A target gets arbitrary bytes, checks what
 * must hold for any input (accepted input can be written and read back to the same values), and
 * aborts if it does not hold:
 *
 *     tests/fuzz/NAME.c + clang's libFuzzer     make fuzz: searches for such inputs
 *     tests/fuzz/NAME.c + tests/fuzz/replay.c   make test: the inputs of tests/fuzz/corpus/NAME
 *
 * die() is a correct response to a bad file, so here it returns to fuzz_run(), as does exit(), and
 * allocations are freed. file_read() of any path returns the current input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "ops/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Sets the contents of the files that are read. */
void fuzz_file(const uint8_t *data, size_t n);

/* Calls f(ctx): true if it returns, false if it dies or exits. */
bool fuzz_run(void (*f)(void *ctx), void *ctx);

/* How often it has returned true. */
int fuzz_returned(void);

/* The number of allocations that were not freed. */
int fuzz_pieces(void);

/* A copy with a terminating 0 that is not counted, as file_read() returns it. */
unsigned char *fuzz_copy(const uint8_t *data, size_t n);

#define FUZZ_CHECK(truth)                                                                          \
    do                                                                                             \
        if (!(truth))                                                                              \
            BUG("%s does not hold", #truth);                                                       \
    while (0)

#endif
