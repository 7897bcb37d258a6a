/*
 * Attention, many ways. All mechanisms use the same words: q, k (B, T, H, D) and
 * v (B, T, H, E) go in, o (B, T, H, E) comes out; position i sees the keys V(i): all
 * of its sequence, or those up to i when causal, never one at or past the sequence's
 * own length, and with a window none further away than that. A position that sees no
 * key gives zeros and passes no gradient.
 *
 * A mechanism is a row of the table: its name, what it can do, its operands beside
 * q, k and v, its settings, the layer that goes around it, and the engine that
 * computes it. Everything else (options, files, tests, benchmarks) loops over rows.
 *
 * To add one: write ops/attention/<name>.c with its derivation on top and its row at
 * the end, write its plain twin from the paper, ops/attention/plain/<name>.c, and add
 * its name to ATTENTIONS below.
 */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "ops/base/random.h"
#include "ops/rope.h"
#include "ops/setting.h"

/* Every mechanism, in the order of --help. */
#define ATTENTIONS(ROW)                                                                            \
    ROW(softmax)                                                                                   \
    ROW(relu)                                                                                      \
    ROW(elu)                                                                                       \
    ROW(exp)                                                                                       \
    ROW(cosformer)                                                                                 \
    ROW(performer)                                                                                 \
    ROW(efficient)                                                                                 \
    ROW(identity)                                                                                  \
    ROW(leaky)                                                                                     \
    ROW(retnet)                                                                                    \
    ROW(fastformer)                                                                                \
    ROW(gau)                                                                                       \
    ROW(flash_gau)

/*
 * A tensor that a mechanism takes. Its shape is a letter for each dimension: B, N
 * (positions), H, d (of q and k), e (of v), m (its own, such as the number of random
 * features), and D for 2d.
 */
typedef struct {
    const char *name, *shape, *help;
    void (*draw)(Tensor *x,
                 Random random); /* fixed: drawn once, no gradient; NULL: it is learned */
    const char *with, *is;       /* it is there only if this setting is that choice; NULL: always */
    bool own_row;                /* only row i reads its position i, as it is with q in A */
} Operand;

/* The value of every setting there is, whichever mechanism takes it, in the order of settings_at().
 */
enum { SETTINGS_MAX = 32 };
typedef struct {
    int at[SETTINGS_MAX];
} Values;

/* q, k and v, and the others in the order of the row. */
enum { OPERANDS_MAX = 8 };
typedef struct {
    const struct Attention *attention;
    union {
        struct {
            Tensor *q, *k, *v;
        };
        Tensor *x[OPERANDS_MAX]; /* NULL where the mechanism, set like this, takes none */
    };
    bool causal;
    const int *length; /* (B): keys from here on are padding; NULL: there is none */
    bool rope;         /* positions by RoPE: of q and k, or of features, in the numerator only */
    RopeScale rope_scale;
    Values set;
} Mix;

/* The size of a mix, without its numbers: what its cost and memory depend on. */
typedef struct {
    const struct Attention *attention;
    int T, H, D, E;
    int m; /* of the shapes of operands; 0: no operand has it */
    bool causal, rope;
    Values set;
} MixSize;

/*
 * One position of one sequence, decoded: q, k, v and others with positions have the
 * shape (1, 1, H, D or E), all of position t, and o (H, E) is to be what row t of the
 * causal mix would be. The state has been zeros before position 0.
 */
typedef struct {
    Tape *tape;
    const Mix *in;
    int t;
    bool padding; /* the key of this position is not to be seen, now or later */
    real *state, *o;
} Step;

/* Numbers per token: that a mix keeps beside its operands and o, and that its backward pass takes.
 */
typedef struct {
    double kept, back;
} MixMemory;

