/*
 * Attentions whose weights depend on where in the sequence a position is: short tests, so that a
 * bug is found soon. _i is `causal` and, in the next bit, with lengths.
 */
#include "tests/mixings.h"
#include "tests/suites.h"

#define EACH_PLACED(v)                                                                             \
    EACH_VARIANT(v)                                                                                \
    if (v->traits & PLACED)

static bool runs(const Variant *v, bool causal)
{
    return !attention_refuses(v->attention, &v->set, causal).n;
}

/* In a batch of 4 with and without padding, across tiles of any size. */
START_TEST(outputs_and_slopes_match_the_formula)
{
    static const int sizes[] = { 2, 9, in_double ? 23 : 131 };

    EACH_PLACED(v)
    for (int i = 0; i < COUNT(sizes) && runs(v, _i & 1); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, sizes[i], 2, 5, 7 }, _i & 1);
        Subject s = mixing_subject(&m);

        m.length = _i & 2 ? mixing_lengths(mem, m.s) : NULL;
        check_formula(&s);
        if (in_double || i < 2) /* of the largest they take long */
            check_slopes(&s, 0);
        arena_free(mem);
    }
}
END_TEST

/* Scores up to thousands: weights of 0 and 1, nothing that is not a number. */
START_TEST(large_scores_match_the_formula)
{
    EACH_PLACED(v)
    for (int by = 30; by <= 3000 && runs(v, _i & 1); by *= 100) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 23, 2, 5, 7 }, _i & 1);
        Subject s = mixing_subject(&m);

        m.length = _i & 2 ? mixing_lengths(mem, m.s) : NULL;
        scale(m.x[Q], by);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        if (in_double)
            check_formula(&s);
        if (in_double && m.causal && attention_decodes(v->attention))
            check_steps(mem, &m, m.s.T);
        arena_free(mem);
    }
}
END_TEST

/* And those before it have none of it. */
START_TEST(a_nan_value_affects_only_its_own_row)
{
    enum { HERE = 13 };

    EACH_PLACED(v)
    if (runs(v, true)) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 23, 1, 5, 7 }, true);

        m.x[V]->data[HERE * m.s.E + 2] = R(nan(""));
        Outcome o = mixing_outcome(mem, &m, NULL);
        ck_assert_msg(isnan(o.y[HERE * m.s.E + 2]), "%s", m.name);
        ck_assert_msg(all_finite(o.y, (size_t)(HERE * m.s.E + 2)), "%s", m.name);
        arena_free(mem);
    }
}
END_TEST

Suite *suite_placed(void)
{
    Suite *s = suite_create("placed");
    TCase *t = group(s, "placed");

    tcase_add_loop_test(t, outputs_and_slopes_match_the_formula, 0, 4);
    tcase_add_loop_test(t, large_scores_match_the_formula, 0, 4);
    tcase_add_test(t, a_nan_value_affects_only_its_own_row);
    return s;
}
