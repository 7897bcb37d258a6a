/* What an attention may see and what it may not: the future, padding, windows. _i is `causal`. */
#include "tests/mixings.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights that are positive and sum to 1 without being a softmax's: those of positive features. */
static bool is_positive(const Variant *v)
{
    return (v->traits & QUOTIENT) && !(v->traits & (RECTIFIED | SIGNED | SQUARED));
}

/* And its weight cannot change: nothing is passed on to q and k. */
START_TEST(the_value_of_a_single_visible_key_is_the_result)
{
    Arena *mem = arena_new();
    const real *dy = weights();

    EACH_VARIANT(v)
    {
        Mixing m = mixing(mem, v, (Shape){ 3, 1, 2, 6, 37 }, _i);
        double small = in_double ? 1e-14 : 1e-5;

        if (!(v->traits & AVERAGES) && !is_positive(v))
            continue;
        Outcome o = mixing_outcome(mem, &m, dy);
        if ((v->traits & AVERAGES)) {
            ck_assert_msg(same_bits(o.y, m.x[V]->data, o.n), "%s", m.name);
            small = 0;
        }
        ck_assert_double_le(distance(o.y, m.x[V]->data, o.n), in_double ? 1e-14 : 1e-6);
        for (int j = Q; j <= K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                ck_assert_msg(fabs((double)o.dx[j][i]) <= small, "%s: %g", m.name,
                              (double)o.dx[j][i]);
    }
    arena_free(mem);
}
END_TEST

static void check_same_up_to(const Mixing *m, const Outcome *o, const Outcome *clean, int t)
{
    int n = mixing_width(m, V);

    for (int b = 0; b < m->s.B; b++) {
        size_t at = mixing_before(m, b, 0, n);
        ck_assert_msg(same_bits(o->y + at, clean->y + at, (size_t)((t + 1) * n)),
                      "%s: what comes after position %d is seen there", m->name, t);
    }
}

/* Not zeros only: bits. What is seen at t is what is at t or before. */
START_TEST(the_future_does_not_leak)
{
    static const struct {
        Shape s;
        int at;
    } rows[] = {
        { { 2, 71, 2, 8, 5 }, 0 },  { { 2, 71, 2, 8, 5 }, 31 }, { { 2, 71, 2, 8, 5 }, 64 },
        { { 2, 9, 2, 8, 6 }, 4 }, /* a tile whose last number is not padding */
        { { 2, 71, 2, 8, 5 }, 1 },  { { 2, 71, 2, 8, 5 }, 32 }, { { 2, 71, 2, 8, 5 }, 63 },
        { { 2, 71, 2, 8, 5 }, 69 },
    };
    const real values[] = { R(3.5), R(nan("")), R(HUGE_VAL), R(-1e30), R(-HUGE_VAL) };

    EACH_CAUSAL(v)
    for (int p = 0; p < (v->plain ? COUNT(rows) : 4); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, rows[p].s, true);
        Outcome clean = mixing_outcome(mem, &m, NULL);

        for (int i = 0; i < (v->plain ? COUNT(values) : 3); i++) {
            for (int b = 0; b < m.s.B; b++)
                for (int t = rows[p].at + 1; t < m.s.T; t++)
                    set_position(&m, b, t, values[i]);
            Outcome o = mixing_outcome(mem, &m, NULL);
            check_same_up_to(&m, &o, &clean, rows[p].at);
        }
        arena_free(mem);
    }
}
END_TEST

static void check_nan_steps(Mixing m, int which, int t)
{
    Arena *mem = arena_new();

    m.x[which]->data[t * m.s.H * m.s.D + 1] = R(nan(""));
    const Outcome whole = mixing_outcome(mem, &m, NULL);
    const real *o = mixing_steps(mem, &m, m.s.T);
    for (size_t i = 0; i < whole.n; i++)
        ck_assert_msg(!isnan(o[i]) == !isnan(whole.y[i]),
                      "%s: a NaN in operand %d at %d: number %zu is %g, decoded %g", m.name, which,
                      t, i, (double)whole.y[i], (double)o[i]);
    arena_free(mem);
}

START_TEST(decoding_has_nan_where_the_whole_sequence_has_it)
{
    static const int positions[] = { 0, 5, 31 };

    EACH_CAUSAL(v)
    for (int i = 0; i < 2 * COUNT(positions) && attention_decodes(v->attention); i++) {
        Arena *mem = arena_new();
        const Mixing m = mixing(mem, v, (Shape){ 1, 37, 2, 4, 4 }, true);
        const int key = v->attention->keys_are_q ? Q : K;

        if (!minds_length(&m))
            check_nan_steps(m, i % 2 ? V : key, positions[i / 2]);
        arena_free(mem);
    }
}
END_TEST

