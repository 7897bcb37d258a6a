/*
 * ./analyse: what it prints.
 *
 *     RUN, TEXT -> analysis_make() -> Sheet -> tables, CSV, spectra, a chart   sheet.c, ranks.c
 *     --lengths N,... -> growth_make() -> Lengths -> tables, CSV, a chart      lengths.c
 *     --exponent N -> random matrices  ------> a table, CSV                    exponent.c
 */
#ifndef TOOLS_ANALYSE_ANALYSE_H
#define TOOLS_ANALYSE_ANALYSE_H

#include "ops/base/text.h"
#include "training/analysis.h"
#include "training/growth.h"

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

/* Of a Sheet: tables of ranks by tolerance, of heads and of activations; and these as CSV. */
void ranks_print(const Sheet *sheet);
void ranks_activations(FILE *out, void *sheet);
/* The columns of sheet_csv() with them, each after a comma. */
void ranks_csv_header(FILE *out);
void ranks_csv(FILE *out, const Findings *f);

/*
 * Of mix m, from 1. A gated layer has two units; heads of the second follow those of the first.
 * A name is "layer 1, unit 2".
 */
bool is_gated(const Config *c);
int layer_of_mix(const Config *c, int m);
int unit_of_mix(const Config *c, int m);
int head_of_mix(const Config *c, int m, int h);
Text name_of_mix(const Config *c, int m);
const char *mask_name(const Config *c, bool unmasked); /* none, causal or unmasked */

/* The same rows at several lengths. */
typedef struct {
    const char *run, *text;
    const Config *config;
    const GrowthPlan *plan;
    const Growth *found;
    int plotted; /* of lengths_plots */
} Lengths;
extern const char *const lengths_plots[];

void lengths_print(const Lengths *l);
void lengths_csv(FILE *out, void *lengths);
void lengths_svg(FILE *out, void *lengths);

/* The rank of a random matrix before and after e^ is applied to each element. */
typedef struct {
    int n, rank, draws; /* n x n, of that rank, and their number */
    uint64_t seed;
} Exponent;

/* Prints it, and to `csv_path` unless NULL. */
void exponent_print(const Exponent *e, Pool *pool, const char *csv_path);

#endif
