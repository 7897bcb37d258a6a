/* Runs a fuzz target on files, and prints how many there were: a failure ends the program. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MOST = 1 << 24 };

int main(int argc, char **argv)
{
    unsigned char *input = xmalloc(INPUT_MOST);

    if (!freopen("/dev/null", "w", stdout)) /* for what --help prints */
        die(EXIT_IO, "cannot open /dev/null");
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");

        if (!file)
            die(EXIT_IO, "cannot open %s", argv[i]);
        size_t n = fread(input, 1, INPUT_MOST, file);
        fclose(file);
        /* Copied, so that a sanitizer knows where it ends. */
        unsigned char *exact = xmalloc(n);

        for (size_t c = 0; c < n; c++)
            exact[c] = input[c];
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    free(input);
    fprintf(stderr, "%d passed, 0 failed; %d runs read them to the end\n", argc - 1,
            fuzz_returned());
    return fuzz_returned() == 0; /* or the inputs are of a format that nothing reads any more */
}
