/*
 * Every attention mechanism behind one interface: q, k (B, T, H, D) and v (B, T, H, E) go in, o (B,
 * T, H, E) comes out. V(i) is the set of keys visible to position i: all keys of its sequence or,
 * if causal, those up to i; never padding (positions past the sequence's length), and with a
 * window only keys within that distance. A position that sees no key outputs zeros and passes no
 * gradient. Keys and values of padding (and its queries, where keys are made of q) may hold any
 * numbers, even NaN, and their gradients are exactly 0: what is applied to them before an engine
 * must skip it. Without a matrix (fastformer), o_i also depends on v_i, in padding as well.
 *
 * A mechanism is a row of a table: its name, its capabilities, its operands other than q, k and v,
 * its settings, the layer that contains it, and the engine that computes it. Everything else
 * (options, files, tests, benchmarks) loops over the rows.
 *
 * To add one: write ops/attention/<name>.c, with the derivation at the top (README's table shows
 * its first formula) and the row at the end; write its plain twin, ops/attention/plain/<name>.c,
 * from the paper alone; and add its name to ATTENTIONS below.
 */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "ops/base/random.h"
#include "ops/rope.h"
#include "ops/setting.h"

/* Every mechanism, in the order of --help. */
#define ATTENTIONS(ROW)                                                                            \
    ROW(softmax)                                                                                   \
    ROW(longformer)                                                                                \
    ROW(bigbird)                                                                                   \
    ROW(sparse)                                                                                    \
    ROW(local)                                                                                     \
    ROW(relu)                                                                                      \
    ROW(elu)                                                                                       \
    ROW(exp)                                                                                       \
    ROW(cosformer)                                                                                 \
    ROW(performer)                                                                                 \
    ROW(efficient)                                                                                 \
    ROW(identity)                                                                                  \
    ROW(leaky)                                                                                     \
    ROW(hedgehog)                                                                                  \
    ROW(based)                                                                                     \
    ROW(rfa)                                                                                       \
    ROW(retnet)                                                                                    \
    ROW(decay)                                                                                     \
    ROW(lightning)                                                                                 \
    ROW(mamba2)                                                                                    \
    ROW(deltanet)                                                                                  \
    ROW(gated_delta)                                                                               \
    ROW(kda)                                                                                       \
    ROW(rwkv7)                                                                                     \
    ROW(gla)                                                                                       \
    ROW(fastformer)                                                                                \
    ROW(gau)                                                                                       \
    ROW(flash_gau)                                                                                 \
    ROW(linformer)                                                                                 \
    ROW(nystromformer)                                                                             \
    ROW(synthesizer)                                                                               \
    ROW(poolingformer)                                                                             \
    ROW(reformer)

/* How a layer computes a per-position operand from its normalised input h: s f(h W^T + b). */
typedef struct {
    const struct Activation *f;             /* from ops/ops.h */
    double by;                              /* s; 0: 1 */
    int rank;                               /* W = W2 W1, and W1 has this many rows; 0: one W */
    void (*draw)(Tensor *b, Random random); /* initial b; NULL: zeros */
    const char *times; /* an earlier operand that multiplies it elementwise; NULL: none */
    bool step;         /* v is also multiplied by f(..): Mamba's step size */
    bool rate;         /* s = -by e^A, with a learned A for each column, as in Mamba */
    void (*draw_rate)(Tensor *A, Random random); /* initial A; NULL: zeros */
    const char *twice;                           /* a flag that doubles s; NULL: none */
} Projection;

/*
 * A tensor that a mechanism takes. Its shape has a letter per dimension: B, N (positions), H, d
 * (width of q and k), e (width of v), m (a size of its own, such as the number of random features),
 * c (the context: the most positions that a sequence may have), D for 2d, or a setting's letter.
 */
