/* The text that a model is trained on: bytes, the last part of them held back for validation. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include "data/token.h"

#include <stdint.h>

typedef struct {
    Bytes train, validation;
    double floor;                /* bits a byte that no model can beat on validation; 0: unknown */
    unsigned char *owned, *more; /* what corpus_free() frees */
} Corpus;

/*
 * The files, one after the other; the last `held_back` of them (0.1 is a tenth) are for
 * validation, or all of `validation_path` if that is not NULL. No character of UTF-8 is cut in two.
 */
typedef struct {
    const char *const *path;
    int n;
    const char *validation_path;
    double held_back;
} CorpusFiles;
Corpus corpus_read(CorpusFiles files);

enum { STORIES_BYTES = 4 << 20 }; /* what a run without a text learns from */

/* Stories of the built-in grammar (data/stories.h): `bytes` to train on, a tenth to validate. */
Corpus corpus_stories(uint64_t seed, size_t bytes);

void corpus_free(Corpus *corpus);

/* Of which text this is: the same of both parts is the same corpus. */
uint64_t corpus_hash(const Corpus *corpus);

#endif