/* How a family of mechanisms is computed. */
typedef struct {
    Tensor *(*mix)(Tape *tape, const Mix *in);
    void (*step)(const Step *s);              /* NULL: it cannot decode */
    size_t (*state)(const MixSize *size);     /* numbers in the state of steps 0 .. T-1 */
    double (*cost)(const MixSize *size);      /* multiply-adds per token, of all heads */
    MixMemory (*memory)(const MixSize *size); /* NULL: none */
    int (*rotated)(const MixSize *size);      /* the width that RoPE rotates; NULL: D */
    int (*rank)(const MixSize *size);         /* of A at most, without a mask; NULL: any */
} Engine;

/* What a mechanism can do, and what its weights are like. */
enum {
    CAUSAL_ONLY = 1 << 0,
    BIDIRECTIONAL_ONLY = 1 << 1,
    CAN_ROPE = 1 << 2,
    HAS_MATRIX = 1 << 3,  /* o_i is a sum of A_ij v_j, where v is not in A */
    HAS_SCORES = 1 << 4,  /* A_ij is a function of the scores of row i: attention_scores() */
    IS_LINEAR = 1 << 5,   /* in time and memory, when there is no window */
    V_AS_WIDE = 1 << 6,   /* as q and k: E is D */
    BLOCKED = 1 << 7,     /* not shift-invariant: blocks begin at multiples of a number */
    BY_DISTANCE = 1 << 8, /* weights depend on i - j, even without RoPE */
    /* For tests, which choose operands by these and ask only what can be promised: */
    AVERAGES = 1 << 10,     /* rows of a softmax: positive, their sum is 1, nothing overflows */
    QUOTIENT = 1 << 11,     /* weights are divided by their own sum */
    SQUARED = 1 << 12,      /* scores are squared where they are positive */
    SMOOTH = 1 << 13,       /* no kinks, and no denominator near 0 for any q and k */
    KINKED = 1 << 14,       /* the derivative jumps where an entry of q or k is 0 */
    RECTIFIED = 1 << 15,    /* features are 0 where an entry is negative */
    SIGNED = 1 << 16,       /* weights may be negative, and denominators near 0 */
    NORMALISES_Q = 1 << 17, /* the same number added to all of q_i changes nothing */
    EXACT_TO_60 = 1 << 18,  /* for entries of q and k up to 60 on either side of 0 */
};

struct PlainHead;

typedef struct Attention {
    const char *name;    /* what --attn takes */
    const char *alias;   /* an older name, or NULL */
    const char *summary; /* one line for --help */
    const char *layer;   /* the layer around it: model/layers.h; NULL: heads side by side */
    unsigned traits;
    unsigned (*more_traits)(const Values *set); /* that depend on settings; NULL: none do */
    const Operand *operands;                    /* beside q, k and v, ended by zeros; NULL: none */
    const Setting *settings;                    /* ended by zeros; NULL: none */
    const Engine *engine;
    const void *rule;                         /* what the engine has to know: a FeatureMap, ... */
    void (*plain)(const struct PlainHead *x); /* the same as a textbook has it: plain/plain.h */
} Attention;

/* A mix; on a tape that decodes, of the position at hand (ops/tape.h). */
Tensor *attention_mix(Tape *tape, const Mix *in);

/*
 * A (B, H, T, T), the matrices of a mechanism that has them: A_ij is what o_i takes of
 * v_j. The numbers of in->v do not matter. Resets the tape, which must be forward only,
 * so the operands may not be on it.
 */
void attention_matrix(Tape *tape, const Mix *in, real *A);

/* S (B, H, T, T), the scores q_i . k_j / sqrt(D) of all pairs, seen or not. Resets the tape. */
void attention_scores(Tape *tape, const Mix *in, double *S);

double attention_cost(const MixSize *size);
MixMemory attention_memory(const MixSize *size);
size_t attention_state(const MixSize *size);
MixSize mix_size(const Mix *in);

unsigned attention_traits(const Attention *a, const Values *set);
bool attention_decodes(const Attention *a);

/* Why the mechanism cannot be causal, or bidirectional: "is causal only"; NULL: it can. */
const char *attention_refuses(const Attention *a, bool causal);

