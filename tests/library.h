/* Calls of the library that succeed, or fail with certain words. */
#ifndef TESTS_LIBRARY_H
#define TESTS_LIBRARY_H

#include "tests/tests.h"
#include "tools/lib/guard.h"

#include <string.h>

static inline void *must(void *object)
{
    ck_assert_msg(object != NULL, "%s", attnc_error());
    return object;
}

static inline void must_work(int code)
{
    ck_assert_msg(code == ATTNC_OK, "%d: %s", code, attnc_error());
}

static inline void must_fail(int code, int wanted, const char *words)
{
    ck_assert_int_eq(code, wanted);
    ck_assert_msg(strstr(attnc_error(), words) != NULL, "%s", attnc_error());
}

static inline void must_not(const void *object, const char *words)
{
    ck_assert_ptr_null(object);
    ck_assert_msg(strstr(attnc_error(), words) != NULL, "%s", attnc_error());
}

#endif
