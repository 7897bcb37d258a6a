/*
 * Runs every suite, or CK_RUN_SUITE=name alone, which has to exist. CK_FORK=no is
 * for a debugger (both are Check's own variables).
 */
#include "tests/suites.h"

#include <stdbool.h>
#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(NULL);

    for (int i = 0; suites[i]; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    const bool passed = srunner_ntests_run(runner) > 0 && srunner_ntests_failed(runner) == 0;
    srunner_free(runner);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