typedef struct {
    const char *name, *shape, *help;
    void (*draw)(Tensor *x, Random random); /* drawn by this rule; NULL: learned */
    const char *learn;     /* if drawn: learned with this flag, else fixed, without a gradient */
    bool learned;          /* if drawn: learned without a flag */
    const char *with, *is; /* used only if this setting has that value or, if `is` is NULL, is on;
                              NULL: always */
    const char *and, *as;  /* and the setting `and` has the value `as` */
    const Projection
        *from;    /* how a layer computes it; NULL: a parameter, or the layer has its own way */
    bool unit;    /* rows have length 1, or at most 1 if multiplied by another operand */
    bool decay;   /* logarithms of decays: at most 0 */
    bool own_row; /* position i affects only row i of the output, as with q */
} Operand;

/* The values of all settings of all mechanisms, in the order of settings_at(). */
enum { SETTINGS_MAX = 56 };
typedef struct {
    int at[SETTINGS_MAX];
} Values;

/* q, k and v, then the operands of the row, in its order. */
enum { OPERANDS_MAX = 8 };
typedef struct {
    const struct Attention *attention;
    union {
        struct {
            Tensor *q, *k, *v;
        };
        Tensor *x[OPERANDS_MAX]; /* NULL: not used with these settings */
    };
    bool causal;
    const int *length; /* (B): keys from here on are padding; NULL: no padding */
    bool rope;         /* RoPE on q and k, or on features (in the numerator only) */
    RopeScale rope_scale;
    int group;         /* this many neighbouring heads have the same k and v; 0: none do */
    int layer, layers; /* index from 0, and the number of layers in the model; 0 of 0: alone */
    Values set;
} Mix;

/* The sizes of a mix, on which its cost and memory depend. */
typedef struct {
    const struct Attention *attention;
    int T, H, D, E;
    int m; /* the letter m in operands' shapes; 0: unused */
    int c; /* the letter c: no longer than this; 0: unused */
    bool causal, rope;
    int group; /* heads with the same k and v, which a state may keep once; 0: none */
    int layer, layers;
    Values set;
} MixSize;

/*
 * Decodes one position t of one sequence: q, k, v and the other per-position operands have the
 * shape (1, 1, H, D or E), and o (H, E) becomes row t of the causal mix. The state is all zeros
 * before position 0. What a step takes from the tape's memory, it gives back.
 */
typedef struct {
    Tape *tape;
    const Mix *in;
    int t;
    bool padding;    /* the key of this position stays hidden, now and later */
    bool state_only; /* only the state will be read: o may be left unwritten */
    real *state, *o;
} Step;

/* Numbers stored per token: `kept` for the backward pass besides operands and o, `back` during it.
 */
typedef struct {
    double kept, back;
} MixMemory;

/* The functions that compute a family of mechanisms. */
typedef struct {
    Tensor *(*mix)(Tape *tape, const Mix *in);
    void (*step)(const Step *s);              /* NULL: cannot decode */
    size_t (*state)(const MixSize *size);     /* numbers in the state after T steps */
    double (*cost)(const MixSize *size);      /* multiply-adds per token, all heads */
    MixMemory (*memory)(const MixSize *size); /* NULL: none */
    int (*rotated)(const MixSize *size);      /* the width that RoPE rotates; NULL: D */
    int (*rank)(const MixSize *size); /* upper bound of A's rank without a mask; NULL: none */
    bool (*sums)(Tape *tape, const Mix *in, double *c); /* attention_sums(); NULL: false */
} Engine;