/* That of the last position, which no row before it sees, and whose own row has no loss. */
START_TEST(a_nan_value_has_no_part_in_gradients_of_earlier_queries)
{
    static const int sizes[] = { 2, 32, 71 };

    EACH_CAUSAL(v)
    for (int i = 0; i < COUNT(sizes) && (v->traits & HAS_MATRIX); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, sizes[i], 2, 8, 5 }, true);
        const int last = sizes[i] - 1, n = mixing_width(&m, Q);
        const real *dy = weights_until(mem, &m, last);
        const Outcome clean = mixing_outcome(mem, &m, dy);

        for (int b = 0; b < m.s.B; b++)
            m.x[V]->data[mixing_before(&m, b, last, mixing_width(&m, V))] = R(nan(""));
        const Outcome o = mixing_outcome(mem, &m, dy);
        for (int b = 0; b < m.s.B; b++) {
            const size_t at = mixing_before(&m, b, 0, n);

            ck_assert_msg(same_bits(o.dx[Q] + at, clean.dx[Q] + at, (size_t)(last * n)), "%s",
                          m.name);
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(a_loss_has_no_gradient_at_later_positions)
{
    static const int positions[] = { 0, 31, 64, 1, 32, 63, 69 };

    EACH_CAUSAL(v)
    for (int p = 0; p < (v->plain ? COUNT(positions) : 3); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, true);
        Outcome o = mixing_outcome(mem, &m, weights_until(mem, &m, positions[p] + 1));

        for (int b = 0; b < m.s.B; b++)
            check_none(&m, &o, b, positions[p] + 1, m.s.T);
        arena_free(mem);
    }
}
END_TEST

/* The first n positions of every sequence. */
static Mixing prefix(Arena *mem, const Mixing *m, int n)
{
    Shape s = m->s;

    s.T = n;
    Mixing p = mixing(mem, m->variant, s, m->causal);
    for (int j = m->batched; j < m->n; j++)
        p.x[m->which[j]] = m->operand[j];
    for (int b = 0; b < s.B; b++)
        for (int j = 0; j < m->batched; j++) {
            int w = mixing_width(m, m->which[j]);

            memcpy(p.operand[j]->data + mixing_before(&p, b, 0, w),
                   m->operand[j]->data + mixing_before(m, b, 0, w), (size_t)(n * w) * sizeof(real));
        }
    return p;
}

START_TEST(a_prefix_gives_the_same_result_alone)
{
    EACH_CAUSAL(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, true);
        Outcome whole = mixing_outcome(mem, &m, NULL);

        for (int n = 1; n < m.s.T && !minds_length(&m); n += v->plain ? 1 : 7) {
            Mixing p = prefix(mem, &m, n);
            Outcome o = mixing_outcome(mem, &p, NULL);

            for (int b = 0; b < m.s.B; b++)
                ck_assert_msg(same_bits(o.y + mixing_before(&p, b, 0, mixing_width(&m, V)),
                                        whole.y + mixing_before(&m, b, 0, mixing_width(&m, V)),
                                        (size_t)(n * mixing_width(&m, V))),
                              "%s: the first %d", m.name, n);
        }
        arena_free(mem);
    }
}
END_TEST

/* Rows in the padding have the bits of the others, unless their own v is in them. */
static void check_same_but_for_padding(const Mixing *m, const Outcome *o, const Outcome *clean)
{
    int n = mixing_width(m, V);

    for (int b = 0; b < m->s.B; b++) {
        int rows = (m->variant->traits & HAS_MATRIX) ? m->s.T : m->length[b];

        ck_assert_msg(same_bits(o->y + mixing_before(m, b, 0, n),
                                clean->y + mixing_before(m, b, 0, n), (size_t)(rows * n)),
                      "%s: a padded key of sequence %d is seen", m->name, b);
    }
}

START_TEST(padding_is_not_seen)
{
    const real values[] = { R(3.5), R(nan("")), R(HUGE_VAL) };

    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 8, 6 }, _i);

        m.length = mixing_lengths(mem, m.s);
        Outcome clean = mixing_outcome(mem, &m, NULL);
        for (int i = 0; i < COUNT(values); i++) {
            for (int b = 0; b < m.s.B; b++)
                for (int t = m.length[b]; t < m.s.T; t++)
                    set_key(&m, b, t, values[i]);
            Outcome o = mixing_outcome(mem, &m, NULL);
            check_same_but_for_padding(&m, &o, &clean);
        }
        arena_free(mem);
    }
}
END_TEST

