/*
 * A run in one file: the model, the state of its optimiser, how far it has come,
 * its tokenizer, its options. It is enough to go on with the run, to the same
 * bits, or to use what it has learnt.
 */
#ifndef TRAINING_SAVED_H
#define TRAINING_SAVED_H

#include "data/tokenizer.h"
#include "model/checkpoint.h"
#include "training/optimiser.h"

/* How far a run has come. Batches depend on the seed and the step, so this is all there is. */
typedef struct {
    int step, evaluated; /* the last step, and the last one after which there was an evaluation */
    int updates;         /* of the weights: the steps with a finite gradient */
    int bad;             /* the steps since the last finite gradient */
    int best_step;       /* of the least loss of an evaluation; 0: there was none */
    double best;         /* that loss; HUGE_VAL: none */
    double loss;         /* of the last weights, on all that is held back; NaN: not known */
} Progress;

/* What a run is made of, that stays the same as long as it goes on. */
typedef struct {
    const char *task;           /* what --task takes */
    const Tokenizer *tokenizer; /* NULL: its tokens are no text's */
    uint64_t corpus;            /* corpus_hash(), or 0 */
    const Meta *option;         /* names and values, as the command line takes them */
    int options;
} Origin;

/* `o` NULL: a model to use, not to go on with. */
void saved_write(const char *path, const Model *model, const Optimiser *o, Progress progress,
                 const Origin *origin);

typedef struct {
    char path[4096];
    Arena *mem;
    Model model;
    Tokenizer *tokenizer; /* NULL: as above */
    Progress progress;
    Safetensors *file;
} Saved;

/*
 * Reads a checkpoint: a file, or of a run's folder model.safetensors, or with
 * `best` best.safetensors. Dies with EXIT_IO or EXIT_DATA where it is none.
 */
Saved *saved_read(const char *path, bool best);
void saved_free(Saved *s);

const char *saved_task(const Saved *s);
uint64_t saved_corpus(const Saved *s);

/* The option `name` of the run ("n-layer"), as the command line takes it; NULL: it had none. */
const char *saved_option(const Saved *s, const char *name);

/* File i of the text of a run, as its command line named it; NULL: there are no more. */
const char *saved_file(const Saved *s, int i);

/* Fills in the state of an optimiser, which is of the run's kind. */
void saved_optimiser(const Saved *s, Optimiser *o);

#endif
