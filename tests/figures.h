/* Figures of the file "rows", and their tables. */
#ifndef TESTS_FIGURES_H
#define TESTS_FIGURES_H

#include "tools/figure/figure.h"

extern const Wanted wanted_all;
extern const Style plain;

Figure figure_of(const Wanted *wanted, const char *rows);
void check_printed(const Figure *f, Style style, const char *table);
void check_table(const Wanted *wanted, const char *rows, const char *table);
void check_csv(const Wanted *wanted, const char *rows, const char *csv);

#endif