/* Sums may be cut into other parts. */
#define TOLERANCE (sizeof(real) == sizeof(double) ? 1e-12 : 1e-4)

static void check_rows_alike(const Mixing *m, const Mixing *p, const Outcome *whole,
                             const Outcome *o)
{
    const int w = mixing_width(m, V), n = p->s.T * w;

    for (int b = 0; b < m->s.B; b++)
        for (int i = 0; i < n; i++) {
            const double got = (double)whole->y[mixing_before(m, b, 0, w) + (size_t)i],
                         want = (double)o->y[mixing_before(p, b, 0, w) + (size_t)i];

            ck_assert_msg(fabs(got - want) <= TOLERANCE * fmax(1, fabs(want)),
                          "%s: %d positions of %d, sequence %d, row %d: %g, alone %g", m->name,
                          p->s.T, m->s.T, b, i / w, got, want);
        }
}

START_TEST(a_padded_sequence_gives_the_result_of_the_sequence_alone)
{
    static const int sizes[] = { 1, 5, 24, 50 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, _i);

        if (minds_length(&m)) {
            arena_free(mem);
            continue;
        }
        Mixing p = prefix(mem, &m, sizes[i]);
        const int length[] = { sizes[i], sizes[i], sizes[i], sizes[i] };
        const Outcome alone = mixing_outcome(mem, &p, NULL);

        m.length = length;
        const Outcome whole = mixing_outcome(mem, &m, NULL);
        check_rows_alike(&m, &p, &whole, &alone);
        arena_free(mem);
    }
}
END_TEST

/* What has no matrix may pool values, and gates, at padding as well. */
static bool is_of_keys(const Mixing *m, int j)
{
    bool pools = !(m->variant->traits & HAS_MATRIX);

    return pools ? m->which[j] == K : !attention_operand(m->attention, m->which[j])->own_row;
}

START_TEST(padding_gets_no_gradient)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 8, 5 }, _i);

        m.length = mixing_lengths(mem, m.s);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        for (int b = 0; b < m.s.B; b++)
            for (int j = 0; j < m.batched; j++) {
                if (!is_of_keys(&m, j))
                    continue;
                int n = mixing_width(&m, m.which[j]);

                ck_assert_msg(all_zero(o.dx[j] + mixing_before(&m, b, m.length[b], n),
                                       (size_t)((m.s.T - m.length[b]) * n)),
                              "%s: operand %d", m.name, j);
            }
        arena_free(mem);
    }
}
END_TEST

START_TEST(padding_gets_no_gradient_whatever_its_keys_are)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 8, 5 }, _i);
        int n = mixing_width(&m, K);

        m.length = mixing_lengths(mem, m.s);
        for (int b = 0; b < m.s.B; b++)
            for (int t = m.length[b]; t < m.s.T; t++)
                set_key(&m, b, t, R(nan("")));
        Outcome o = mixing_outcome(mem, &m, weights());
        for (int b = 0; b < m.s.B; b++)
            for (int j = 0; j < m.batched; j++)
                ck_assert_msg(
                    m.which[j] != K || all_zero(o.dx[j] + mixing_before(&m, b, m.length[b], n),
                                                (size_t)((m.s.T - m.length[b]) * n)),
                    "%s: sequence %d: padding, whose keys are NaN, has a gradient", m.name, b);
        arena_free(mem);
    }
}
END_TEST

START_TEST(a_position_that_sees_no_key_gives_zeros_and_passes_no_gradient)
{
    static const int sizes[] = { 1, 7, 71 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, sizes[i], 2, 8, 5 }, _i);

        m.length = (int[]){ sizes[i], 0 };
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        ck_assert_msg(all_zero(o.y + o.n / 2, o.n / 2), "%s", m.name);
        check_none(&m, &o, 1, 0, m.s.T);
        arena_free(mem);
    }
}
END_TEST

