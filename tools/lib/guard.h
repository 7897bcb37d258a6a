/*
 * The border of the library. A function that may die() begins and ends like this; in between, die()
 * comes back to setjmp(), with what went wrong for attnc_error():
 *
 *     if (setjmp(*guard_enter()))
 *         return guard_failed();
 *     ...
 *     return guard_leave();
 */
#ifndef TOOLS_LIB_GUARD_H
#define TOOLS_LIB_GUARD_H

#include "ops/base/error.h"
#include "tools/common/options.h"

/* The public header, in the real numbers of this build. */
#include "ops/base/real.h"
#define ATTNC_REAL real
#include "tools/lib/attnc.h"

jmp_buf *guard_enter(void);
int guard_failed(void); /* the code of the failure */
int guard_leave(void);  /* ATTNC_OK */

/* Refuses a pointer that is NULL, by its name in attnc.h. */
void guard_given(const void *pointer, const char *name);

/*
 * Tables of options and the values that they fill in are static, so they are locked until the
 * caller has copied the values and calls guard_unlock(), or dies. guard_options() reads words as on
 * a command line.
 */
void guard_lock(void);
void guard_options(const Program *program, const char *words);
void guard_unlock(void);

#endif
