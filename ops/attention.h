/*
 * Attention, many ways. What all of them compute is spelt with the same words:
 * q, k (B, T, H, D) and v (B, T, H, E) in, o (B, T, H, E) out; position i sees
 * the keys V(i): all of its sequence, or those up to itself when causal, never
 * one at or past the sequence's own length, and with a window none further away
 * than that. A position that sees no key gives zeros and passes no gradient.
 *
 * To add one: write ops/attention/<name>.c with its derivation on top, declare
 * its row below, put it in the table in attention.c, and put the paper's formula
 * in tests/naive.c. The tests run on every row; one without a formula fails.
 */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "ops/attention/engine/rope.h"

typedef enum { SCALE_SQRT, SCALE_ENTROPY, SCALE_LOGN } Scale;
typedef enum { GAU_N, GAU_FIXED, GAU_N2, GAU_SUM, GAU_SOFTMAX, GAU_ENTROPY, GAU_LOGN } GauNorm;
typedef enum { INTERACTION_MUL, INTERACTION_ADD, INTERACTION_CONCAT } Interaction;

/* The names of the values above, in their order, ended by NULL. */
extern const char *const scale_names[], *const gau_norm_names[], *const interaction_names[];

/* What a mechanism can be told. All zeros is what it does when it is told nothing. */
typedef struct {
    Scale scale;
    GauNorm norm;
    Interaction interaction;
    int base;    /* n0 of the scales entropy and logn and of the norm fixed; 0: BASE */
    int window;  /* keys with |i - j| <= window; 0: no window */
    int horizon; /* cosformer: M = max(T, horizon) */
    int chunk;   /* flash; 0: CHUNK */
    bool rope;   /* positions by RoPE: of q and k, or of features, in the numerator only */
    RopeScale rope_scale;
} Settings;

enum { BASE = 512, CHUNK = 256 };

/* The settings that mean something to a mechanism; and those that are about its layer. */
enum {
    TAKES_SCALE = 1 << 0,
    TAKES_NORM = 1 << 1,
    TAKES_INTERACTION = 1 << 2,
    TAKES_BASE = 1 << 3,
    TAKES_WINDOW = 1 << 4,
    TAKES_HORIZON = 1 << 5,
    TAKES_CHUNK = 1 << 6,
    TAKES_ROPE = 1 << 7,
    TAKES_FEATURES = 1 << 8, /* as many rows of omega as one likes */
    TAKES_KEY_SIZE = 1 << 9, /* D need not be E */
    TAKES_SHARE = 1 << 10,   /* weights in two places at once */
    TAKES_GATE = 1 << 11,    /* there is one, to do without */
};

typedef struct {
    Tensor *q, *k, *v;
    Tensor *omega;           /* performer: (H, F, D), directions; fixed, so it gets no gradient */
    Tensor *pool_q, *pool_k; /* fastformer: (H, D) */
    Tensor *concat;          /* fastformer with INTERACTION_CONCAT: (H, D, 2D) */
    Tensor *ql, *kl;         /* flash: (B, T, H, D), the linear q and k */
    bool causal;
    const int *length; /* (B): keys from here on are padding; NULL: there is none */
    Settings set;
} Mix;

/* The tensors of a Mix by number, so that a loop can name them all. */
typedef enum {
    MIX_Q,
    MIX_K,
    MIX_V,
    MIX_OMEGA,
    MIX_POOL_Q,
    MIX_POOL_K,
    MIX_CONCAT,
    MIX_QL,
    MIX_KL,
    MIX_OPERANDS
} MixOperand;
extern const char *const mix_operand_names[]; /* "q", "k", ... ended by NULL */
Tensor **mix_operand(Mix *in, MixOperand operand);

/* How large a mix is, without its numbers: what cost and memory depend on. */
typedef struct {
    int T, H, D, E;
    int features; /* rows of omega */
    bool causal;
    Settings set;
} MixSize;

/*
 * One position of one sequence, decoded: `in` has the settings, the parameters,
 * and q, k, v (ql, kl) of shape (1, 1, H, D or E), all of position t; o (H, E) is
 * what row t of the causal mix would be. `state` has been zeros before position
 * 0; it remembers the positions before. Linear attention takes NULL for o: the
 * key is remembered, and nothing is asked.
 */
typedef struct {
    const Mix *in;
    int t;
    bool padding; /* this position's key is not to be seen, now or later */
    real *state, *o;
} Step;

/* Numbers of a token: that a mix keeps beside its operands and o, and takes on the way back. */
typedef struct {
    double kept, back;
} MixMemory;

/* The layer that goes around a mix: heads of q, k, v; Fastformer's; the gated unit. */
typedef enum { FRAME_HEADS, FRAME_POOLED, FRAME_GATED } Frame;

typedef struct {
    const char *name;    /* what --attn takes */
    const char *summary; /* one line for --help */
    Frame frame;
    unsigned takes;               /* settings: TAKES_ ... */
    unsigned needs;               /* operands beside q, k, v: 1 << MIX_OMEGA ...; see mix_needs() */
    bool matrix;                  /* o_i is a sum of A_ij v_j, where v is not in A */
    bool scores;                  /* A_ij is made of those of row i: attention_scores() */
    bool linear;                  /* in time and memory, when there is no window */
    const struct FeatureMap *map; /* linear.h: it is all there is to say; or else */
    Tensor *(*mix)(Tape *tape, Mix in);
    double (*cost)(MixSize size);
    MixMemory (*memory)(MixSize size); /* NULL: none */
    size_t (*state)(MixSize size);
    void (*step)(Step s);
} Attention;

Tensor *attention_mix(const Attention *a, Tape *tape, Mix in);

/*
 * A (B, H, T, T), the matrices of a mechanism that has them: A_ij is what o_i
 * makes of v_j. The numbers of in.v do not matter. Resets the tape, which must be
 * forward only, so the operands may not lie on it.
 */
void attention_matrix(const Attention *a, Tape *tape, Mix in, real *A);

/* S (B, H, T, T), the scores q_i . k_j / sqrt(D) of all pairs, seen or not. Resets the tape. */
void attention_scores(Tape *tape, Mix in, double *S);

/* Multiply-adds that the mix needs for a token, of all heads: what FLOPs count. */
double attention_cost(const Attention *a, MixSize size);

MixMemory attention_memory(const Attention *a, MixSize size);

/* Numbers in the state of a step, which can go to position size.T - 1. */
size_t attention_state(const Attention *a, MixSize size);
void attention_step(const Attention *a, Step s);

/* Whether the mechanism, set like this, has that operand. */
bool mix_needs(const Attention *a, Settings set, MixOperand operand);

/* All rows, ended by NULL, and the one of that name, or NULL. */
extern const Attention *const attentions[];
const Attention *attention_find(const char *name);

extern const Attention attention_softmax, attention_gau, attention_relu, attention_elu,
    attention_exp, attention_cosformer, attention_performer, attention_efficient,
    attention_identity, attention_leaky, attention_fastformer, attention_flash;

#endif
