/*
 * Optimisers, a row each, and the norm of the gradient. A parameter that is trained
 * has the moments that its row names, arrays of its own size. These, the weights and
 * the number of updates are the whole state: a run resumes from them to the same bits.
 *
 * To add one, write training/<name>.c, with the formula at its head and the row
 * optimiser_<name> at its end, and add the name to OPTIMISERS.
 */
#ifndef TRAINING_OPTIMISER_H
#define TRAINING_OPTIMISER_H

#include "model/config_size.h"
#include "ops/params.h"

/* What the command line can set. Not every optimiser takes all of it. */
typedef struct {
    double momentum, beta1, beta2, decay; /* NaN: not set */
    bool nesterov;
    bool cautious;       /* weights that an update moves away from 0 do not decay */
    int momentum_warmup; /* updates until the momentum has its value; 0: at once */
    int ns_steps;        /* of Newton and Schulz in each update */
    double ema;          /* the decay of an average of the weights; 0: there is none */
} Hyper;

enum { OPTIMISER_MOMENTS = 3, OPTIMISER_GRAIN = 1 << 13 };

/* One update of one parameter, or of one of its matrices. */
typedef struct {
    const Tensor *t;
    size_t first; /* the matrix starts with this number of t */
    int rows, cols;
    real *moment[OPTIMISER_MOMENTS];
    double rate, scale; /* the gradient counts `scale` times */
    double decay;       /* 0: a gain or a bias */
    int step;           /* from 1 on */
    const Hyper *hyper;
    void *scratch; /* of any content */
} Update;

/* The decay of a weight w that moves against `step`. */
static inline real update_decay(const Update *u, real step, real w)
{
    return u->hyper->cautious && step * w < 0 ? 0 : R(u->decay);
}

typedef struct OptimiserKind {
    const char *name, *summary;            /* for --optimizer and --help */
    const char *moment[OPTIMISER_MOMENTS]; /* their names in a checkpoint */
    const char *square;                    /* the one that is never negative; NULL: none */
    double rate;                           /* the default --learning-rate */
    int warmup;                            /* by default at most 1 / warmup of all updates */
    Hyper defaults;                        /* a 0: it has no such number */
    bool nesterov;                         /* it takes --nesterov */
    bool momentum_warmup;                  /* and --momentum-warmup, --ns-steps */
    const struct OptimiserKind *rest;      /* if set, moves all but the matrices of the blocks */
    size_t (*scratch)(int rows, int cols); /* bytes for a matrix; NULL: none */
    PoolRoom (*room)(int rows, int cols);  /* and what the loops for it take of a pool's */
    Body *elements;                        /* moves weights begin .. end-1; ctx is the Update */
    void (*matrix)(Pool *pool, const Update *u); /* or moves a matrix */
} OptimiserKind;

#define OPTIMISERS(ROW) ROW(adamw) ROW(muon) ROW(sgd) ROW(lion)
#define OPTIMISER_DECLARE(name) extern const OptimiserKind optimiser_##name;
OPTIMISERS(OPTIMISER_DECLARE)
extern const OptimiserKind *const optimisers[]; /* ended by NULL */

/* The default of one of its numbers ("beta1"); 0: it has none of that name. */
double optimiser_default(const OptimiserKind *kind, const char *option);

/* Whether it takes an option. */
bool optimiser_takes(const OptimiserKind *kind, const char *option);

/* Numbers that are not set become the defaults; those that it does not have stay as they are. */
void optimiser_complete(const OptimiserKind *kind, Hyper *h);

/* "AdamW (...); --learning-rate 0.002 --beta1 0.9 ...": the summary and all defaults. */
Text optimiser_help(const OptimiserKind *kind);

/* The caller sets the first line before optimiser_init(). */
typedef struct {
    const OptimiserKind *kind;
    Hyper hyper;

    int step; /* updates so far */
    Params *params;
    real *state;   /* the moments, parameter by parameter */
    void *scratch; /* for a large matrix, which all threads move together */
    Update *small; /* the other matrices, each of which one thread moves, at the end of an update */
    int smalls;
    size_t small_scratch; /* the most that one of them takes, and takes of a pool */
    PoolRoom room;
} Optimiser;

void optimiser_init(Optimiser *o, Params *params, Arena *mem);

/* Numbers that it will keep for a model besides weights and gradients. An estimate. */
double optimiser_numbers(const Optimiser *o, const Config *c);

/* One update with gradients times `scale`; afterwards no parameter has a gradient. */
void optimiser_step(Optimiser *o, Pool *pool, double rate, double scale);

/*
 * With Hyper.ema: exchanges the weights and their averages. A checkpoint is written in between: its
 * tensors are the averages, and the weights are beside them as optimizer.raw.
 */
void optimiser_exchange(const Optimiser *o);

/* Whether Muon moves it: a matrix of a block, or one for each head, as Fastformer's concat (H, D,
 * 2D). */
bool optimiser_is_matrix(const Param *p);

typedef struct {
    const char *name; /* "m", "v", "momentum" */
    real *at;
    size_t n;
    bool square; /* never negative */
} Moment;

/* The moments of a parameter, and their number: 0 if it is fixed. */
int optimiser_moments(const Optimiser *o, const Param *p, Moment out[OPTIMISER_MOMENTS]);

/* In double: the square of a gradient of 1e30 overflows a float, that of 1e-30 underflows. */
double sum_of_squares(const real *x, int n);

/* The square root of that sum over all gradients. */
double gradient_norm(Pool *pool, Arena *mem, const Params *params);

#endif
