/*
 * The shape of a model: what a configuration file, a checkpoint and the options of
 * ./train say about it. model/config_size.h has what follows from it.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "ops/attention.h"

typedef enum { POSITION_ROPE, POSITION_LEARNED, POSITION_SINUSOIDAL, POSITION_NONE } Position;
typedef enum { FFN_GELU, FFN_SWIGLU } Ffn;
typedef enum { NORM_RMS, NORM_LAYER } NormKind;

/*
 * What a model predicts, and from what: each token from those before it; the masked
 * tokens from all others; or one class for a whole sequence.
 */
typedef enum { TASK_CAUSAL, TASK_MLM, TASK_CLASSIFY } Task;

/* The names of the values above, in their order, ended by NULL. */
extern const char *const position_names[], *const ffn_names[], *const norm_names[];
extern const char *const task_names[];

typedef struct {
    const Attention *attention;
    int vocab, layers, heads, width, context;
    int position, ffn, norm, task; /* of the enums above */
    int tied;                      /* the head is the embedding table */
    int bias;                      /* of the dense layers */
    int classes;                   /* TASK_CLASSIFY: the number of them */
    Values set;
    RopeScale rope_scale;
    double dropout;
} Config;

/*
 * All that makes it this model, beside the attention's name: its own numbers and
 * choices, then every setting; NULL past the end. The i-th value of a configuration.
 */
const Setting *config_key(int i);
int *config_value(Config *c, int i);

/* Whether the i-th key means something: settings of other mechanisms do not. */
bool config_has(const Config *c, int i);

/* Whether a configuration without the i-th key is incomplete: a number that must not be 0. */
bool config_needs(int i);

/* "n_layer is 4, not 6": the first thing in which two configurations differ, or empty. */
Text config_difference(const Config *one, const Config *other);

#endif