/* What a mechanism can do, and properties of its weights. */
enum {
    CAUSAL_ONLY = 1 << 0,
    BIDIRECTIONAL_ONLY = 1 << 1,
    CAN_ROPE = 1 << 2,
    HAS_MATRIX = 1 << 3,  /* o_i = sum_j A_ij v_j, with A independent of v */
    HAS_SCORES = 1 << 4,  /* A_ij depends only on the scores of row i: attention_scores() */
    IS_LINEAR = 1 << 5,   /* linear time and memory even without a window */
    V_AS_WIDE = 1 << 6,   /* v is as wide as q and k: E = D */
    BLOCKED = 1 << 7,     /* not shift-invariant: distances do not determine V(i), as with blocks */
    BY_DISTANCE = 1 << 8, /* weights depend on i - j, even without RoPE */
    BY_POSITION = 1 << 9, /* with RoPE, weights are not a function of i - j */
    BY_LAYER = 1 << 22,   /* weights depend on the layer's place in the model */
    SILU_QK = 1 << 23,    /* the layer applies silu to q and k, unless a convolution already did */
    KEYLESS = 1 << 29,    /* k is not used: a layer passes q in its place */
    QUERYLESS = 1 << 27,  /* neither is q: a layer passes v in place of both */
    /* For tests, which choose operands and tolerances by these: */
    AVERAGES = 1 << 10,       /* rows are a softmax of scores linear in k, and never overflow */
    QUOTIENT = 1 << 11,       /* weights are divided by their own sum */
    SQUARED = 1 << 12,        /* weights are scores, or their squares, where these are positive */
    SMOOTH = 1 << 13,         /* no kinks, and no denominator comes near 0 */
    KINKED = 1 << 14,         /* the derivative jumps where an entry of q or k is 0 */
    RECTIFIED = 1 << 15,      /* features of negative entries are 0 */
    SIGNED = 1 << 16,         /* weights may be negative and denominators near 0 */
    NORMALISES_Q = 1 << 17,   /* adding a constant to all of q_i changes nothing */
    AFFINE_IN_V = 1 << 19,    /* o is not linear in v, but has a constant term */
    COUNTS_KEYS = 1 << 20,    /* scores are shifted by the number of keys that a row sees */
    QUERIES_SCALED = 1 << 21, /* the layer divides q by sqrt(D) */
    UNIT_KEYS = 1 << 24,      /* k must have length 1 or the state explodes; the layer ensures it */
    CANCELS = 1 << 30,        /* positive weights are sums of mixed-sign terms, which lose digits */
    BOUNDED = 1 << 28,        /* q and k up to 1e30 give finite and exact results */
    PLACED = 1 << 25,         /* weights depend on positions, via learned numbers or segments */
    ALONE_FIXED = 1 << 26,    /* a key that is the only one its row sees has a fixed weight */
    EXACT_TO_60 = 1 << 18,    /* results are accurate if entries of q and k are from -60 to 60 */
};

struct View;
struct PlainHead;
typedef bool PlainSees(const struct PlainHead *x, int i, int j);

typedef struct Attention {
    const char *name;     /* the value of --attn */
    const char *alias;    /* a former name, or NULL */
    const char *summary;  /* one line for --help */
    const char *family;   /* shared by rows that differ in operands, for `./attend --attn` */
    const char *layer;    /* the layer around it, see model/layers.h; NULL: heads */
    const char *position; /* ./train's default; NULL: rope if supported, else learned */
    unsigned traits;
    unsigned (*more_traits)(const Values *set); /* those that depend on settings; NULL: none */
    bool keys_are_q; /* q_j is the key of position j, and a row in the padding sees no key */
    const Operand *operands; /* besides q, k and v; ends with zeros; NULL: none */
    const Setting *settings; /* ends with zeros; NULL: none */
    const Engine *engine;
    const void *rule; /* the engine's parameters: a FeatureMap, ... */
    void (*view)(struct View *v, const Values *set); /* narrows V(i): engine/view.h; NULL: as is */
    void (*plain)(const struct PlainHead *x);        /* the plain twin: plain/plain.h */
    PlainSees *sees;                                 /* the twin's V(i); NULL: all keys */
} Attention;

/* Computes a mix; on a decoding tape, that of the current position (ops/decoding.h). */
Tensor *attention_mix(Tape *tape, const Mix *in);

/*
 * A (B, H, T, T), the matrices of a mechanism that has them: A_ij is the weight of v_j in o_i. The
 * contents of in->v do not matter. Resets the tape, which must be forward-only, so the operands
 * must not be on it.
 */
void attention_matrix(Tape *tape, const Mix *in, real *A);

/* MatrixColumns first .. first+n-1 of these matrices, as (B, T, H, n). */
typedef struct {
    const real *A;
    int first, n;
} MatrixColumns;