/* One position holds a value: rows further away have the bits that they have without. */
static void check_outside_is_not_seen(const Variant *v, bool causal, real value)
{
    static const int positions[] = { 0, 31, 64, 133 };
    int w = variant_window(v), n;

    for (int p = 0; p < COUNT(positions); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 134, 2, 6, 5 }, causal);
        Outcome clean = mixing_outcome(mem, &m, NULL);

        n = mixing_width(&m, V);
        for (int b = 0; b < m.s.B; b++)
            set_key(&m, b, positions[p], value);
        Outcome o = mixing_outcome(mem, &m, NULL);
        for (int t = 0; t < m.s.T; t++)
            if (abs(t - positions[p]) > w)
                for (int b = 0; b < m.s.B; b++)
                    ck_assert_msg(same_bits(o.y + mixing_before(&m, b, t, n),
                                            clean.y + mixing_before(&m, b, t, n), (size_t)n),
                                  "%s: %g at %d is seen at %d", m.name, (double)value, positions[p],
                                  t);
        arena_free(mem);
    }
}

START_TEST(a_key_outside_the_window_is_not_seen)
{
    EACH_VARIANT(v)
    if (variant_window(v)) {
        check_outside_is_not_seen(v, _i, R(3.5));
        check_outside_is_not_seen(v, _i, R(nan("")));
        check_outside_is_not_seen(v, _i, R(HUGE_VAL));
    }
}
END_TEST

START_TEST(a_loss_at_one_position_has_no_gradient_outside_its_window)
{
    enum { HERE = 70 };

    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 151, 2, 6, 5 }, _i);
        real *dy = weights_until(mem, &m, HERE + 1);
        int w = variant_window(v), n = mixing_width(&m, V);

        for (int b = 0; b < m.s.B; b++)
            memset(dy + mixing_before(&m, b, 0, n), 0, (size_t)(HERE * n) * sizeof *dy);
        Outcome o = mixing_outcome(mem, &m, dy);
        for (int b = 0; b < m.s.B && w; b++) {
            check_none(&m, &o, b, 0, HERE - w);
            check_none(&m, &o, b, HERE + w + 1, m.s.T);
        }
        arena_free(mem);
    }
}
END_TEST

/* The same with another window. */
static Outcome with_window(Arena *mem, Mixing m, int window, const real *dy)
{
    Variant v = *m.variant;

    *setting_at(&v.set, "window") = window;
    m.variant = &v;
    return mixing_outcome(mem, &m, dy);
}

START_TEST(a_window_as_wide_as_the_sequence_has_no_effect)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 6, 5 }, _i);
        const real *dy = weights();

        m.length = mixing_lengths(mem, m.s);
        mixing_leave_kinks(&m);
        for (int w = 70; w < 74 && variant_window(v) == 5; w += 3) {
            Outcome none = with_window(mem, m, 0, dy), o = with_window(mem, m, w, dy);

            check_close(m.name, o.y, doubles(mem, none.y, o.n), o.n, forward_tolerance);
            for (int j = 0; j < m.n; j++)
                check_gradient_close(&m, j, o.dx[j], doubles(mem, none.dx[j], m.operand[j]->n),
                                     backward_tolerance);
        }
        arena_free(mem);
    }
}
END_TEST

Suite *suite_masks(void)
{
    Suite *s = suite_create("masks");
    TCase *masks = tcase_create("masks");

    tcase_set_timeout(masks, 300);
    tcase_add_loop_test(masks, the_value_of_a_single_visible_key_is_the_result, 0, 2);
    tcase_add_test(masks, the_future_does_not_leak);
    tcase_add_test(masks, decoding_has_nan_where_the_whole_sequence_has_it);
    tcase_add_test(masks, a_nan_value_has_no_part_in_gradients_of_earlier_queries);
    tcase_add_test(masks, a_loss_has_no_gradient_at_later_positions);
    tcase_add_test(masks, a_prefix_gives_the_same_result_alone);
    tcase_add_loop_test(masks, padding_is_not_seen, 0, 2);
    tcase_add_loop_test(masks, a_padded_sequence_gives_the_result_of_the_sequence_alone, 0, 2);
    tcase_add_loop_test(masks, padding_gets_no_gradient, 0, 2);
    tcase_add_loop_test(masks, padding_gets_no_gradient_whatever_its_keys_are, 0, 2);
    tcase_add_loop_test(masks, a_key_outside_the_window_is_not_seen, 0, 2);
    tcase_add_loop_test(masks, a_loss_at_one_position_has_no_gradient_outside_its_window, 0, 2);
    tcase_add_loop_test(masks, a_window_as_wide_as_the_sequence_has_no_effect, 0, 2);
    tcase_add_loop_test(masks, a_position_that_sees_no_key_gives_zeros_and_passes_no_gradient, 0,
                        2);
    suite_add_tcase(s, masks);
    return s;
}
