/*
 * What follows from a configuration: whether it is consistent, the number of parameters, the cost
 * of a token, and the memory of a step.
 */
#ifndef MODEL_CONFIG_SIZE_H
#define MODEL_CONFIG_SIZE_H

#include "model/config.h"

/* What is inconsistent and how to fix it; empty if the configuration is valid. */
Text config_misfit(const Config *c);

/* Dies (EXIT_USAGE) with this message. */
void config_check(const Config *c);

/* The sizes of each mix of a layer, over the whole context. */
MixSize config_mix_size(const Config *c);

int config_hidden(const Config *c);      /* the width inside the feed-forward layer */
double config_eps(const Config *c);      /* the epsilon of the norms */
int config_mask(const Config *c);        /* TASK_MLM: the token that hides another, the last */
int config_outputs(const Config *c);     /* logits of a prediction: tokens, or classes */
int config_head_width(const Config *c);  /* of what the head multiplies */
bool config_has_towers(const Config *c); /* the two texts of a row are sequences of their own */
bool config_decodes(const Config *c);    /* whether it can continue a text, token by token */
bool config_learns_positions(const Config *c); /* no other position has the parameters it needs */
bool config_keeps_keys(const Config *c);       /* the decoding state grows beyond the context */
int config_mixes(const Config *c);             /* of all layers */
int config_additions(const Config *c);         /* to the residual stream */
bool config_feeds(const Config *c);            /* each block has a feed-forward layer */

/* The parameters in matrices that multiply a token, including the head but no embedding tables. A
 * shared matrix counts once. */
double config_matrix_parameters(const Config *c);

/* All trained parameters except vectors. */
double config_parameters(const Config *c);

/*
 * Floating point operations per token of training, forward and backward, with logits at a share
 * `asked` of the positions: those that have a target.
 */
double config_flops(const Config *c, double asked);

/* The number of parameters that are not trained. */
double config_fixed_parameters(const Config *c);

/* The rows of the largest matrix in a block; its columns are the width. */
int config_rows(const Config *c);

/* What needs memory besides the model. */
typedef struct {
    double tokens;  /* tokens of a step */
    bool recompute; /* with a recomputing tape */
    double state;   /* numbers that the optimiser keeps */
} Load;

/* The memory of training in bytes: parameters, optimiser and a step. An estimate. */
double config_memory(const Config *c, Load load);

/*
 * Dies (EXIT_MEMORY) if that is more than the machine has: overcommitted memory would only fail in
 * the middle of the run.
 */
void config_check_memory(const Config *c, Load load);

/* The same for reading this many tokens at once without learning from them. */
double config_forward_memory(const Config *c, double tokens);
void config_check_forward_memory(const Config *c, double tokens);

#endif
