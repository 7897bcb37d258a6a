/*
 * Every attention in every way that it can be set: what the tests of attentions run on,
 * with operands to run it with.
 */
#ifndef TESTS_VARIANTS_H
#define TESTS_VARIANTS_H

#include "ops/attention/plain/plain.h"
#include "tests/promises.h"

/* Made from the row of the attention: its settings, one by one and some together. */
typedef struct {
    const Attention *attention;
    char label[160]; /* the settings that are not at their defaults */
    bool plain;      /* none is: tests that take long are for these alone */
    bool rope;
    RopeScale rope_scale;
    Values set;
    unsigned traits;
} Variant;

/*
 * All that there are, or those of the attentions that the environment lists, ATTN=relu,elu. The
 * plain one of each attention is first:
 *     for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
 */
const Variant *variant_next(const Variant *v);

/* Whether the attention is one of those. */
bool variant_is_chosen(const Attention *a);

/* Where a position is does not matter, nor how long the sequence is, except for what is seen. */
bool variant_ignores_positions(const Variant *v);

int variant_window(const Variant *v);

/* RoPE rotates q and k before the feature map. */
bool variant_rotates_before(const Variant *v);

typedef struct {
    int B, T, H, D, E;
} Shape;

/* The first operands of every attention. */
enum { Q, K, V };

/* A variant with operands. */
typedef struct {
    const Variant *variant;
    const Attention *attention;
    Shape s;
    bool causal;
    const int *length;
    int m, c;                /* of the shapes of operands */
    Tensor *x[OPERANDS_MAX]; /* NULL where it has none */
    /* Those that get gradients; first those of every position, then those that all share. */
    Tensor *operand[OPERANDS_MAX];
    int which[OPERANDS_MAX];
    int n, batched;
    char name[256]; /* of all this, for messages */
} Mixing;

/*
 * Operands for the variant, of that shape or the next that it can have: an even D for RoPE,
 * E = D where v is as wide as k. They are normally distributed, made so that no denominator is
 * near 0 and no feature near the kink of its map.
 */
Mixing mixing(Arena *mem, const Variant *v, Shape s, bool causal);

/*
 * Other q and k, so that no score is near 0, the kink of its square: all point one way or
 * the other, and mostly along the features that RoPE rotates least.
 */
void mixing_leave_kinks(Mixing *m);

/*
 * Where RoPE rotates q and k before the map: rotates them back first, so that the map takes them as
 * they are now.
 */
void mixing_rotate_back(Mixing *m);

/* Lengths of B sequences: whole, empty, one, half, whole, ... */
const int *mixing_lengths(Arena *mem, Shape s);

/* As ops and their plain twins take it, and with both as a Subject; for x as it is now. */
Mix mixing_mix(const Mixing *m);
PlainMix mixing_plain(const Mixing *m, double *const *operand);
Subject mixing_subject(Mixing *m);

/* The operand's letters of a shape as numbers; returns how many. */
int mixing_shape(const Mixing *m, const Operand *o, int dim[4]);

/* The output, and for a `dy` the gradients. */
Outcome mixing_outcome(Arena *mem, Mixing *m, const real *dy);

#endif
