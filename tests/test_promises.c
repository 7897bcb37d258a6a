/* What holds whatever an attention computes, by what its row says of it. _i is `causal`. */
#include "tests/mixings.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

/* Rows of weights that are positive and sum to 1: rotated features are not in the denominator. */
static bool averages(const Variant *v)
{
    const bool positive = !(v->traits & (RECTIFIED | SIGNED | SQUARED));

    return (v->traits & AVERAGES) ||
           ((v->traits & QUOTIENT) && positive && (!v->rope || variant_rotates_before(v)));
}

/* Whether row i of sequence b sees key j in the mix. */
static bool sees(const Mixing *m, int b, int i, int j)
{
    const PlainMix mix = {
        .attention = m->attention, .T = m->s.T, .causal = m->causal, .set = m->variant->set
    };
    const PlainHead head = { .mix = &mix,
                             .T = m->s.T,
                             .window = variant_window(m->variant),
                             .length = m->length ? m->length[b] : m->s.T };

    return plain_sees(&head, i, j);
}

/* With v_j the j-th unit vector, o_i is row i of the attention matrix. */
static void check_weights(const Mixing *m, const real *A)
{
    int T = m->s.T;

    for (int i = 0; i < 4 * T; i++) {
        double sum = 0;
        int wrong = 0, seen = 0;

        for (int j = 0; j < T; j++) {
            real w = A[i * T + j];
            bool visible = sees(m, i / T, i % T, j);

            wrong += !(w >= 0) || signbit(w) || (w != 0 && !visible);
            seen += visible;
            sum += (double)w;
        }
        ck_assert_msg(wrong == 0, "%s: %d weights of row %d", m->name, wrong, i);
        ck_assert_msg(fabs(sum - (seen > 0)) <= (in_double ? 1e-13 : 2.2e-6), "%s: row %d: %g",
                      m->name, i, sum);
    }
}

START_TEST(weights_are_not_negative_and_sum_to_1)
{
    int number = 0;

    EACH_VARIANT(v)
    {
        number++;
        const bool long_one = v->plain && !sanitized;
        int T = in_double ? (long_one ? 150 : 50) : long_one ? 300 : 130;
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, T, 1, 6, T }, _i);

        if (averages(v) && (in_double || !(v->traits & CANCELS)) && !spared(number + _i, 2)) {
            m.length = mixing_lengths(mem, m.s);
            for (size_t i = 0; i < m.x[V]->n; i++)
                m.x[V]->data[i] = R(i % (size_t)T == i / (size_t)T % (size_t)T);
            scale(m.x[Q], v->attention->operands ? 1 : 3);
            Subject s = mixing_subject(&m);
            Tape tape = tape_open(2);
            check_weights(&m, s.f(&tape, s.ctx)->data);
            tape_close(&tape);
        }
        arena_free(mem);
    }
}
END_TEST

/* Every result between the least and the largest v of its sequence and feature. */
static void check_between(const Mixing *m, const real *o)
{
    int n = mixing_width(m, V), outside = 0;

    for (int b = 0; b < m->s.B; b++)
        for (int l = 0; l < n; l++) {
            const real *v = m->x[V]->data + mixing_before(m, b, 0, n) + l;
            const real *y = o + mixing_before(m, b, 0, n) + l;
            double least = HUGE_VAL, most = -HUGE_VAL;

            for (int t = 0; t < m->s.T; t++) {
                least = fmin(least, (double)v[t * n]);
                most = fmax(most, (double)v[t * n]);
            }
            for (int t = 0; t < m->s.T; t++)
                outside += !((double)y[t * n] >= least - 1e-6 && (double)y[t * n] <= most + 1e-6);
        }
    ck_assert_msg(outside == 0, "%s: %d outside", m->name, outside);
}

