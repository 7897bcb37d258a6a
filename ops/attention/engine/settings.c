#include "ops/attention/engine/settings.h"

const char *const out_norm_names[] = { "none", "rms", "all", NULL };
const char *const qk_norm_names[] = { "none", "l2", "rms", NULL };
const char *const rel_bias_names[] = { "none", "rope", NULL };
const char *const rope_at_names[] = { "after", "before", NULL };
