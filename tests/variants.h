/*
 * Every attention in every way that it can be set: what the tests of attentions
 * run on, with operands to run it with.
 */
#ifndef TESTS_VARIANTS_H
#define TESTS_VARIANTS_H

#include "tests/naive.h"
#include "tests/promises.h"

typedef struct {
    const char *attention; /* its name */
    const char *label;     /* and what it is told, for messages */
    Settings set;
    int features; /* rows of omega; 0: 4 D */
} Variant;

/* All that there are, the plainest of each attention first; ended by one without a name. */
extern const Variant variants[];

/*
 * Those of what is in attentions[], one after the other:
 *     for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
 */
const Variant *variant_next(const Variant *v);

/* The first of its attention: tests that take long are for these alone. */
bool variant_is_plain(const Variant *v);

const Attention *variant_attention(const Variant *v);
bool variant_is(const Variant *v, const char *attention);

/* o_i is a softmax's average: nothing overflows, and a key that is seen alone is the result. */
bool variant_is_softmax(const Variant *v);

/* Weights that are divided by their own sum: of a key that is seen alone they cannot change. */
bool variant_is_quotient(const Variant *v);

/* The scores are squared where they are positive. */
bool variant_squares_scores(const Variant *v);

/* Any q and k will do for differences: there are no kinks, and no denominators near 0. */
bool variant_is_tame(const Variant *v);

/* Where a position is does not matter, nor how long the sequence is, but for what is seen. */
bool variant_ignores_positions(const Variant *v);

typedef struct {
    int B, T, H, D, E;
} Shape;

/* A variant with operands. */
typedef struct {
    const Variant *variant;
    const Attention *attention;
    Shape s;
    bool causal;
    const int *length;
    int features;
    Tensor *x[MIX_OPERANDS]; /* NULL where it has none */
    double *omega;
    /* Those that get gradients, what every position has before what all share. */
    Tensor *operand[MIX_OPERANDS];
    MixOperand which[MIX_OPERANDS];
    int n, batched;
    char name[160]; /* of all this, for messages */
} Mixing;

/*
 * Operands for the variant, of that shape or the next that it can have: an even
 * D for RoPE, E = D for Fastformer. They are normal numbers, made so that no
 * denominator is near 0 and that no feature is near the kink of its map.
 */
Mixing mixing(Arena *mem, const Variant *v, Shape s, bool causal);

/*
 * Other q and k, so that no score is near 0, the kink of its square: all point
 * one way or the other, and mostly along the features that RoPE turns least.
 */
void mixing_leave_kinks(Mixing *m);

/* Lengths of B sequences: whole, empty, one, half, whole, ... */
const int *mixing_lengths(Arena *mem, Shape s);

/* As ops and formulas take it, and with both as a Subject; for x as it is now. */
Mix mixing_mix(const Mixing *m);
NaiveMix mixing_naive(const Mixing *m, double *const *operand);
Subject mixing_subject(Mixing *m);

/* What comes out, and for a `dy` what goes back. */
Outcome mixing_outcome(Arena *mem, Mixing *m, const real *dy);

#endif
