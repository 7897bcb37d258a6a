/*
 * Runs the suites of this build, or CK_RUN_SUITE=name alone, which has to exist. CK_FORK=no is
 * for a debugger (both are Check's own variables). The build in double has all of them; that in
 * float has those that depend on `real`, or, under a sanitizer or with EVERY_SUITE=1, all.
 */
#include "tests/suites.h"
#include "tests/tests.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What tests write to standard error is mostly what they provoke: it waits for one to fail. */
static FILE *hold_back(int *own)
{
    FILE *held = tmpfile();

    *own = held ? dup(STDERR_FILENO) : -1;
    if (*own >= 0)
        dup2(fileno(held), STDERR_FILENO);
    return held;
}

static void let_go(FILE *held, int own, bool show)
{
    if (own >= 0)
        dup2(own, STDERR_FILENO);
    if (held && show) {
        rewind(held);
        for (int c = getc(held); c != EOF; c = getc(held))
            fputc(c, stderr);
    }
    if (held)
        fclose(held);
}

/* The number of files in the current folder; hidden ones belong to editors. */
static int files_here(void)
{
    DIR *dir = opendir(".");
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

#define ADD_SUITE(name) srunner_add_suite(runner, suite_##name());
#define ADD_ONCE(name)                                                                             \
    if (every)                                                                                     \
    ADD_SUITE(name)

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    const int before = files_here();
    const bool every = in_double || sanitized || getenv("CK_RUN_SUITE") || getenv("EVERY_SUITE");
    int own = -1;

    (void)every; /* if there are rows alone */
    SUITES(ADD_SUITE, ADD_ONCE)
    FILE *held = srunner_fork_status(runner) == CK_FORK ? hold_back(&own) : NULL;
    srunner_run_all(runner, CK_ENV);
    const int more = files_here() - before;
    const bool passed =
        srunner_ntests_run(runner) > 0 && srunner_ntests_failed(runner) == 0 && more <= 0;
    let_go(held, own, !passed);
    if (more > 0)
        fprintf(stderr, "tests have left %d file%s in the current folder\n", more,
                more > 1 ? "s" : "");
    srunner_free(runner);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