/* The same, but calls `take` with a few columns at a time: the whole of A is never in memory. */
void attention_columns(Tape *tape, const Mix *in, void (*take)(void *ctx, MatrixColumns c),
                       void *ctx);

/*
 * c (B, H, T), the sums over j in V(i) of the weights of row i before any division: such as
 * e^s_ij, max(s_ij, 0)^2 or phi(q_i) . psi(k_j); with that of the null key, if there is one. False
 * if the mechanism has none. Resets the tape, which must be forward-only.
 */
bool attention_sums(Tape *tape, const Mix *in, double *c);

/* S (B, H, T, T), the scores q_i . k_j / sqrt(D) of all pairs, visible or not. Resets the tape. */
void attention_scores(Tape *tape, const Mix *in, double *S);

double attention_cost(const MixSize *size);
MixMemory attention_memory(const MixSize *size);
size_t attention_state(const MixSize *size);
MixSize mix_size(const Mix *in);

unsigned attention_traits(const Attention *a, const Values *set);
bool attention_decodes(const Attention *a);

/*
 * Why it cannot be causal, or bidirectional: "is causal only", or "with --norm x is causal only".
 */
Text attention_refuses(const Attention *a, const Values *set, bool causal);

/* The i-th operand: q, k, v, then those of the row; NULL past the end. And whether it is used. */
const Operand *attention_operand(const Attention *a, int i);
bool attention_needs(const Attention *a, const Values *set, int i);

/* The operand called `name`, which the mechanism must have. */
Tensor *mix_tensor(const Mix *in, const char *name);

/* Whether an operand with these settings has a gradient. */
bool operand_learned(const Operand *o, const Values *set);

/* Maps any numbers to those a layer computes for an operand: s f(x) with A = 0, or x / |x|. */
void operand_fit(const Operand *o, Tensor *x);

/* The index of a number that the operand may not have; x->n if there is none. */
size_t operand_misfit(const Operand *o, const Tensor *x);
/* Whether an operand, by the letter c, limits the number of positions of a sequence. */
bool attention_ends(const Attention *a, const Values *set);

/* The width that RoPE rotates in pairs; it must be even. */
int attention_rotated(const MixSize *size);

/* The size that a letter other than B and N stands for; a shared operand's element count. */
int operand_dimension(const MixSize *size, char letter);
double operand_numbers(const MixSize *size, const Operand *o);

/* All settings of all mechanisms, each once; NULL past the end. */
const Setting *settings_at(int i);

/* The row's own setting of that name; NULL: the mechanism does not have it. */
const Setting *attention_takes(const Attention *a, const char *setting);

/* For a setting with a letter: the size that this value means, for keys of width d. */
int setting_size(const Setting *s, int value, int d);

/* Whether the setting has any effect, given the values of the others. */
bool setting_matters(const Attention *a, const Values *set, const Setting *s);

/* The defaults of a mechanism; a setting it lacks has the default of a mechanism that has it. */
Values settings_default(const Attention *a);

/* What a checkpoint with no keys for settings means: the defaults, or those of older versions. */
Values settings_unsaved(const Attention *a);

/* Which setting has a value that the row does not allow, and what it does allow; or empty. */
Text settings_misfit(const Attention *a, const Values *set);

/* Adjusts settings that are lengths to the context: see SettingLength. */
void settings_fit_context(Values *values, const Attention *a, SettingLength which, int context);

/* A pointer to a setting's value, and the value; an unknown name is a BUG. */
int *setting_at(Values *values, const char *name);
int setting(const Values *values, const char *name);
int setting_or_zero(const Values *values, const char *name); /* with 0 replaced by what it means */

/* Whether a choice has this value, or a set contains it. */
bool setting_is(const Values *values, const char *name, const char *choice);

/* All rows, ending with NULL; the row with that name or alias, or NULL. */
extern const Attention *const attentions[];
const Attention *attention_find(const char *name);

#define DECLARE_ATTENTION(name)                                                                    \
    extern const Attention attention_##name;                                                       \
    void plain_##name(const struct PlainHead *x);
ATTENTIONS(DECLARE_ATTENTION)

#endif
