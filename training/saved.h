/*
 * A run in one file: the model, the state of its optimiser, its progress, its
 * tokenizer, its options. It is enough to resume the run, to the same bits, or to
 * use the trained model.
 */
#ifndef TRAINING_SAVED_H
#define TRAINING_SAVED_H

#include "data/labels.h"
#include "data/tokenizer.h"
#include "model/checkpoint.h"
#include "ops/base/file.h"
#include "training/optimiser.h"
#include "training/skips.h"

/* The progress of a run. Batches depend only on the seed and the step, so this is all of it. */
typedef struct {
    int step, evaluated; /* the last step, and the last one with an evaluation */
    int updates;         /* of the weights: the steps that were not skipped */
    int best_step;       /* of the lowest validation loss; 0: no evaluation yet */
    double best;         /* that loss; HUGE_VAL: none */
    double loss;         /* of the last weights, by the evaluation at the end; NaN: unknown */
    Skips skips;
} Progress;

/* The task of a model whose tokens are its program's own, as only the library makes them. */
#define SAVED_OWN_TOKENS "tokens"

/* What defines a run, and stays the same when it is resumed. */
typedef struct {
    const char *task;           /* what --task takes */
    const Tokenizer *tokenizer; /* NULL: not trained on text */
    uint64_t corpus;            /* Corpus.hash, or 0 */
    const Meta *option;         /* names and values, as the command line takes them */
    int options;
} Origin;

/* The checkpoints in a run's folder: the latest, the one before it, and the best. */
#define SAVED_LAST "model.safetensors"
#define SAVED_PREVIOUS "previous.safetensors"
#define SAVED_BEST "best.safetensors"

/* `o` NULL: a model to use, which cannot be resumed. */
void saved_write(const char *path, const Model *model, const Optimiser *o, Progress progress,
                 const Origin *origin);

/* The same, where the file that is replaced is kept as SAVED_PREVIOUS. */
void saved_write_next(const char *path, const Model *model, const Optimiser *o, Progress progress,
                      const Origin *origin);

/* The name of a tensor with a number that is not finite, which no checkpoint may have; or empty. */
Text saved_not_finite(const Model *model, const Optimiser *o);

typedef struct {
    char path[PATH_BYTES];
    Arena *mem;
    Model model;
    Tokenizer *tokenizer; /* NULL: as above */
    Progress progress;
    Safetensors *file;
    bool previous; /* the one before the latest, which cannot be used */
} Saved;

/*
 * Reads a checkpoint: a file, or the latest in a run's folder, or with `best` the best there. Dies
 * with EXIT_IO or EXIT_DATA if it is not a checkpoint; if it is the latest of a folder that has a
 * whole one before it, warns and reads that.
 */
Saved *saved_read(const char *path, bool best);
void saved_free(Saved *s);

/* The progress in the file at `path`; false: it is not a checkpoint that can be read, or of a run
 * on another corpus. */
bool saved_progress(const char *path, uint64_t corpus, Progress *progress);

/* The parts of both: reads the file at `path`; frees what there is of a checkpoint. */
void saved_load(Saved *s);
void saved_drop(Saved *s);

const char *saved_task(const Saved *s);
uint64_t saved_corpus(const Saved *s);

/* The option `name` of the run ("n-layer"), as the command line takes it; NULL: not set. */
const char *saved_option(const Saved *s, const char *name);

/* File i of the text of a run, as its command line named it; NULL past the last. */
const char *saved_file(const Saved *s, int i);

/* All n of them, for free(). Dies with EXIT_IO if one cannot be read where it was. */
const char **saved_files(const Saved *s, int *n);

/* The labels of a run on labelled texts, for labels_free(), and how many texts each row has; none
 * and 0: it is another run. Dies with EXIT_DATA if the model has other classes. */
Labels saved_labels(const Saved *s);
int saved_texts(const Saved *s);
const char *saved_label(const Saved *s, int i); /* NULL past the last */

/* Restores the state of an optimiser, which must be of the run's kind. */
void saved_optimiser(const Saved *s, Optimiser *o);

#endif
