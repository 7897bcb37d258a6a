#include "tests/suites.h"

#include <stddef.h>

Suite *(*const suites[])(void) = {
    suite_base,
    NULL,
};
