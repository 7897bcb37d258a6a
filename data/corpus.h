/*
 * The text that a model is trained on: bytes, the last part of them held back for validation. They
 * are in memory or, if they do not fit there and each is a token, on disk.
 */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include "data/disk_text.h"
#include "data/tokens.h"

#include <stdint.h>

/* A text as it was read; the last one may be for validation. */
typedef struct {
    const char *path;
    size_t bytes;
    uint64_t hash; /* hash_bytes() */
} CorpusFile;

typedef struct {
    Bytes train, validation; /* `at` is NULL on disk */
    DiskText *disk;          /* both parts, one after the other; NULL: in memory */
    uint64_t hash;           /* identifies the corpus: both parts */
    CorpusFile *file;        /* none of the built-in stories */
    int files;
    double floor;                /* bits a byte that no model can beat on validation; 0: unknown */
    unsigned char *owned, *more; /* freed by corpus_free() */
} Corpus;

/*
 * The files, one after the other; the last `held_back` of them (0.1 is a tenth) are for
 * validation, or all of `validation_path` if that is not NULL. No UTF-8 character is cut in two.
 */
typedef struct {
    const char *const *path;
    int n;
    const char *validation_path;
    double held_back;
    bool may_stay; /* on disk, if there are more than `most` bytes, but at most 64 times as many */
    size_t most;   /* 0: what fits in memory */
} CorpusFiles;
Corpus corpus_read(CorpusFiles files);

enum { STORIES_BYTES = 4 << 20 }; /* of a run without a text */

/* Stories of the built-in grammar (data/stories.h): `bytes` to train on, a tenth to validate. */
Corpus corpus_stories(uint64_t seed, size_t bytes);

void corpus_free(Corpus *corpus);

/* The tokens of one of the two parts; those of a corpus on disk are valid until it is freed. */
Tokens corpus_tokens(const Corpus *corpus, const Bytes *part, const Tokenizer *t);

#endif
