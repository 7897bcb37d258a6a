/*
 * ./analyse: what it prints.
 *
 *     RUN, TEXT -> analysis_make() -> Sheet -> tables, CSV, spectra, a chart   analyse_sheet.c
 *     --exponent N -> random matrices  ------> a table, CSV                    analyse_exponent.c
 */
#ifndef TOOLS_ANALYSE_ANALYSE_H
#define TOOLS_ANALYSE_ANALYSE_H

#include "training/analysis.h"

#include <stdint.h>
#include <stdio.h>

typedef struct {
    const char *run, *text; /* their names */
    const Config *config;
    const Study *study;
    const Analysis *found;
} Sheet;

void sheet_print(const Sheet *sheet);

/* Prints of a Sheet: its tables to full precision; its spectra; and a chart of these. */
void sheet_csv(FILE *out, void *sheet);
void sheet_spectra(FILE *out, void *sheet);
void sheet_svg(FILE *out, void *sheet);

/* The rank of a random matrix before and after e^ is applied to each element. */
typedef struct {
    int n, rank, draws; /* n x n, of that rank, and their number */
    uint64_t seed;
} Exponent;

/* Prints it, and to `csv_path` unless NULL. */
void exponent_print(const Exponent *e, Pool *pool, const char *csv_path);

#endif
