/* What tests do with operands of attentions: write into positions, and check outcomes. */
#ifndef TESTS_MIXINGS_H
#define TESTS_MIXINGS_H

#include "tests/variants.h"

#define EACH_VARIANT(v) for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
#define EACH_CAUSAL(v)                                                                             \
    EACH_VARIANT(v)                                                                                \
    if (!(v->traits & BIDIRECTIONAL_ONLY))

/* Two blocks and more of positions, of numbers that fill no vector. */
extern const Shape usual;

/* Numbers in a position of an operand that has positions; numbers before position t of sequence b.
 */
int mixing_width(const Mixing *m, int which);
size_t mixing_before(const Mixing *m, int b, int t, int width);

/* Sets all numbers of a position: in every operand, or in what other positions may see of it. */
void set_position(Mixing *m, int b, int t, real to);
void set_key(Mixing *m, int b, int t, real to);

void scale(Tensor *t, double by);

void check_finite(const Mixing *m, const Outcome *o);

/* check_close() of the gradient of operand j. */
void check_gradient_close(const Mixing *m, int j, const real *dx, const double *want,
                          double tolerance);

/* That the gradients of positions from .. to-1 of a sequence are zeros. */
void check_none(const Mixing *m, const Outcome *o, int b, int from, int to);

/* Weights of the outcome that are zeros for the positions from `from` on. */
real *weights_until(Arena *mem, const Mixing *m, int from);

/* What decoding gives, with states for `longest` positions; and that it is the causal result. */
real *mixing_steps(Arena *mem, const Mixing *m, int longest);
void check_steps(Arena *mem, Mixing *m, int longest);

/* That outputs, and the gradients of operands from .. end-1, are those of the plain twin. */
void check_twin(Arena *mem, Mixing *m, int from, int end);

/* The same with tolerances that are larger by a factor. */
void check_twin_within(Arena *mem, Mixing *m, int from, int end, double times);

/* Whether a longer sequence has other weights in its prefix: cosformer's without a horizon. */
bool minds_length(const Mixing *m);

#endif
