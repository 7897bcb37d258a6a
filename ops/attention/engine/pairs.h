/*
 * The engine for mechanisms that weight pairs (tiles.h): a mechanism provides only the
 * weighting, and tau_i and c_i of a row that sees n keys.
 */
#ifndef OPS_ATTENTION_ENGINE_PAIRS_H
#define OPS_ATTENTION_ENGINE_PAIRS_H

#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/settings.h"
#include "ops/attention/engine/tiles.h"

/* n0 is the value of the setting PairsRule.n0. */
typedef real Tau(int n0, int D, int n);
typedef struct {
    const Weighting *weighting;
    Tau *tau;
    real (*divisor)(int n0, int n); /* NULL if the weighting averages */
    bool forgets;                   /* scores fade: forget.h; causal only */
    bool sinks; /* the null key's score is that of the operand `sink`, a number per head */
} Tiling;

/* Attention.rule: a tiling per value of the setting `by`, or one; names of other settings. */
typedef struct {
    const Tiling *tiling;
    const char *by;  /* NULL: there is one */
    Tau *const *tau; /* a tau per value of the setting `scale`; NULL: those of the tilings */
    const char *scale;
    const char *n0;    /* the length n0 of tau and the divisor; NULL: neither has one */
    const char *chunk; /* the chunk whose keys a row sees; NULL: all keys */
} PairsRule;

extern const Engine engine_pairs;

/* Its parts, for a mechanism that adds to it. */
Tensor *pairs_mix(Tape *tape, const Mix *in);
void pairs_step(const Step *s);
size_t pairs_state(const MixSize *size);
double pairs_cost(const MixSize *size);
MixMemory pairs_memory(const MixSize *size);
bool pairs_sums(Tape *tape, const Mix *in, double *c); /* scores.c */

/* The rows and keys of a tile; the parts that a head is cut into, if rows see few keys or many. */
int pairs_tile(int T);
int pairs_parts(const View *v, int T, int H);

/*
 * The tiling that these settings select; and the state of a row before its first key, where `null`
 * is the score of the null key, if there is one.
 */
Tiling pairs_tiling(const Attention *a, const Values *set);
RowState pairs_start(const Weighting *w, real divisor, real null);
real pairs_gain(const Tiling *how, int n0, int D, int n); /* f = sqrt(D) tau: see bias.h */
int pairs_n0(const Mix *in);
const real *pairs_sink(const Tiling *how, const Mix *in); /* the operand `sink`, or NULL */

/* V(i) in sequence b; and as far as it does not depend on the sequence. */
View pairs_view(const Mix *in, int b);
View pairs_pattern(const Attention *a, const Values *set);

/* The RoPE angles of this position, which pairs_step() stores in its state. */
const real *pairs_angles(const Step *s);

/* softmax.c: the softmax of a row, and the scales of its scores. */
extern const Weighting weighting_softmax;
Tau tau_sqrt, tau_entropy, tau_logn;

/* The same with all its settings, for mechanisms whose rows see fewer keys. */
extern const PairsRule softmax_rule;
extern const Operand softmax_operands[];
extern const char *const softmax_scales[], *const softmax_weights[];
unsigned softmax_traits(const Values *set);
#define SETTINGS_OF_SOFTMAX                                                                        \
    { .name = "scale",                                                                             \
      .kind = SETTING_CHOICE,                                                                      \
      .choices = softmax_scales,                                                                   \
      .help = "how scores scale with the number of keys" },                                        \
        { .name = "weight",                                                                        \
          .kind = SETTING_CHOICE,                                                                  \
          .choices = softmax_weights,                                                              \
          .quiet = true,                                                                           \
          .help = "the weight of a key as a function of its score" },                              \
        SETTING_BASE
enum { FORGETTING_TRAITS = CAUSAL_ONLY | AVERAGES | QUOTIENT | SMOOTH | BY_DISTANCE };
#define OPERAND_FORGETTING(setting)                                                                \
    {                                                                                              \
        .name = "g", .shape = "BNH", .help = "logarithm of the decay, at most 0", .with = setting, \
        .is = "forgetting", .decay = true, .from = &decay_projection                               \
    }
