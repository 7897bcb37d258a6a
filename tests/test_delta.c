/*
 * States that are corrected, where that is hardest: keys that change the sign of what the state
 * has, for thousands of positions; decays that leave nothing, or nearly all; the same key again and
 * again. Outputs and gradients are those of the plain twin; but where nothing is ever forgotten, in
 * float nor are roundings, and there are more of them than in any other attention.
 */
#include "ops/attention/engine/delta.h"
#include "tests/mixings.h"
#include "tests/small.h"
#include "tests/suites.h"

#include <string.h>

/* Numbers of positions, again and again: logarithms of decays, and how much is replaced. */
typedef struct {
    double decay[4], beta[4], times; /* times: of the tolerance, in float */
} Pattern;

#define HARDLY -1e-7
#define MILLIONTH -13.815510557964274

/* How much is replaced at position t, or the logarithm of a decay, which is not positive. */
static double number_of(const Mixing *m, int i, const Pattern *p, size_t j)
{
    const int width = mixing_width(m, i);
    const size_t t = j / (size_t)width, at = (t / 128 + t + (width > 4 ? j % 3 : 0)) % 4;
    const Operand *o = attention_operand(m->attention, i);

    return o->from->times || m->x[i]->data[j] > 0 ? p->beta[at] : p->decay[at];
}

/* Operands that a layer computes get the pattern's numbers, and vectors keep their directions. */
static void fill_pattern(const Mixing *m, const Pattern *p)
{
    const Mix in = mixing_mix(m);
    const Operand *o;

    for (int i = V + 1; (o = attention_operand(m->attention, i)); i++) {
        const char *times = o->from ? o->from->times : NULL;

        for (size_t j = 0; (times || !o->unit) && j < m->x[i]->n; j++) {
            const double by = times ? -(double)mix_tensor(&in, times)->data[j] : 1;

            m->x[i]->data[j] = R(by * number_of(m, i, p, j));
        }
    }
}

/* Vectors of length 1 are those of the first position. */
static void repeat_vectors(const Mixing *m)
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(m->attention, i)); i++) {
        const size_t n = o->unit ? (size_t)mixing_width(m, i) : 0;

        for (size_t j = n; n && j < m->x[i]->n; j++)
            m->x[i]->data[j] = m->x[i]->data[j - n];
    }
}

/* Of a mixing with the pattern; what is read is the same everywhere, or not. */
static void check_pattern(const Variant *v, Shape s, const Pattern *p, bool same)
{
    Arena *mem = arena_new();
    Mixing m = mixing(mem, v, s, true);

    if (same)
        repeat_vectors(&m);
    fill_pattern(&m, p);
    Outcome o = mixing_outcome(mem, &m, weights());
    check_finite(&m, &o);
    check_twin_within(mem, &m, Q, m.n, in_double ? 1 : p->times);
    if (s.T < 1000 && (in_double || p->times == 1))
        check_steps(mem, &m, s.T);
    arena_free(mem);
}

/*
 * What is read before it decays may cancel in the gradient of a decay that leaves nothing, which
 * then has no digits to compare.
 */
static bool is_defined(const Variant *v, const Pattern *p)
{
    bool remains = v->traits & UNIT_KEYS;

    for (int i = 0; i < COUNT(p->decay); i++)
        remains |= p->decay[i] > -1;
    return remains;
}

static void check_corrections(Shape s, const Pattern *p, bool same)
{
    EACH_VARIANT(v)
    if (v->plain && v->attention->engine == &engine_delta && is_defined(v, p))
        check_pattern(v, s, p, same);
}

START_TEST(a_state_is_reflected_thousands_of_times)
{
    static const Pattern p = { { HARDLY, HARDLY, 0, HARDLY }, { 2, 1.999, 1.99, 2 }, 8 };

    check_corrections((Shape){ 1, 4096, 1, 6, 3 }, &p, false);
}
END_TEST

START_TEST(a_repeated_key_is_corrected_each_time)
{
    static const Pattern of_some = { { HARDLY, HARDLY, -0.01, HARDLY }, { 0.5, 1, 0.01, 0.9 }, 2 };
    static const Pattern of_all = { { HARDLY, HARDLY, 0, HARDLY }, { 2, 1.9, 2, 1.8 }, 4 };

    check_corrections((Shape){ 2, 300, 2, 5, 4 }, &of_some, true);
    check_corrections((Shape){ 2, 300, 2, 5, 4 }, &of_all, true);
}
END_TEST

