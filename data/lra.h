/*
 * ListOps of the Long Range Arena (arXiv:2011.04006) from its own files: the
 * folder listops-1000 of its release, or the folder around that, with
 *
 *     basic_train.tsv, basic_val.tsv, basic_test.tsv:
 *     Source\tTarget
 *     ( ( ( [MAX 2 ) 9 ) ] )\t9
 *     ...
 *
 * Rows become the tokens of its own reader, numbered as those of the task listops
 * (data/synthetic/listops.h): parentheses are dropped, "]" is X, and the rest is
 * split at blanks.
 */
#ifndef DATA_LRA_H
#define DATA_LRA_H

#include "data/corpus.h"
#include "ops/base/batch.h"

/* Row i is byte[start[i]], its class, and its tokens, up to byte[start[i + 1]]. */
typedef struct {
    size_t rows, *start;
    unsigned char *byte;
} LraRows;

typedef struct {
    LraRows train, validation, test;
    CorpusFile *file; /* what was read */
    int files;
} Lra;

/* Dies with EXIT_IO if a file is missing, and with EXIT_DATA and the line's number if a line is
 * not valid. */
Lra lra_read(const char *folder);
void lra_free(Lra *lra);

/* How many rows have more than T tokens. */
size_t lra_longer(const LraRows *rows, int T);

/* Puts row i into a batch of one sequence: as many of its tokens as there are positions, padding
 * after them, and its class as the first target. Returns the number of tokens without padding. */
int lra_row(const LraRows *rows, size_t i, Batch row);

#endif
