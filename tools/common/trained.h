/* A trained model and a text for it: what ./eval and ./analyse are given, RUN [TEXT...]. */
#ifndef TOOLS_COMMON_TRAINED_H
#define TOOLS_COMMON_TRAINED_H

#include "training/perplexity.h"
#include "training/saved.h"

/* A model that foretells text, or it dies; `program` is the name of who asks. */
Saved *trained_read(const char *path, bool best, const char *program);

/* The files; none: what the run has been validated on. */
typedef struct {
    const char *const *file;
    int files;
    double share; /* only this last part of them; NaN: all */
    int most;     /* tokens, the first; 0: all */
} TextChoice;

/* Its tokens, for free(). */
TokenText trained_text(const Saved *run, TextChoice choice);

/* Dies (EXIT_USAGE, EXIT_IO) where a file could not be written, or is one of those that are read.
 */
void trained_check_output(const char *path, const Saved *run, TextChoice choice);

#endif
