/* The results of ./eval as a printed table, as CSV and as a chart. */
#ifndef TOOLS_EVAL_TABLE_H
#define TOOLS_EVAL_TABLE_H

#include "training/perplexity.h"

#include <stdio.h>

/* `error` is of the loss; the scores of a row are those of positions `from` to `to`. */
enum { LENGTH, STRIDE, FROM, TO, TOKENS, LOSS, ERROR, PPL, BITS, ACCURACY, NUMBERS };

/* NaN: the row has no such number. */
typedef struct {
    double number[NUMBERS];
    const char *context; /* how the length relates to the trained context */
} Row;

typedef struct {
    const Config *config; /* as evaluated */
    const char *protocol; /* in words */
    int trained, trained_horizon;
    bool by_position;
    int n;
    Row *row;
} Table;

/* The rows of a length, one for each score; and prints them. */
void table_add(Table *t, Protocol p, const Score *score);
void table_print_header(const Table *t);

/* All numbers to full precision; and a chart of perplexity by length, or loss by position. */
void table_csv(FILE *out, void *table);
void table_svg(FILE *out, void *table);

#endif
