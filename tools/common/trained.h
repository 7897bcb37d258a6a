/* A trained model and a text: the arguments RUN [TEXT...] of ./eval and ./analyse. */
#ifndef TOOLS_COMMON_TRAINED_H
#define TOOLS_COMMON_TRAINED_H

#include "data/tokens.h"
#include "training/saved.h"

/* Reads a model that predicts text; dies (EXIT_USAGE) for other models, naming the program. */
Saved *trained_read(const char *path, bool best, const char *program);

/* The files; without any, the run's validation text. */
typedef struct {
    const char *const *file;
    int files;
    double share; /* only this last part of them; NaN: all */
    int most;     /* tokens, the first; 0: all */
} TextChoice;

/* Its tokens, for tokens_free(). */
Tokens trained_text(const Saved *run, TextChoice choice);

/* Prints a description of the model to standard error. */
void trained_introduce(const Config *c);

/* A file for results, and the option that names it; `path` NULL: not given. */
typedef struct {
    const char *option, *path;
} Output;

/* Dies (EXIT_USAGE, EXIT_IO) if a file cannot be written, is also an input, or is given twice. */
void trained_check_outputs(const Output *output, int n, const Saved *run, TextChoice choice);

#endif
