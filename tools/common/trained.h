/* A trained model and a text for it: the arguments RUN [TEXT...] of ./eval and ./analyse. */
#ifndef TOOLS_COMMON_TRAINED_H
#define TOOLS_COMMON_TRAINED_H

#include "data/tokens.h"
#include "training/saved.h"

/* A model that predicts text; dies (EXIT_USAGE) of others, with the name of the program. */
Saved *trained_read(const char *path, bool best, const char *program);

/* The files; none: the validation text of the run. */
typedef struct {
    const char *const *file;
    int files;
    double share; /* only this last part of them; NaN: all */
    int most;     /* tokens, the first; 0: all */
} TextChoice;

/* Its tokens, for tokens_free(). */
Tokens trained_text(const Saved *run, TextChoice choice);

/* Prints on standard error which model it is. */
void trained_introduce(const Config *c);

/* A file for results, and the option that names it; `path` NULL: it was not given. */
typedef struct {
    const char *option, *path;
} Output;

/* Dies (EXIT_USAGE, EXIT_IO) where one cannot be written, is read, or is another one as well. */
void trained_check_outputs(const Output *output, int n, const Saved *run, TextChoice choice);

#endif
