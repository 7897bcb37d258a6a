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
    const char *run, *text; /* as they were named */
    const Config *config;
    const Study *study;
    const Analysis *found;
} Sheet;

void sheet_print(const Sheet *sheet);

/* All digits, and how they were found, of a Sheet; its spectra; and a chart of them. */
void sheet_csv(FILE *out, void *sheet);
void sheet_spectra(FILE *out, void *sheet);
void sheet_svg(FILE *out, void *sheet);

/* What e^ of each number does to the rank of a random matrix. */
typedef struct {
    int n, rank, draws; /* n x n, and so many of them */
    uint64_t seed;
} Exponent;

/* Prints it; `csv_path` NULL: nowhere else. */
void exponent_print(const Exponent *e, Pool *pool, const char *csv_path);

#endif
