/* A trained model and a text: the arguments RUN [TEXT...] of programs. */
#ifndef TOOLS_COMMON_TRAINED_H
#define TOOLS_COMMON_TRAINED_H

#include "data/masking.h"
#include "data/tokens.h"
#include "tools/common/outputs.h"
#include "training/saved.h"

/* What models do. */
enum {
    TRAINED_CAUSAL = 1 << 0,  /* continue a text */
    TRAINED_MASKED = 1 << 1,  /* fill in masked tokens of a text */
    TRAINED_CLASSES = 1 << 2, /* label a text */
    TRAINED_ANSWERS = 1 << 3, /* solve a synthetic task */
    TRAINED_ANY = (1 << 4) - 1
};
unsigned trained_kind(const Saved *run);

/* Reads a model of one of these kinds; dies (EXIT_USAGE) for others, naming what to use instead of
 * the program. */
Saved *trained_read(const char *path, bool best, unsigned kinds, const char *program);

/* The number that an option of the run was; dies (EXIT_DATA) if the run does not record it, or if
 * it is not in this range. */
double trained_number(const Saved *run, const char *option, double least, double most);

/* The share of its text that the run held out. */
double trained_share(const Saved *run);

/* How a masked run hides tokens. */
Masking trained_masking(const Saved *run);

/* The files; without any, the run's validation text. */
typedef struct {
    const char *const *file;
    int files;
    double share;       /* only this last part of them; NaN: all */
    int most;           /* tokens, the first; 0: all */
    const char *labels; /* a file of labelled texts, for a model that was trained on such */
} TextChoice;

/* The labelled texts of a run; warns if they have changed. */
LabelCorpus trained_labels(const Saved *run);

/* Its tokens, for tokens_free(). */
Tokens trained_text(const Saved *run, TextChoice choice);

/* Warns of files that the model was trained on. */
void trained_warn(const Saved *run, TextChoice choice);

/* Prints a description of the model to standard error. */
void trained_introduce(const Config *c);

/* outputs_check() of a program's files, where `path` names the run: its inputs are the run, the
 * texts that it was trained on, and those chosen. */
void trained_check_outputs(const Output *output, int n, const char *path, const Saved *run,
                           TextChoice choice);

#endif