START_TEST(an_average_lies_between_what_it_averages)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 200, 2, 5, 7 }, _i);

        if (averages(v) && (in_double || !(v->traits & CANCELS))) {
            check_between(&m, mixing_outcome(mem, &m, NULL).y);
            for (size_t i = 0; i < m.x[V]->n; i++)
                m.x[V]->data[i] = R(1.7);
            Outcome o = mixing_outcome(mem, &m, NULL);
            double d = distance(o.y, m.x[V]->data, o.n);
            ck_assert_msg(d <= (in_double ? 1e-13 : 1e-6), "%s: %g", m.name, d);
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(logits_of_any_size_give_finite_averages_and_gradients)
{
    static const double sizes[] = { 100, 1e5, 1e15 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes) && (v->traits & AVERAGES); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 131, 2, 5, 7 }, _i);

        scale(m.x[K], sizes[i]);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        check_between(&m, o.y);
        arena_free(mem);
    }
}
END_TEST

/* The first key need not have the largest logit, nor any be near another. */
START_TEST(pools_of_any_logits_are_finite)
{
    EACH_VARIANT(v)
    if (!(v->traits & HAS_MATRIX)) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 131, 2, 6, 6 }, _i);
        Subject s = mixing_subject(&m);

        for (int j = m.batched; j < m.n; j++)
            if (m.operand[j]->ndim == 2)
                scale(m.operand[j], 4000);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        if (in_double)
            check_formula(&s);
        arena_free(mem);
    }
}
END_TEST

/*
 * Entries of all sizes up to 60 on either side, as features from 1e-26 to 1e26. What
 * RoPE turns is not in the denominator, so the quotient itself can be out of range.
 */
START_TEST(large_exponentials_of_q_and_k_are_exact)
{
    EACH_VARIANT(v)
    for (int lengths = 0; lengths < 2 && (v->traits & EXACT_TO_60) && !v->rope; lengths++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 131, 2, 5, 7 }, _i);
        Subject s = mixing_subject(&m);

        m.length = lengths ? mixing_lengths(mem, m.s) : NULL;
        for (int j = Q; j <= K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                m.x[j]->data[i] = R(fmax(-60, fmin(60, 40 * (double)m.x[j]->data[i])));
        check_formula(&s);
        Outcome o = mixing_outcome(mem, &m, weights());
        check_finite(&m, &o);
        arena_free(mem);
    }
}
END_TEST

/* Features, or squares of scores, that are all 0: a quotient of 0 by 0. */
START_TEST(all_zero_weights_give_zero_and_no_gradient)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, _i);
        bool features = v->traits & RECTIFIED;
        bool scores = (v->traits & SQUARED) && (v->traits & HAS_SCORES) && !v->rope &&
                      !(v->traits & BY_DISTANCE);

        if (features || scores) {
            for (size_t i = 0; i < m.x[K]->n; i++) {
                m.x[K]->data[i] = -R(fabs((double)m.x[K]->data[i]));
                m.x[Q]->data[i] = R(fabs((double)m.x[Q]->data[i]));
            }
            mixing_rotate_back(&m);
            Outcome o = mixing_outcome(mem, &m, weights());
            ck_assert_msg(all_zero(o.y, o.n), "%s", m.name);
            for (int b = 0; b < m.s.B; b++)
                check_none(&m, &o, b, 0, m.s.T);
        }
        arena_free(mem);
    }
}
END_TEST

/* k_j + c adds q_i.c to the whole row i of logits. */
START_TEST(the_same_added_to_every_key_changes_nothing)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        const real *dy = weights();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i);

        if ((v->traits & AVERAGES) && !v->rope) {
            Outcome o = mixing_outcome(mem, &m, dy);
            for (size_t i = 0; i < m.x[K]->n; i++)
                m.x[K]->data[i] += R(0.5) * R(i % 5);
            Outcome moved = mixing_outcome(mem, &m, dy);
            check_close(m.name, moved.y, doubles(mem, o.y, o.n), o.n, forward_tolerance);
            for (int j = Q; j <= V; j++)
                check_gradient_close(&m, j, moved.dx[j], doubles(mem, o.dx[j], m.x[j]->n),
                                     backward_tolerance);
        }
        arena_free(mem);
    }
}
END_TEST

