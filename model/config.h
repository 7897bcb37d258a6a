/*
 * The shape of a model, and what follows from it: whether its numbers fit
 * together, how many parameters it has, what a token costs.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "ops/attention.h"
#include "ops/base/text.h"

typedef enum { POSITION_ROPE, POSITION_LEARNED, POSITION_SINUSOIDAL, POSITION_NONE } Position;
typedef enum { FFN_GELU, FFN_SWIGLU } Ffn;
typedef enum { NORM_RMS, NORM_LAYER } NormKind;

/*
 * What a model says, and of what it has seen: each token, of those before it; the masked ones, of
 * all others; or one word of a whole sequence.
 */
typedef enum { TASK_CAUSAL, TASK_MLM, TASK_CLASSIFY } Task;

/* The names of the values above, in their order, ended by NULL. */
extern const char *const position_names[], *const ffn_names[], *const norm_names[];
extern const char *const task_names[];

/* What Fastformer can have once instead of twice or more; the names are in the order of the bits.
 */
enum { SHARE_QV = 1 << 0, SHARE_LAYERS = 1 << 1, SHARE_HEADS = 1 << 2, SHARES = 3 };
extern const char *const share_names[];

typedef struct {
    const Attention *attention;
    int vocab, layers, heads, width, context;
    Position position;
    Ffn ffn;
    NormKind norm;
    bool tied; /* the head is the embedding table */
    bool bias; /* of the dense layers */
    double dropout;
    Task task;
    int classes;    /* TASK_CLASSIFY: so many words there are to say */
    Settings set;   /* `rope` is of no account: see config_mix_size() */
    int key_size;   /* of q and k of a head; 0: as wide as v, or KEY_SIZE in a gated unit */
    int features;   /* rows of omega; 0: four times as many as q and k are wide */
    bool gateless;  /* a gated unit without its gate */
    unsigned share; /* SHARE_ ... */
} Config;

enum { KEY_SIZE = 128 };

/* What does not fit together, and what would; empty if all does. */
Text config_misfit(const Config *c);

/* Dies (EXIT_USAGE) of the same. */
void config_check(const Config *c);

/* The mix of a layer (each of the two, if its frame is gated), over the whole context. */
MixSize config_mix_size(const Config *c);

int config_hidden(const Config *c);  /* the width inside the feed-forward layer */
int config_mask(const Config *c);    /* TASK_MLM: the token that hides another, the last */
int config_outputs(const Config *c); /* how many things it can say: tokens, or classes */
bool config_ends(const Config *c);   /* its positions end with the context: no token comes after */
int config_mixes(const Config *c);   /* of all layers: a gated one has two */

/* Numbers in matrices that a token is multiplied with: the head counts, a table of vectors does
 * not. One that is shared counts once. */
double config_matrix_parameters(const Config *c);

/* All numbers that are trained, but for the vectors. */
double config_parameters(const Config *c);

/* Floating point operations of training on one token, forward and backward. */
double config_flops(const Config *c);

/* Numbers that are not trained: all of Performer's omega. */
double config_fixed_parameters(const Config *c);

/* The rows of the largest matrix in a block; its columns are the width. */
int config_rows(const Config *c);

/* What takes memory, beside the model. */
typedef struct {
    double tokens;  /* of a step */
    bool recompute; /* the tape does */
    double state;   /* numbers of the optimiser's own */
} Load;

/* Bytes that training needs: parameters and optimiser, and a step. An estimate. */
double config_memory(const Config *c, Load load);

/*
 * Dies (EXIT_MEMORY) where that is more than the machine has: memory that the
 * system only promised would fail in the middle of the run.
 */
void config_check_memory(const Config *c, Load load);

/* The same for reading `tokens` at once without learning from them. */
double config_forward_memory(const Config *c, double tokens);
void config_check_forward_memory(const Config *c, double tokens);

#endif
