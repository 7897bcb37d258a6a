/* How the programs were built. */
#ifndef TOOLS_COMMON_BUILD_H
#define TOOLS_COMMON_BUILD_H

#include "ops/base/text.h"

extern const char attn_version[];

typedef struct {
    const char *commit; /* "3997c30f1e2a", with "-dirty" if files had changed; or "unknown" */
    const char *flags;  /* of the compiler */
    Text compiler;
    int vector; /* bits */
} Build;
Build build_facts(void);

/* What --version prints. */
void build_print(FILE *out);

#endif
