/*
 * The text that a model is trained on: bytes, the last part of them held back
 * for validation; and batches of windows of it. A batch depends on the seed and
 * its number, on nothing else.
 */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include "data/tokenizer.h"
#include "ops/batch.h"

#include <stdint.h>

typedef struct {
    Bytes train, validation;
    double floor;                /* bits a byte that no model can beat on validation; 0: unknown */
    unsigned char *owned, *more; /* what corpus_free() frees */
} Corpus;

/*
 * The files, one after the other; the last `held_back` of them (0.1 is a tenth) are for
 * validation, or all of `validation_path` if that is not NULL. Dies with EXIT_DATA where a part is
 * too short for one window of `context` and the byte after it.
 */
typedef struct {
    const char *const *path;
    int n;
    const char *validation_path;
    double held_back;
    int context;
} CorpusFiles;
Corpus corpus_read(CorpusFiles files);

/* Stories of the built-in grammar (data/stories.h): `bytes` to train on, a tenth to validate. */
Corpus corpus_stories(uint64_t seed, size_t bytes);

void corpus_free(Corpus *corpus);

/* Fills a batch with windows of the text: tokens, and for each token the next one. */
void corpus_batch(Bytes from, uint64_t seed, uint64_t number, Batch batch);

/* Fills one row with window k of those that lie side by side; and how many of T tokens there are.
 */
void corpus_window(Bytes from, size_t k, Batch row);
size_t corpus_windows(Bytes from, int T);

#endif
