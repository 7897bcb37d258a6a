/* The layers around a mix a second time, from the papers, in double: what model/ is compared with.
 */
#ifndef TESTS_PAPERS_H
#define TESTS_PAPERS_H

#include "model/layers.h"
#include "tests/small.h"

/* A layer of a small model, of B sequences of T positions. */
enum { B = 2, T = 5, ROWS = B * T };

typedef struct {
    Arena *mem;
    Tape *tape;
    const Config *c;
    const Block *block, *first; /* the one that is run, and block 0 */
    const int *id;              /* the tokens, (B, T) */
} Paper;

/* Its output for x (ROWS, width). */
double *paper_layer(const Paper *p, const double *x);

/* The input of the head if predictions are made from the last of the rows h (ROWS, width) of each
 * sequence, by that block; its feed-forward layer has gelu. */
double *paper_from_last(const Paper *p, const Block *last, const double *h);

#endif
