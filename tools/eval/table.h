/* What ./eval has found, as lines on a screen, as CSV and as a chart. */
#ifndef TOOLS_EVAL_TABLE_H
#define TOOLS_EVAL_TABLE_H

#include "training/perplexity.h"

#include <stdio.h>

/* `error` is of the loss; the scores of a row are those of positions `from` to `to`. */
enum { LENGTH, STRIDE, FROM, TO, TOKENS, LOSS, ERROR, PPL, BITS, ACCURACY, NUMBERS };

/* NaN is a number that there is not. */
typedef struct {
    double number[NUMBERS];
    const char *context; /* what the length is to the model */
} Row;

typedef struct {
    const Config *config; /* as it is judged */
    const char *protocol; /* in words */
    int trained, trained_horizon;
    bool by_position;
    int n;
    Row *row;
} Table;

/* The rows of a length, one for each score; and prints them. */
void table_add(Table *t, Protocol p, const Score *score);
void table_print_header(const Table *t);

/* The same numbers to all digits; and perplexity by length, or the loss by position. */
void table_csv(FILE *out, void *table);
void table_svg(FILE *out, void *table);

#endif
