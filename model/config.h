/*
 * The configuration of a model, as in config.json, in checkpoints and in the options of ./train.
 * model/config_size.h derives sizes from it.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "ops/attention.h"

typedef enum { POSITION_ROPE, POSITION_LEARNED, POSITION_SINUSOIDAL, POSITION_NONE } Position;
typedef enum { FFN_GELU, FFN_SWIGLU, FFN_RELU2, FFN_NONE } Ffn;
typedef enum { NORM_RMS, NORM_LAYER } NormKind;
enum { OUT_SCALED, OUT_ZERO };

/*
 * What a model predicts: each token from those before it; the masked tokens from all others; or one
 * class for a whole sequence.
 */
typedef enum { TASK_CAUSAL, TASK_MLM, TASK_CLASSIFY } Task;

/* What a class is predicted from (model/classifier.h): of a sequence; and of two texts. */
enum { POOL_MEAN, POOL_ATTENTION, POOL_FIRST };
enum { PAIRS_JOINED, PAIRS_TOWERS };

/* The names of the values above, in order, ending with NULL. */
extern const char *const position_names[], *const ffn_names[], *const norm_names[];
extern const char *const task_names[], *const pool_names[], *const pairs_names[];
extern const char *const eps_names[]; /* of the norms */
extern const char *const out_names[]; /* how the matrices that add to the residual stream start */

/* The positions that a model with this attention has by default. */
int position_default(const Attention *a);

enum { INNER_MOST = 1 << 17, ROPE_BASE_MOST = 1 << 30, LOGIT_CAP_MOST = 1000 };

/* A mechanism with its settings. */
enum { MECHANISMS_MOST = 8 };
typedef struct {
    const Attention *attention;
    Values set;
} Mechanism;

typedef struct {
    const Attention *attention; /* of all layers; with a list, the first of it */
    int vocab, layers, heads, width, context;
    int position, ffn, norm, task; /* values of the enums above */
    int tied;                      /* the head is the embedding table */
    int bias;                      /* biases in the dense layers */
    int no_residual;               /* layers do not add their input to their output */
    int shortcut;                  /* each block's input has a learned share of the embeddings */
    int value_embedding;           /* each layer adds a learned vector of the token to v */
    int kv_heads;                  /* of k and v, each for a group of heads; 0: one for each head */
    int hidden;                    /* the width of the feed-forward layer; 0: config_hidden() */
    int rope_base;                 /* 0: 10000 */
    int logit_cap;                 /* logits are between -logit_cap and logit_cap; 0: any */
    int from_last;                 /* all predictions are made from the last position's vector */
    int eps;                       /* of the norms, by eps_names */
    int classes, pool, pairs;      /* TASK_CLASSIFY: the number of classes; of the enums above */
    Values set;
    RopeScale rope_scale;
    double dropout;
    int listed; /* layer l has list[l % listed]; 0: no list, see model/mechanisms.h */
    Mechanism list[MECHANISMS_MOST];
    int init_out;      /* by out_names; no key, as it only matters to a new model */
    double gamma_init; /* standard deviation of a new unit's gammas; 0: GAMMA; below 0: all are 1 */
} Config;
enum { GAMMA = 3 };

/*
 * The keys that define a model besides the name of its attention: its own numbers and choices, then
 * all settings of mechanisms; NULL past the end. And the i-th value of a configuration.
 */
const Setting *config_key(int i);
int *config_value(Config *c, int i);

/*
 * Whether the i-th key applies: settings of other mechanisms do not, nor of other tasks; nor do
 * settings of a list, which has its own.
 */
bool config_has(const Config *c, int i);

/* Whether the i-th key is required: a number that must not be 0. */
bool config_needs(int i);

#endif