/* A softmax of each q. What is added is so large that what it is added to is rounded first. */
START_TEST(the_same_added_to_every_feature_of_q_changes_nothing)
{
    EACH_VARIANT(v)
    if ((v->traits & NORMALISES_Q) && !v->rope) {
        Arena *mem = arena_new();
        const real *dy = weights();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i);
        Tensor *q = m.x[Q];

        for (size_t i = 0; i < q->n; i++)
            q->data[i] += 1000;
        Outcome moved = mixing_outcome(mem, &m, dy);
        for (size_t i = 0; i < q->n; i++)
            q->data[i] -= 1000;
        Outcome o = mixing_outcome(mem, &m, dy);
        check_close(m.name, moved.y, doubles(mem, o.y, o.n), o.n, forward_tolerance);
        for (int j = 0; j < m.n; j++)
            check_gradient_close(&m, j, moved.dx[j], doubles(mem, o.dx[j], m.operand[j]->n),
                                 backward_tolerance);
        arena_free(mem);
    }
}
END_TEST

/* What was at position step t + first (modulo the length) comes to t. */
static void move(Arena *mem, Mixing *m, int which, int step, int first)
{
    int n = mixing_width(m, which);
    const real *x = m->x[which]->data;
    Tensor *y = leaf(mem, 0, 0, m->x[which]->ndim, m->x[which]->dim);

    for (int b = 0; b < m->s.B; b++)
        for (int t = 0; t < m->s.T; t++)
            memcpy(y->data + mixing_before(m, b, t, n),
                   x + mixing_before(m, b, (step * t + first) % m->s.T, n),
                   (size_t)n * sizeof(real));
    m->x[which] = y;
}

static void shuffle(Arena *mem, Mixing *m, int which)
{
    move(mem, m, which, 5, 3);
}

START_TEST(shuffled_positions_give_shuffled_results)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, false);
        int n = mixing_width(&m, V);

        if (variant_ignores_positions(v)) {
            Outcome o = mixing_outcome(mem, &m, NULL);
            double *want = arena_take(mem, o.n * sizeof *want);

            for (int j = 0; j < m.batched; j++)
                shuffle(mem, &m, m.which[j]);
            for (int b = 0; b < m.s.B; b++)
                for (int t = 0; t < m.s.T; t++)
                    for (int i = 0; i < n; i++)
                        want[mixing_before(&m, b, t, n) + (size_t)i] =
                            (double)o.y[mixing_before(&m, b, (5 * t + 3) % m.s.T, n) + (size_t)i];
            Outcome shuffled = mixing_outcome(mem, &m, NULL);
            check_close(m.name, shuffled.y, want, o.n, forward_tolerance);
        }
        arena_free(mem);
    }
}
END_TEST

/* Fastformer's p_j is made of the prefix of j: it does mind. */
START_TEST(the_last_position_does_not_depend_on_the_order_of_earlier_ones)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, true);
        int n = mixing_width(&m, V);

        if (variant_ignores_positions(v) && m.causal && (v->traits & HAS_MATRIX)) {
            Outcome o = mixing_outcome(mem, &m, NULL);
            shuffle(mem, &m, K);
            shuffle(mem, &m, V);
            Outcome shuffled = mixing_outcome(mem, &m, NULL);
            for (int b = 0; b < m.s.B; b++) {
                size_t last = mixing_before(&m, b, m.s.T - 1, n);
                check_close(m.name, shuffled.y + last, doubles(mem, o.y + last, (size_t)n),
                            (size_t)n, forward_tolerance);
            }
        }
        arena_free(mem);
    }
}
END_TEST

static int count_seen(const Mixing *m, int i)
{
    int n = 0;

    for (int j = 0; j < m->s.T; j++)
        n += sees(m, 0, i, j);
    return n;
}

