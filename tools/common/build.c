/* The Makefile defines COMMIT and FLAGS for this file alone, so that only it is compiled again. */
#include "tools/common/build.h"

#include "ops/kernel/kernel.h"
#include "tools/lib/attnc.h"

#ifndef COMMIT
#define COMMIT ""
#endif
#ifndef FLAGS
#define FLAGS "unknown"
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

const char attn_version[] = ATTNC_VERSION;

Build build_facts(void)
{
    return (Build){ .commit = *COMMIT ? COMMIT : "unknown",
                    .flags = FLAGS,
                    .compiler = text_format("%s", COMPILER),
                    .vector = VECTOR * 8 };
}

void build_print(FILE *out)
{
    const Build b = build_facts();

    fprintf(out, "attn.c %s\ncommit %s\ncompiler %s\nflags %s\nvectors of %d bits\n", attn_version,
            b.commit, b.compiler.at, b.flags, b.vector);
}
