/* The table of suites. A new one is a file, a line here and a line in suites.c. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

extern Suite *(*const suites[])(void); /* ended by NULL */

Suite *suite_base(void); /* arena, pool, random numbers, tape */

#endif
