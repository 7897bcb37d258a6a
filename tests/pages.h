/* The page of ./report, and what is looked for in it. */
#ifndef TESTS_PAGES_H
#define TESTS_PAGES_H

#include "tests/folder.h"
#include "tools/report/report.h"

#include <check.h>
#include <string.h>

/* The page of n runs, which is well-formed, for free(); `text`: what maps are drawn of, or NULL. */
char *page_of(Record **record, int n, const char *text);

/* Of the run in the test's folder. */
Record *record_here(void);
char *page_here(const char *text);

/* Fails unless the path is not a run's folder, for a reason with these words. */
void check_no_run(const char *path, const char *words);

/* Whether a note of the record has these words. */
bool noted(const Record *r, const char *words);

#define check_says(page, words) ck_assert_msg(strstr(page, words) != NULL, "no '%s'", words)

#endif
