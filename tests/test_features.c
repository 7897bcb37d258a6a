/* Feature maps: what their weights are in closed form, and rows of extreme length. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/mixings.h"
#include "tests/suites.h"

#include <string.h>

/* Long rows, or so long that rounding alone decides between features. */
START_TEST(features_of_long_rows_are_those_of_the_formula)
{
    static const double sizes[] = { 100, 1e15, 1e30 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes) && (v->traits & BOUNDED); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 23, 2, 4, 3 }, _i);
        Subject s = mixing_subject(&m);

        scale(m.x[Q], sizes[i]), scale(m.x[K], sizes[i]);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        if (in_double && sizes[i] < 1e15)
            check_formula(&s);
        arena_free(mem);
    }
}
END_TEST

/* Some that are as good as 0, among others. */
START_TEST(features_of_short_rows_are_those_of_the_formula)
{
    EACH_VARIANT(v)
    if (v->traits & BOUNDED) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 23, 2, 4, 3 }, _i);

        for (int j = Q; j <= K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                m.x[j]->data[i] *= i / 4 % 3 ? 1 : R(1e-7);
        check_twin(mem, &m, Q, m.n);
        arena_free(mem);
    }
}
END_TEST

/* Far from 0, all to one side: a softmax of them must not be 0 by 0. */
START_TEST(features_of_rows_far_from_0_are_those_of_the_formula)
{
    EACH_VARIANT(v)
    for (int sign = -1; sign <= 1 && (v->traits & BOUNDED); sign += 2) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 23, 2, 4, 3 }, _i);
        Subject s = mixing_subject(&m);

        for (int j = Q; j <= K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                m.x[j]->data[i] += R(2000 * sign);
        for (int j = m.batched; j < m.n; j++)
            for (size_t i = 0; i < m.operand[j]->n; i++) /* the sums of all rows are alike */
                m.operand[j]->data[i] = R(1 + 1e-3 * (double)m.operand[j]->data[i]);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        if (in_double)
            check_formula(&s);
        arena_free(mem);
    }
}
END_TEST

/* Even if it is in only one of them: no map takes it for a negative number. A row of a matrix has
 * it in all its weights; without one, some of the result is enough. */
START_TEST(a_nan_in_q_or_k_reaches_the_result)
{
    enum { HERE = 5 };

    EACH_VARIANT(v)
    for (int which = Q; which <= K; which++) {
        if (v->traits & (which == Q ? QUERYLESS : KEYLESS))
            continue;
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 23, 1, 4, 3 }, _i);

        m.x[which]->data[HERE * m.s.D + 1] = R(nan(""));
        const Outcome o = mixing_outcome(mem, &m, NULL);
        int nans = 0;
        for (int e = 0; e < m.s.E; e++)
            nans += isnan(o.y[HERE * m.s.E + e]);
        ck_assert_msg(nans >= (v->traits & HAS_MATRIX ? m.s.E : 1), "%s: operand %d", m.name,
                      which);
        arena_free(mem);
    }
}
END_TEST

START_TEST(square_maps_that_are_learned_start_as_the_identity)
{
    Arena *mem = arena_new();
    int seen = 0;

    for (const Attention *const *a = attentions; *a; a++)
        for (const Operand *o = (*a)->operands; o && o->name; o++) {
            if (!o->draw || !o->learned || strcmp(o->shape, "Hdd") != 0)
                continue;
            Tensor *w = leaf(mem, 1, 1, SHAPE(2, 3, 3));

            o->draw(w, random_stream(1, RANDOM_TEST, 4));
            for (int i = 0; i < 18; i++)
                ck_assert_msg((double)w->data[i] == (i % 9 / 3 == i % 3), "%s: %s", (*a)->name,
                              o->name);
            seen++;
        }
    ck_assert_int_ge(seen, 2);
    arena_free(mem);
}
END_TEST

/* Of every mechanism that draws some. */
START_TEST(no_two_random_directions_are_alike)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (const Operand *o = (*a)->operands; o && o->name; o++) {
            if (!o->draw || strcmp(o->shape, "Hmd") != 0)
                continue;
            Tensor *omega = leaf(mem, 1, 1, SHAPE(2, 7, 3));

            o->draw(omega, random_stream(1, RANDOM_TEST, 4));
            for (int i = 0; i < 14; i++)
                for (int j = 0; j < i; j++)
                    ck_assert(!same_bits(omega->data + 3 * i, omega->data + 3 * j, 3));
        }
    arena_free(mem);
}
END_TEST

/* The sums of all weights of a row are those of the weight in closed form. */
typedef double Weight(const Mixing *m, int h, const real *q, const real *k);

static void check_weights(const Attention *a, Weight *weight)
{
    Arena *mem = arena_new();
    const Variant v = { .attention = a, .set = settings_default(a), .traits = a->traits };
    Mixing m = mixing(mem, &v, (Shape){ 2, 11, 2, 5, 3 }, true);
    Mix in = mixing_mix(&m);
    Tape tape = tape_open(1);
    double c[2 * 2 * 11];

    tape.forward_only = true;
    ck_assert(attention_sums(&tape, &in, c));
    for (int n = 0; n < COUNT(c); n++) {
        const int b = n / 22, h = n / 11 % 2, i = n % 11;
        const real *q = m.x[Q]->data + ((b * 11 + i) * 2 + h) * 5;
        double want = 0;

        for (int j = 0; j <= i; j++)
            want += weight(&m, h, q, m.x[K]->data + ((b * 11 + j) * 2 + h) * 5);
        ck_assert_double_le(fabs(c[n] - want), (in_double ? 1e-11 : 1e-4) * fabs(want));
    }
    tape_close(&tape);
    arena_free(mem);
}