/* Its operands: q, k, v, then those of the row; NULL past the end. Which of them a setting calls
 * for. */
const Operand *attention_operand(const Attention *a, int i);
bool attention_needs(const Attention *a, const Values *set, int i);

/* The tensor of that name, which must be an operand of the mechanism. */
Tensor *mix_tensor(const Mix *in, const char *name);

/* The width that RoPE rotates: pairs of numbers, so it has to be even. */
int attention_rotated(const MixSize *size);

/* What a letter of a shape stands for, but B and N; numbers in an operand that all sequences share.
 */
int operand_dimension(const MixSize *size, char letter);
double operand_numbers(const MixSize *size, const Operand *o);

/* All settings of all mechanisms, each once; NULL past the end. */
const Setting *settings_at(int i);

/* The row's own entry of that name; NULL: the mechanism does not take it. */
const Setting *attention_takes(const Attention *a, const char *setting);

/* Whether the setting has any effect, with the others as they are. */
bool setting_matters(const Attention *a, const Values *set, const Setting *s);

/* The defaults of a mechanism; what it does not take has the default of one that does. */
Values settings_default(const Attention *a);

/* Lengths that follow the context where they are 0, or at least reach it. */
void settings_fit_context(Values *values, const Attention *a, SettingLength which, int context);

/* A setting's place in the values, and its value; a name that no mechanism has is a BUG. */
int *setting_at(Values *values, const char *name);
int setting(const Values *values, const char *name);
int setting_or_zero(const Values *values, const char *name); /* with 0 read as what it stands for */

/* Whether a choice is that one, or a set has it. */
bool setting_is(const Values *values, const char *name, const char *choice);

/* Settings that several mechanisms share. */
#define SETTING_WINDOW                                                                             \
    {                                                                                              \
        .name = "window", .most = 1 << 24, .tries = { 2, 5, 70 },                                  \
        .help = "attend only to keys at most N positions away (0: all)"                            \
    }
#define SETTING_BASE                                                                               \
    {                                                                                              \
        .name = "base", .most = 1 << 24, .least = 2, .zero = 512, .length = CONTEXT_IF_ZERO,       \
        .with = (const char *const[]){ "entropy", "logn", "fixed", NULL }, .tries = { 5, 20 },     \
        .help = "the length n0 of entropy, logn and fixed (0: the default)"                        \
    }
#define SETTING_KEY_SIZE                                                                           \
    {                                                                                              \
        .name = "key-size", .most = 1 << 14, .layer = true, .size = 'd',                           \
        .help = "numbers in q and k of a head (0: as many as in v, or 128 in a gated unit)"        \
    }
extern const char *const out_norm_names[];
#define SETTING_OUT_NORM(by_default)                                                               \
    {                                                                                              \
        .name = "out-norm", .kind = SETTING_CHOICE, .value = by_default,                           \
        .choices = out_norm_names, .layer = true,                                                  \
        .help = "norm of each head's output, without a gain"                                       \
    }
#define SETTING_OUT_GATE(by_default)                                                               \
    {                                                                                              \
        .name = "out-gate", .kind = SETTING_FLAG, .value = by_default, .layer = true,              \
        .help = "multiply the heads' outputs by silu(x W), W learned"                              \
    }
#define SETTINGS_OF_HEADS SETTING_KEY_SIZE, SETTING_OUT_NORM(0), SETTING_OUT_GATE(0)
#define SETTING_GATE                                                                               \
    {                                                                                              \
        .name = "gate", .kind = SETTING_FLAG, .value = 1, .layer = true,                           \
        .help = "the gate of the unit"                                                             \
    }

/* All rows, ended by NULL; the one of that name or alias, or NULL. */
extern const Attention *const attentions[];
const Attention *attention_find(const char *name);

#define DECLARE_ATTENTION(name)                                                                    \
    extern const Attention attention_##name;                                                       \
    void plain_##name(const struct PlainHead *x);
ATTENTIONS(DECLARE_ATTENTION)

#endif