START_TEST(decays_of_all_sizes_are_those_of_the_plain_twin)
{
    static const Pattern patterns[] = {
        { { HARDLY, HARDLY, HARDLY, HARDLY }, { 1, 0.5, 0.9, 0.1 }, 1 },
        { { -50, -50, -50, -50 }, { 1, 0.5, 0.9, 0.1 }, 1 },
        { { MILLIONTH, MILLIONTH, MILLIONTH, MILLIONTH }, { 1, 2, 0.9, 1 }, 1 },
        { { -50, HARDLY, HARDLY, HARDLY }, { 1, 2, 1.9, 1 }, 1 },
        { { 0, -50, 0, MILLIONTH }, { 1, 1, 1, 1 }, 1 },
        { { -3, HARDLY, -5, HARDLY }, { 0, 1, 2, 1 }, 1 },
    };

    for (int i = 0; i < COUNT(patterns); i++)
        check_corrections((Shape){ 2, 300, 2, 5, 4 }, &patterns[i], false);
}
END_TEST

/* Of each row of a tensor of such rows, the square of the length; at most a little above 1. */
static void check_lengths(const Tensor *x, const char *name, double least)
{
    const int n = x->dim[x->ndim - 1];

    for (const real *row = x->data; row < x->data + x->n; row += n) {
        double square = 0;

        for (int d = 0; d < n; d++)
            square += (double)(row[d] * row[d]);
        ck_assert_msg(square > least && square < 1 + 1e-6, "%s: %g", name, square);
    }
}

/* Vectors have length 1; a product with one is smaller, number by number. */
static void check_vectors(void *ctx, const Mix *in)
{
    const Operand *o;

    for (int i = 0; (o = attention_operand(in->attention, i)); i++) {
        const bool product = o->from && o->from->times;
        const real *other = product ? mix_tensor(in, o->from->times)->data : NULL;

        if (o->unit && !product)
            check_lengths(in->x[i], in->attention->name, 0.9);
        for (size_t j = 0; product && j < in->x[i]->n; j++)
            ck_assert_double_lt(fabs((double)in->x[i]->data[j]), fabs((double)other[j]));
        *(int *)ctx += o->unit;
    }
}

START_TEST(a_layer_normalises_keys_to_length_1)
{
    int seen = 0;

    for (const Attention *const *a = attentions; *a; a++) {
        Config c = small_variant(0);

        if ((*a)->engine != &engine_delta)
            continue;
        c.attention = *a, c.set = settings_default(*a), c.position = POSITION_NONE;
        Small *s = small_open(c, 1, 8);
        Tape tape = tape_open(1);

        small_overwrite(s, 0.3);
        model_watch(&tape, &s->model, s->batch.id, 8,
                    (Watch){ .see = check_vectors, .ctx = &seen });
        tape_close(&tape);
        small_close(s);
    }
    ck_assert_int_ge(seen, 4);
}
END_TEST

/* The vectors that tests and tools draw themselves. */
START_TEST(drawn_vectors_have_length_1)
{
    int seen = 0;

    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        const Mixing m = mixing(mem, v, (Shape){ 2, 5, 2, 8, 8 }, true);
        const Operand *o;

        for (int i = 0; (o = attention_operand(m.attention, i)); i++)
            if (o->unit && m.x[i]) {
                check_lengths(m.x[i], m.name, 1 - 1e-6);
                seen++;
            }
        arena_free(mem);
    }
    ck_assert_int_ge(seen, 4);
}
END_TEST

Suite *suite_delta(void)
{
    Suite *s = suite_create("delta");
    TCase *t = group(s, "delta");

    tcase_add_test(t, a_state_is_reflected_thousands_of_times);
    tcase_add_test(t, a_repeated_key_is_corrected_each_time);
    tcase_add_test(t, decays_of_all_sizes_are_those_of_the_plain_twin);
    tcase_add_test(t, a_layer_normalises_keys_to_length_1);
    tcase_add_test(t, drawn_vectors_have_length_1);
    return s;
}
