/*
 * The tensors of a model, by name, in order of creation. The optimizer loops over this list, and a
 * checkpoint is this list on disk.
 */
#ifndef OPS_PARAMS_H
#define OPS_PARAMS_H

#include "ops/base/random.h"
#include "ops/tape.h"

#include <stdint.h>

typedef struct Param {
    struct Param *next;
    const char *name; /* blocks.3.attn.wq */
    bool decay;       /* weight decay applies: matrices and tables, not gains and biases */
    bool matrix;      /* rows are multiplied with it, or with one for each head */
    bool fixed;       /* not trained */
    Tensor *tensor;
} Param;

typedef struct {
    Arena *mem;
    uint64_t seed;
    bool undrawn;        /* matrices have no numbers yet: they will be read */
    Precision precision; /* not float: params_narrow() was called */
    int count;
    Param *first, **end;
} Params;

void params_init(Params *params, Arena *mem, uint64_t seed);

/*
 * A new parameter: normally distributed with standard deviation `std` (the draws
 * depend on the seed and on the parameter's number). `name` is copied.
 */
Tensor *params_normal(Params *params, const char *name, double std, int ndim, const int *dim);

/* The same for rows of their own: a table of tokens, a vector for each head. */
Tensor *params_table(Params *params, const char *name, double std, int rows, int width);

/* A new vector of n times the same number: a gain, a bias. */
Tensor *params_constant(Params *params, const char *name, double value, int n);

/*
 * A tensor, trained or not, that the caller fills from `random`, which is set to a stream of its
 * own: a matrix for each head, or a vector.
 */
Tensor *params_drawn(Params *params, const char *name, Random *random, int ndim, const int *dim);
Tensor *params_fixed(Params *params, const char *name, Random *random, int ndim, const int *dim);

/*
 * Parameters whose name, or its beginning up to a dot, matches the pattern (of fnmatch()) are not
 * trained from now on; their number. Called before the optimiser is initialised.
 */
int params_freeze(Params *params, const char *pattern);

/*
 * Stores a second copy of each matrix, in bf16, for decoding: its time is that of reading the
 * weights, and products with single rows then read half as many bytes (ops/dense.c). The weights
 * must not change afterwards.
 */
void params_narrow(Params *params, Precision precision);

size_t params_count(const Params *params); /* trained numbers */
void params_zero_grad(Params *params);     /* the next contribution will be the first */

#endif
