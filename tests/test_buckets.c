/* Attentions whose queries are keys, sorted into buckets. _i is `causal`, and with lengths. */
#include "tests/mixings.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

#define EACH_SORTED(v)                                                                             \
    EACH_VARIANT(v)                                                                                \
    if (v->attention->keys_are_q)

/* Scores up to thousands, and rows below the guard, where all of |q| is a constant. */
START_TEST(rows_of_any_norm_match_the_formula)
{
    static const double sizes[] = { 3000, 30, 1e-5, 1e-8 };

    EACH_SORTED(v)
    for (int i = 0; i < COUNT(sizes); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 23, 2, 5, 7 }, _i & 1);

        m.length = _i & 2 ? mixing_lengths(mem, m.s) : NULL;
        scale(m.x[Q], sizes[i]);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        if (in_double || sizes[i] < 1)
            check_twin(mem, &m, Q, sizes[i] == 3000 ? Q : m.n);
        if (m.causal && sizes[i] < 3000)
            check_steps(mem, &m, m.s.T);
        arena_free(mem);
    }
}
END_TEST

/* (B, H, T, T) */
static real *matrix(Arena *mem, const Mixing *m)
{
    const size_t T = (size_t)m->s.T;
    real *A = arena_take(mem, (size_t)(m->s.B * m->s.H) * T * T * sizeof *A);
    Tape tape = tape_open(2);
    const Mix in = mixing_mix(m);

    tape.forward_only = true;
    attention_matrix(&tape, &in, A);
    tape_close(&tape);
    return A;
}

/* So that the cost does not grow with the length: two chunks in each round, without the row. */
START_TEST(a_row_sees_at_most_two_chunks_per_round)
{
    EACH_SORTED(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 200, 2, 5, 7 }, _i & 1);
        const int chunk = setting_or_zero(&v->set, "chunk");
        const int most = setting_or_zero(&v->set, "rounds") * (2 * chunk - 1);
        const real *A = matrix(mem, &m);

        for (int row = 0; row < 4 * 200; row++) {
            int seen = 0;

            for (int j = 0; j < 200; j++)
                seen += A[row * 200 + j] > 0;
            ck_assert_msg(seen <= most, "%s: row %d sees %d", m.name, row, seen);
            ck_assert(A[row * 200 + row % 200] == (seen == 1 && A[row * 200 + row % 200] > 0));
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(a_nan_value_affects_only_rows_that_see_its_key)
{
    enum { HERE = 37, T = 71 };

    EACH_SORTED(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, T, 1, 5, 1 }, _i & 1);
        const real *A = matrix(mem, &m);
        const Outcome clean = mixing_outcome(mem, &m, NULL);

        m.x[V]->data[HERE] = R(nan(""));
        const Outcome o = mixing_outcome(mem, &m, NULL);
        for (int i = 0; i < T; i++)
            ck_assert_msg(A[i * T + HERE] > 0 ? isnan(o.y[i]) : o.y[i] == clean.y[i], "%s: row %d",
                          m.name, i);
        arena_free(mem);
    }
}
END_TEST

/* And a bucket is found by the direction of a row alone. */
START_TEST(buckets_do_not_depend_on_the_norm_of_keys)
{
    EACH_SORTED(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i & 1);
        const real *once = matrix(mem, &m);

        scale(m.x[Q], 4);
        const real *A = matrix(mem, &m);
        for (int i = 0; i < 4 * 71 * 71; i++)
            ck_assert_msg((A[i] > 0) == (once[i] > 0), "%s", m.name);
        arena_free(mem);
    }
}
END_TEST

START_TEST(an_odd_number_of_buckets_is_refused)
{
    Values set = settings_default(&attention_reformer);

    *setting_at(&set, "buckets") = 6;
    ck_assert_str_eq(settings_misfit(&attention_reformer, &set).at, "");
    *setting_at(&set, "buckets") = 7;
    ck_assert_str_eq(settings_misfit(&attention_reformer, &set).at,
                     "--buckets is 7: it must be even");
}
END_TEST

Suite *suite_buckets(void)
{
    Suite *s = suite_create("buckets");
    TCase *t = group(s, "buckets");

    tcase_add_loop_test(t, rows_of_any_norm_match_the_formula, 0, 4);
    tcase_add_loop_test(t, a_row_sees_at_most_two_chunks_per_round, 0, 2);
    tcase_add_loop_test(t, a_nan_value_affects_only_rows_that_see_its_key, 0, 2);
    tcase_add_loop_test(t, buckets_do_not_depend_on_the_norm_of_keys, 0, 2);
    tcase_add_test(t, an_odd_number_of_buckets_is_refused);
    return s;
}
