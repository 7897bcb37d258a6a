/* Files for results, which are checked before there are any. */
#ifndef TOOLS_COMMON_OUTPUTS_H
#define TOOLS_COMMON_OUTPUTS_H

/* A file for results, and the option that names it; `path` NULL: not given. */
typedef struct {
    const char *option, *path;
} Output;

/*
 * Dies (EXIT_USAGE) if a file would be overwritten that is also an input, or another output; or
 * (EXIT_IO) if one cannot be written. An input that is a folder stands for the files of the run in
 * it, and NULL for none.
 */
void outputs_check(const Output *output, int n, const char *const *input, int inputs);

#endif