/*
 * How far row i of A is from row i + s of another, s columns on, up to a factor: what a row is
 * divided by may change. Entropy-invariant scores depend on the number of keys, too.
 */
static double row_off(const Mixing *m, const real *A, const real *other, int i, int s)
{
    const int T = m->s.T;
    double dot = 0, square = 0, most = 0, off = 0;

    if ((m->variant->traits & (AVERAGES | COUNTS_KEYS)) && count_seen(m, i) != count_seen(m, i + s))
        return 0;
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < T - s; j++) {
            const double a = (double)A[i * T + j], b = (double)other[(i + s) * T + j + s];

            if (!sees(m, 0, i, j) || !sees(m, 0, i + s, j + s))
                continue;
            if (pass == 0)
                dot += a * b, square += a * a, most = fmax(most, fabs(b));
            else
                off = fmax(off, fabs(b - dot / square * a));
        }
    return square > 0 ? off / most : most;
}

static double matrix_off(Arena *mem, Mixing *m, int s)
{
    const size_t T = (size_t)m->s.T, n = (size_t)(m->s.B * m->s.H) * T * T;
    real *A = arena_take(mem, n * sizeof *A), *moved = arena_take(mem, n * sizeof *moved);
    Tape tape = tape_open(1);
    double off = 0;

    tape.forward_only = true;
    Mix in = mixing_mix(m);
    attention_matrix(&tape, &in, A);
    for (int j = 0; j < m->batched; j++)
        if (m->which[j] != V)
            move(mem, m, m->which[j], 1, m->s.T - s);
    in = mixing_mix(m);
    attention_matrix(&tape, &in, moved);
    for (size_t h = 0; h < n; h += T * T)
        for (int i = 0; i < m->s.T - s; i++)
            off = fmax(off, row_off(m, A + h, moved + h, i, s));
    tape_close(&tape);
    return off;
}

/* What says that its weights are no function of the distance must not be one. */
START_TEST(rope_weights_do_not_change_when_all_positions_shift)
{
    EACH_VARIANT(v)
    for (int s = 1; s < 30 && v->rope && (v->traits & HAS_MATRIX); s += 22) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 6, 5 }, _i);

        mixing_leave_kinks(&m);
        const double off = v->traits & BLOCKED ? 0 : matrix_off(mem, &m, s);
        if (v->traits & BY_POSITION)
            ck_assert_msg(off > 1e-3, "%s, by %d: only %.1e off", m.name, s, off);
        else
            ck_assert_msg(off <= (in_double ? 1e-12 : 1e-3), "%s, by %d: %.1e off", m.name, s, off);
        arena_free(mem);
    }
}
END_TEST

START_TEST(twice_the_values_is_twice_the_result)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i);
        Outcome once = mixing_outcome(mem, &m, NULL);

        scale(m.x[V], 2);
        Outcome o = mixing_outcome(mem, &m, NULL);
        for (size_t i = 0; i < o.n; i++)
            once.y[i] *= 2;
        ck_assert_msg(same_bits(o.y, once.y, o.n) == !(v->traits & AFFINE_IN_V), "%s", m.name);
        arena_free(mem);
    }
}
END_TEST

/* Lengths of several blocks, which are of 4 in the proof build. */
static const int several = sizeof(real) == sizeof(double) ? 37 : 71;

/* A test that each attention keeps a promise; where it is set, in two of the four masks. */
static void keep(int causal, void (*check)(const Subject *s))
{
    EACH_VARIANT(v)
    for (int padded = 0; padded < 2; padded++) {
        if (!v->plain && padded != causal)
            continue;
        Arena *mem = arena_new();
        Shape shape =
            v->plain ? (Shape){ 3, 2 * several - 11, 3, 8, 5 } : (Shape){ 2, several, 2, 8, 5 };
        Mixing m = mixing(mem, v, shape, causal);
        Subject s = mixing_subject(&m);

        m.length = padded ? mixing_lengths(mem, m.s) : NULL;
        check(&s);
        arena_free(mem);
    }
}

