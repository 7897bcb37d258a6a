#include "tools/common/outputs.h"

#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include "training/folder.h"

#include <stdbool.h>
#include <string.h>

enum { SHOWN = 60 };

static void refuse(const char *path, const char *what)
{
    die(EXIT_USAGE, "%s is %s, and would be overwritten: give the results another name",
        text_cut(path, SHOWN).at, what);
}

static void check_input(const char *path, const char *input)
{
    if (file_same(path, input))
        refuse(path, "an input");
    if (folder_owns(input, path))
        refuse(path, "a file of the run");
}

/* A path's last part, and the folder that it is in. */
static const char *split(const char *path, Text *folder)
{
    const char *slash = strrchr(path, '/');

    *folder = slash ? text_format("%.*s", (int)(slash + 1 - path), path) : text_format(".");
    return slash ? slash + 1 : path;
}

/* Whether two paths are of one file, though it does not exist yet. */
static bool one_place(const char *a, const char *b)
{
    Text of_a, of_b;

    return strcmp(split(a, &of_a), split(b, &of_b)) == 0 && file_same(of_a.at, of_b.at);
}

static void check_other(Output one, Output other)
{
    if (file_same(one.path, other.path) || one_place(one.path, other.path))
        die(EXIT_USAGE, "--%s and --%s are the same file", one.option, other.option);
}

void outputs_check(const Output *output, int n, const char *const *input, int inputs)
{
    for (int i = 0; i < n; i++) {
        if (!output[i].path)
            continue;
        if (strcmp(output[i].path, "-") == 0)
            die(EXIT_USAGE, "--%s needs a file: standard output has the table", output[i].option);
        for (int k = 0; k < inputs; k++)
            if (input[k])
                check_input(output[i].path, input[k]);
        if (folder_run_owns(output[i].path))
            refuse(output[i].path, "a file of a run");
        for (int j = 0; j < i; j++)
            if (output[j].path)
                check_other(output[j], output[i]);
        file_check_output(output[i].path);
    }
}
