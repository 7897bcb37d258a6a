/*
 * What follows from a configuration: whether its numbers fit together, how many
 * parameters the model has, what a token costs and what a step takes in memory.
 */
#ifndef MODEL_CONFIG_SIZE_H
#define MODEL_CONFIG_SIZE_H

#include "model/config.h"

/* What does not fit together, and what would; empty if all does. */
Text config_misfit(const Config *c);

/* Dies (EXIT_USAGE) of the same. */
void config_check(const Config *c);

/* The mix of a layer (each of them, if it has two), over the whole context. */
MixSize config_mix_size(const Config *c);

int config_hidden(const Config *c);      /* the width inside the feed-forward layer */
int config_mask(const Config *c);        /* TASK_MLM: the token that hides another, the last */
int config_outputs(const Config *c);     /* logits of a prediction: tokens, or classes */
bool config_decodes(const Config *c);    /* whether it can continue a text, token by token */
bool config_ends(const Config *c);       /* positions end with the context: no token comes after */
bool config_keeps_keys(const Config *c); /* decoding keeps more for each token beyond the context */
int config_mixes(const Config *c);       /* of all layers */

/* Numbers in the matrices that a token is multiplied with, the head among them; a table of vectors
 * does not count. A shared matrix counts once. */
double config_matrix_parameters(const Config *c);

/* All numbers that are trained, except for vectors. */
double config_parameters(const Config *c);

/* Floating point operations of training on one token, forward and backward. */
double config_flops(const Config *c);

/* Numbers that are not trained. */
double config_fixed_parameters(const Config *c);

/* The rows of the largest matrix in a block; its columns are the width. */
int config_rows(const Config *c);

/* What takes memory beside the model. */
typedef struct {
    double tokens;  /* of a step */
    bool recompute; /* the tape does */
    double state;   /* numbers of the optimiser's own */
} Load;

/* Bytes that training needs: parameters, optimiser and a step. An estimate. */
double config_memory(const Config *c, Load load);

/*
 * Dies (EXIT_MEMORY) where that is more than the machine has: memory that the system
 * has only promised would fail in the middle of the run.
 */
void config_check_memory(const Config *c, Load load);

/* The same for reading this many tokens at once without learning from them. */
double config_forward_memory(const Config *c, double tokens);
void config_check_forward_memory(const Config *c, double tokens);

#endif