START_TEST(threads_do_not_change_a_bit_of_an_attention)
{
    keep(_i, check_threads);
}
END_TEST

START_TEST(the_backward_of_an_attention_adds_to_what_is_there)
{
    keep(_i, check_backward_adds);
}
END_TEST

START_TEST(a_zero_output_gradient_of_an_attention_gives_zero_gradients)
{
    keep(_i, check_no_upstream_no_gradient);
}
END_TEST

START_TEST(gradients_of_an_attention_are_linear_in_the_output_gradient)
{
    keep(_i, check_twice_upstream_twice_gradient);
}
END_TEST

START_TEST(an_attention_leaves_its_operands_alone)
{
    keep(_i, check_operands_untouched);
}
END_TEST

static void check_in_any_batch(Arena *mem, const Mixing *all)
{
    Mixing whole = *all;
    const Outcome o = mixing_outcome(mem, &whole, weights());

    for (int b = 0; b < all->s.B; b++) {
        Mixing one = *all;

        one.s.B = 1;
        one.length = all->length ? all->length + b : NULL;
        for (int j = 0; j < all->batched; j++)
            one.x[all->which[j]] = sequence(mem, all->operand[j], b);
        Subject alone = mixing_subject(&one);
        check_alone_as_in_batch(&o, all->s.B, &alone, b, all->batched);
    }
}

START_TEST(a_sequence_is_attended_the_same_in_any_batch)
{
    EACH_VARIANT(v)
    for (int padded = 0; padded < 2; padded++) {
        Arena *mem = arena_new();
        Mixing all = mixing(mem, v, (Shape){ 4, several, 2, 8, 5 }, _i);

        all.length = padded ? mixing_lengths(mem, all.s) : NULL;
        check_in_any_batch(mem, &all);
        arena_free(mem);
    }
}
END_TEST

Suite *suite_promises(void)
{
    Suite *s = suite_create("promises");
    TCase *promises = group(s, "promises");
    TCase *threads = group(s, "threads"); /* alone under the thread sanitizer */

    tcase_add_loop_test(threads, threads_do_not_change_a_bit_of_an_attention, 0, 2);
    tcase_add_loop_test(threads, weights_are_not_negative_and_sum_to_1, 0, 2);
    tcase_add_loop_test(promises, an_average_lies_between_what_it_averages, 0, 2);
    tcase_add_loop_test(promises, logits_of_any_size_give_finite_averages_and_gradients, 0, 2);
    tcase_add_loop_test(promises, pools_of_any_logits_are_finite, 0, 2);
    tcase_add_loop_test(promises, large_exponentials_of_q_and_k_are_exact, 0, 2);
    tcase_add_loop_test(promises, all_zero_weights_give_zero_and_no_gradient, 0, 2);
    tcase_add_loop_test(promises, the_same_added_to_every_key_changes_nothing, 0, 2);
    tcase_add_loop_test(promises, the_same_added_to_every_feature_of_q_changes_nothing, 0, 2);
    tcase_add_test(promises, shuffled_positions_give_shuffled_results);
    tcase_add_test(promises, the_last_position_does_not_depend_on_the_order_of_earlier_ones);
    tcase_add_loop_test(promises, rope_weights_do_not_change_when_all_positions_shift, 0, 2);
    tcase_add_loop_test(promises, twice_the_values_is_twice_the_result, 0, 2);
    tcase_add_loop_test(promises, the_backward_of_an_attention_adds_to_what_is_there, 0, 2);
    tcase_add_loop_test(promises, a_zero_output_gradient_of_an_attention_gives_zero_gradients, 0,
                        2);
    tcase_add_loop_test(promises, gradients_of_an_attention_are_linear_in_the_output_gradient, 0,
                        2);
    tcase_add_loop_test(promises, an_attention_leaves_its_operands_alone, 0, 2);
    tcase_add_loop_test(promises, a_sequence_is_attended_the_same_in_any_batch, 0, 2);
    return s;
}