static double product(const real *a, const real *b)
{
    double sum = 0;

    for (int d = 0; d < 5; d++)
        sum += (double)a[d] * (double)b[d];
    return sum;
}

static double taylor(const Mixing *m, int h, const real *q, const real *k)
{
    const double s = product(q, k) / sqrt(5);

    (void)m, (void)h;
    return 1 + s + s * s / 2;
}

static double cosines(const Mixing *m, int h, const real *q, const real *k)
{
    const double lq = sqrt(product(q, q)), lk = sqrt(product(k, k));
    double sum = 0;

    for (int r = 0; r < m->m; r++) {
        const real *omega = m->x[V + 1]->data + (h * m->m + r) * 5;

        sum += cos(product(omega, q) / lq - product(omega, k) / lk);
    }
    return sum;
}

START_TEST(weights_match_the_taylor_series_and_the_cosines)
{
    check_weights(&attention_based, taylor);
    check_weights(&attention_rfa, cosines);
}
END_TEST

/* Of keys of 2^16 numbers there are more features than an int counts, and of keys of 2^24 more
 * numbers in a state. */
static void size_of_state(const char *name)
{
    const Attention *a = attention_find(name);
    const MixSize size = { .attention = a,
                           .causal = true,
                           .T = 8,
                           .H = 1,
                           .D = a == &attention_based ? 1 << 16 : 1 << 24,
                           .E = 128,
                           .set = settings_default(a) };

    attention_memory(&size);
}

START_TEST(states_that_an_int_cannot_index_are_refused)
{
    check_dies(size_of_state, "based", EXIT_MEMORY, "2147581953 features");
    check_dies(size_of_state, "relu", EXIT_MEMORY, "16777216 x 128 numbers is too large");
    check_dies(size_of_state, "retnet", EXIT_MEMORY, "16777216 x 128 numbers is too large");
    check_dies(size_of_state, "deltanet", EXIT_MEMORY, "16777216 x 128 numbers is too large");
}
END_TEST

enum { POSITIONS = 2, HEADS = 2, KEYS = 16, VALUES = 12, DIRECTIONS = 40 };

/* Of one of two positions, fewer than a tile has, per head. */
static double cost_of(const char *name, bool causal, bool gated)
{
    MixSize size = { .attention = attention_find(name),
                     .T = POSITIONS,
                     .H = HEADS,
                     .D = KEYS,
                     .E = VALUES,
                     .m = DIRECTIONS,
                     .causal = causal };

    size.set = settings_default(size.attention);
    if (gated)
        *setting_at(&size.set, "gated") = 1;
    return attention_cost(&size) / HEADS;
}

/* What a state of F x E gives and takes, and half of the pairs of F and E numbers. */
static double cost_of_scan(double F)
{
    return 2 * F * VALUES + POSITIONS / 2 * (F + VALUES);
}

START_TEST(the_cost_counts_the_matrices_of_a_map_and_half_of_the_pairs)
{
    const double m = DIRECTIONS, D = KEYS, E = VALUES, pairs = POSITIONS / 2 * (D + E);

    ck_assert_double_eq(cost_of("relu", true, false), cost_of_scan(D));
    ck_assert_double_eq(cost_of("retnet", true, false), cost_of_scan(D));
    ck_assert_double_eq(cost_of("gla", true, false), cost_of_scan(D));
    ck_assert_double_eq(cost_of("deltanet", true, false), 3 * D * E + 2 * pairs);
    ck_assert_double_eq(cost_of("rfa", true, true), cost_of_scan(2 * m) + 2 * m * D);
    ck_assert_double_eq(cost_of("performer", true, false), cost_of_scan(m) + 2 * m * D);
    ck_assert_double_eq(cost_of("performer", false, false), 2 * m * E + 2 * m * D);
    ck_assert_double_eq(cost_of("hedgehog", false, false), 4 * D * E + 2 * D * D);
}
END_TEST

Suite *suite_features(void)
{
    Suite *s = suite_create("features");
    TCase *t = group(s, "features");

    tcase_add_loop_test(t, features_of_long_rows_are_those_of_the_formula, 0, 2);
    tcase_add_loop_test(t, features_of_short_rows_are_those_of_the_formula, 0, 2);
    tcase_add_loop_test(t, features_of_rows_far_from_0_are_those_of_the_formula, 0, 2);
    tcase_add_loop_test(t, a_nan_in_q_or_k_reaches_the_result, 0, 2);
    tcase_add_test(t, square_maps_that_are_learned_start_as_the_identity);
    tcase_add_test(t, no_two_random_directions_are_alike);
    tcase_add_test(t, states_that_an_int_cannot_index_are_refused);
    tcase_add_test(t, the_cost_counts_the_matrices_of_a_map_and_half_of_the_pairs);
    tcase_add_test(t, weights_match_the_taylor_series_and_the_cosines);
    return s;
}
