/*
 * Labelled texts as tokens, in rows for a model:
 *
 *     a b c . .          one text; the dots are padding
 *     a b c 0 d e . .    a pair in one sequence: 0 is the token of byte 0, which no text has
 *     a b c . d e . .    a pair in two sequences, half of the row each
 *
 * What does not fit is cut off the end; of a joined pair, first off the longer text.
 */
#ifndef DATA_LABEL_ROWS_H
#define DATA_LABEL_ROWS_H

#include "data/labels.h"
#include "data/tokenizer.h"
#include "ops/base/batch.h"

enum { LABEL_PADDING = 0 };

/* Text j of row i is token[start[i * texts + j]], up to where the next text starts. */
typedef struct {
    size_t rows, *start;
    int texts, *label; /* -1: none */
    Token *token, separator;
} LabelRows;

LabelRows label_rows(const LabelledTexts *texts, const Labels *labels, const Tokenizer *tokenizer);
void label_rows_free(LabelRows *rows);

/* All texts, a line each, for a tokenizer to learn from; `at` is for free(). */
Bytes label_rows_text(const LabelledTexts *texts);

/* Puts row i into a batch of one row, with its lengths and its target. */
void label_rows_put(const LabelRows *rows, size_t i, Batch row);

/* How many rows are cut to fit into T positions, or two times T / 2 if they are `paired`. */
size_t label_rows_cut(const LabelRows *rows, int T, bool paired);

#endif
