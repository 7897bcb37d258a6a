/* What the options of a model say. All but wanted_restore_optimiser() needs guard_lock(). */
#ifndef TOOLS_LIB_WANTED_H
#define TOOLS_LIB_WANTED_H

#include "model/sample.h"
#include "tools/lib/guard.h"
#include "training/saved.h"

enum { SAMPLE_MOST = 1 << 24 };

typedef struct {
    Config config;       /* its vocab is not set */
    int vocab;           /* 0: the tokenizer's */
    Optimiser optimiser; /* its first line */
    double rate, clip;
    uint64_t seed;
    int threads, precision;
    OptionTexts frozen; /* the caller frees them before it unlocks */
    bool recompute;
} ModelWanted;

/* Of a new model; valid until the next call. */
const ModelWanted *wanted_read(const char *words);

/* Of a checkpoint, which is read into *from; dies if the words would change its model. */
const ModelWanted *wanted_read_saved(const char *words, const char *path, Saved **from);

/* The tokenizer of the options just read. */
Tokenizer *wanted_tokenizer(Bytes text);

/* The options for a checkpoint: all that were just read; or those of `from`, where they were not
 * given. */
const Meta *wanted_options(const Saved *from, Arena *mem, int *n);

/* The state in a checkpoint, if there is one. */
void wanted_restore_optimiser(const Saved *from, Optimiser *o);

/* The options of a sample; locks by itself. */
Sampling wanted_sampling(const char *words);

#endif