#define OPERAND_SINK(setting)                                                                      \
    {                                                                                              \
        .name = "sink", .shape = "H", .help = "score of a key with the value 0", .with = setting,  \
        .is = "sink"                                                                               \
    }
#define SETTING_REACH                                                                              \
    {                                                                                              \
        .name = "reach", .most = 1 << 24, .least = 1, .zero = 64, .tries = { 2, 5, 30 },           \
        .pattern = true,                                                                           \
        .help = "attend to keys at most N positions away, besides those of the pattern; sparse: "  \
                "and to every Nth key (0: 64)"                                                     \
    }
#define SETTING_GLOBAL                                                                             \
    {                                                                                              \
        .name = "global", .value = 1, .most = 1 << 24, .tries = { 3, 2, 20 }, .pattern = true,     \
        .help = "the first N positions attend to all, and all attend to them"                      \
    }
#define SETTING_BLOCK                                                                              \
    {                                                                                              \
        .name = "block", .most = 1 << 24, .least = 1, .zero = 64, .tries = { 2, 3, 16 },           \
        .pattern = true, .help = "positions per block (0: 64)"                                     \
    }

/* gau.c: max(s, 0)^2 divided by c_i. And weights.c: other weights; c_i of n keys. */
extern const Weighting weighting_square;
extern const Weighting weighting_sigmoid, weighting_relu, weighting_laplace;
real by_n(int n0, int n);
real by_one(int n0, int n);

/* The rest is for pairs.c and pairs_back.c alone. */

typedef struct {
    Node node;
    Mix in;
    Tiling how;
    int B, T, H, D, E, parts, tile;
    const real *angles, *tau, *divisor; /* for rows that see 0 .. T keys; divisor may be NULL */
    const real *gain, *turns;           /* f of bias.h, likewise, and its angles; NULL: no bias */
    real *w, *dw;                       /* (H, 2 T); (B, H, parts, 2 T) */
    int patterns;                       /* 1: all sequences have the same; or B */
    int *drawn;                         /* of View, (patterns, view_drawn()) */
    bool *met;                          /* of Tiles, (patterns, tiles, tiles) */
    RowState *row;                      /* (B, H, T) */
    const real *g;                      /* of forget.h; NULL: scores do not fade */
    const real *sink;                   /* (H): scores of the null keys; NULL: 0 */
    real *fade;                         /* (B, H, parts, ..): gradients of that */
    real *partial;                      /* dq of parts (B, H, parts, T', D') if parts > 1 */
    Grad dq, dk, dv, da, db, dg, dsink;
} Pairs;

/* A head, or a part of one: its view, and its copies in a thread's scratch memory. */
typedef struct {
    const Pairs *op;
    Head head;
    int part, length; /* T' = T rounded up to tiles */
    Tiles t;
} Work;

Work pairs_work(const Pairs *op, int number);
void pairs_backward(Node *node);

/* Multiplies copies of rows by tau_i. */
void pairs_scale(const Work *w, Rows x);

/* Gathers rows of q, rotated and scaled. */
void pairs_gather_q(const Work *w, Rows to);

/* Gathers the tile of k at to.t0, and rotates it by RoPE into its transpose kt. */
void pairs_gather_k(const Work *w, Rows to, real *kt);

/* Opens x for the head of this work; without g, the scores do not fade. */
void pairs_forget(Work *w, Forget *x, real **scratch);

/* Scratch for a head's copies: rows of D' and E', and this many tiles of each and of scores. */
void pairs_reserve(const Pairs *op, int of_d, int of_e, int tiles);

/* The rows of the tile at t0 that exist; results for rows beyond are never read. */
static inline int rows_in(const Pairs *op, int t0)
{
    return min(op->tile, op->T - t0);
}

#endif
