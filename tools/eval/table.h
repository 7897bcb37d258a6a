/* The results of ./eval as a printed table, as CSV and as a chart. */
#ifndef TOOLS_EVAL_TABLE_H
#define TOOLS_EVAL_TABLE_H

#include "training/tally.h"

#include <stdio.h>

/* `error` is of the loss; the scores of a row are those of positions `from` to `to`. */
enum {
    LENGTH,
    STRIDE,
    FROM,
    TO,
    TOKENS,
    ITEMS,
    ROWS,
    TARGETS,
    LOSS,
    ERROR,
    PPL,
    BITS,
    WORD_PPL,
    ACCURACY,
    ACCURACY_ERROR,
    EXACT,
    F1,
    GUESS,
    NUMBERS
};

/* NaN: the row has no such number. */
typedef struct {
    double number[NUMBERS];
    const char *context; /* how the length relates to the trained context */
} Row;

typedef struct {
    const Config *config; /* as evaluated */
    unsigned kind;        /* of what is predicted: TRAINED_ ... */
    const char *protocol; /* in words */
    const char *data;     /* "validation", "test" or "given" */
    int trained, trained_horizon;
    int step;                /* of the weights */
    bool by_position, items; /* items: rows have a number of them */
    int n;
    Row *row;
} Table;

/* The --horizon of the model, or of its part that has one. */
int table_horizon(const Config *c);

/* Add the rows of a length, one for each score, and print them. */
void table_add(Table *t, Protocol p, const Score *score);
void table_add_tally(Table *t, int length, int items, const Tally *tally);
void table_print_header(const Table *t);

/* All numbers to full precision; and a chart of perplexity or accuracy by length, or of loss by
 * position. */
void table_csv(FILE *out, void *table);
void table_svg(FILE *out, void *table);

#endif
