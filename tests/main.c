/*
 * Runs every suite. CK_RUN_SUITE=name runs one, CK_FORK=no lets a debugger see
 * (both are Check's own).
 */
#include "tests/suites.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(NULL);

    for (int i = 0; suites[i]; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
