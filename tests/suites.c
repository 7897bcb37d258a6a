#include "tests/suites.h"

#include <stddef.h>

Suite *(*const suites[])(void) = {
    suite_base,    suite_ops,  suite_attention, suite_safetensors,
    suite_stories, suite_plot, suite_options,   NULL,
};
