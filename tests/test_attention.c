/*
 * Every attention of the table in every variant, alone and in a block: against
 * its formula, and for what must hold whatever it computes. In the loop tests _i
 * is `causal`, where nothing else is said.
 */
#include "tests/suites.h"
#include "tests/variants.h"

#include <stdlib.h>
#include <string.h>

#define EACH_VARIANT(v) for (const Variant *v = variant_next(NULL); v; v = variant_next(v))

/* Two blocks and more of positions, of numbers that fill no vector. */
static const Shape usual = { 2, 71, 2, 8, 5 };

static bool averages(const Mixing *m)
{
    return naive_attention_averages(m->attention->name, m->variant->set);
}

/* How many numbers position t of sequence b comes after, in a tensor of `width` a position. */
static size_t before(const Mixing *m, int b, int t, int width)
{
    return ((size_t)b * (size_t)m->s.T + (size_t)t) * (size_t)width;
}

static int width(const Mixing *m, MixOperand which)
{
    return m->s.H * (which == MIX_V ? m->s.E : m->s.D);
}

static void set(Mixing *m, MixOperand which, int b, int t, real to)
{
    int n = width(m, which);

    for (int i = 0; i < n; i++)
        m->x[which]->data[before(m, b, t, n) + (size_t)i] = to;
}

/* All that a position brings. */
static void set_position(Mixing *m, int b, int t, real to)
{
    for (int j = 0; j < m->batched; j++)
        set(m, m->which[j], b, t, to);
}

/* Only what other positions may see of it; Fastformer pools q, too. */
static void set_key(Mixing *m, int b, int t, real to)
{
    bool pools = m->attention->frame == FRAME_POOLED;

    for (int j = 0; j < m->batched; j++)
        if (pools || (m->which[j] != MIX_Q && m->which[j] != MIX_QL))
            set(m, m->which[j], b, t, to);
}

static void scale(Tensor *t, double by)
{
    for (size_t i = 0; i < t->n; i++)
        t->data[i] *= R(by);
}

static void check_finite(const Mixing *m, const Outcome *o)
{
    ck_assert_msg(all_finite(o->y, o->n), "%s", m->name);
    for (int j = 0; j < m->n; j++)
        ck_assert_msg(all_finite(o->dx[j], m->operand[j]->n), "%s: operand %d", m->name, j);
}

START_TEST(every_attention_has_a_name_of_its_own_a_formula_and_a_price)
{
    for (const Attention *const *a = attentions; *a; a++) {
        NaiveMix nothing = { 0 };

        ck_assert_ptr_eq(attention_find((*a)->name), *a);
        ck_assert_msg(naive_attention((*a)->name, &nothing, NULL), "%s", (*a)->name);
        ck_assert_int_gt(strlen((*a)->summary), 0);
        MixSize one = { 64, 2, 16, 16, 64, true, { 0 } }, longer = one, wider = one;

        longer.T = 128, wider.D = wider.E = 32;
        ck_assert_double_gt(attention_cost((*a), one), 0);
        ck_assert_double_ge(attention_cost((*a), longer), attention_cost((*a), one));
        ck_assert_double_gt(attention_cost((*a), wider), attention_cost((*a), one));
    }
    ck_assert_ptr_null(attention_find("no such attention"));
    ck_assert_ptr_null(attention_find(""));
}
END_TEST

START_TEST(every_attention_has_variants_that_set_all_that_it_takes)
{
    const unsigned of_layer = TAKES_KEY_SIZE | TAKES_SHARE | TAKES_GATE;

    for (const Attention *const *a = attentions; *a; a++) {
        unsigned set = 0;
        int rows = 0;

        EACH_VARIANT(v)
        if (variant_attention(v) == *a) {
            rows++;
            set |= (v->set.scale ? TAKES_SCALE : 0) | (v->set.norm ? TAKES_NORM : 0) |
                   (v->set.interaction ? TAKES_INTERACTION : 0) | (v->set.base ? TAKES_BASE : 0) |
                   (v->set.window ? TAKES_WINDOW : 0) | (v->set.horizon ? TAKES_HORIZON : 0) |
                   (v->set.chunk ? TAKES_CHUNK : 0) | (v->set.rope ? TAKES_ROPE : 0) |
                   (v->features ? TAKES_FEATURES : 0);
        }
        ck_assert_msg(rows > 0, "%s has no row in variants.c", (*a)->name);
        ck_assert_msg((set | of_layer) == ((*a)->takes | of_layer),
                      "%s takes %#x, and its variants set %#x", (*a)->name, (*a)->takes, set);
    }
}
END_TEST

/*
 * Lengths on both sides of any block's edge; most variants are content with a
 * few of them, and with half of the masks where it takes long.
 */
static const int edges[] = { 1, 2, 63, 64, 65, 131, 200, 1000, 7, 13, 95, 96, 97 };
enum { EDGES_OF_ALL = 8, SLOPES_OF_ALL = 131, LONG = 1000 };

/* _i of the tests that are run without a mask, causal, with lengths, with both. */
enum { CAUSAL = 1, LENGTHS = 2 };

static Shape shape_of(int T)
{
    return T == 97    ? (Shape){ 2, T, 2, 64, 64 }
           : T == 200 ? (Shape){ 1, T, 1, 33, 80 }
           : T == 65  ? (Shape){ 4, T, 2, 11, 7 }
           : T == 131 ? (Shape){ 2, T, 2, 5, 3 }
           : T < 1000 ? (Shape){ 4, T, 2, 5, 7 }
                      : (Shape){ 1, T, 1, 4, 5 };
}

/*
 * How many of the first operands the result depends on, and from which on, for
 * differences of 0 have no digits. A key that is seen alone passes nothing on to
 * q and k, a pool of one vector nothing to what it is pooled by, and no position
 * of the first chunk has one before it.
 */
static int varying(const Mixing *m, int *from)
{
    const Variant *v = m->variant;
    bool alone = m->s.T == 1, first = m->causal && m->s.T <= (v->set.chunk ? v->set.chunk : CHUNK);

    *from = alone && variant_is_quotient(v) ? MIX_V : MIX_Q;
    if (alone && m->x[MIX_POOL_Q])
        return m->batched;
    return m->x[MIX_QL] && first ? MIX_V + 1 : m->n;
}

/* The gradients, by the formula for them in double. */
static void check_gradient_formula(Arena *mem, Mixing *m)
{
    real *dy = weights_new(mem);
    Outcome o = mixing_outcome(mem, m, dy);
    double *x[MIX_OPERANDS], *dx[3];

    for (int j = 0; j < m->n; j++)
        x[j] = doubles(mem, m->operand[j]->data, m->operand[j]->n);
    for (int j = 0; j < 3; j++)
        dx[j] = arena_take(mem, m->operand[j]->n * sizeof(double));
    NaiveMix n = mixing_naive(m, x);
    NaiveGradient d = { doubles(mem, dy, o.n), dx[MIX_Q], dx[MIX_K], dx[MIX_V] };
    int from;
    varying(m, &from);
    if (!naive_attention_gradient(m->attention->name, &n, d))
        return;
    for (int j = from; j <= MIX_V; j++)
        check_close(m->name, o.dx[j], dx[j], m->operand[j]->n, backward_tolerance);
}

/* `how`: causal, with lengths */
static void check_formulas(const Variant *v, int T, int how)
{
    Arena *mem = arena_new();
    Mixing m = mixing(mem, v, shape_of(T), how & CAUSAL);
    Subject s = mixing_subject(&m);
    int from;

    m.length = how & LENGTHS ? mixing_lengths(mem, m.s) : NULL;
    check_formula(&s);
    mixing_leave_kinks(&m);
    check_gradient_formula(mem, &m);
    if (varying(&m, &from) == m.n && ((T == SLOPES_OF_ALL && (how == CAUSAL || how == LENGTHS)) ||
                                      (variant_is_plain(v) && (T == 7 || T == 95))))
        check_slopes(&s, 0);
    arena_free(mem);
}

START_TEST(an_attention_and_its_gradients_are_the_formulas)
{
    EACH_VARIANT(v)
    for (int i = 0; i < (variant_is_plain(v) ? COUNT(edges) : EDGES_OF_ALL); i++)
        if (edges[i] < 1000 || _i == 1 || _i == 2)
            check_formulas(v, edges[i], _i);
}
END_TEST

static void check_derivative(const Variant *v, Shape shape, int how)
{
    Arena *mem = arena_new();
    Mixing m = mixing(mem, v, shape, how & CAUSAL);
    int from, end = varying(&m, &from);

    m.length = how & LENGTHS ? mixing_lengths(mem, m.s) : NULL;
    mixing_leave_kinks(&m);
    Subject s = mixing_subject(&m);
    check_gradient(s.f, s.ctx, m.operand + from, end - from);
    arena_free(mem);
}

/* All masks at lengths 1 and 2, and two of them at 7. */
static void check_derivatives(const Variant *v, int how)
{
    int B = how & LENGTHS ? 3 : 2;

    check_derivative(v, (Shape){ B, 1, 2, 4, 3 }, how);
    check_derivative(v, (Shape){ B, 2, 2, 4, 3 }, how);
    if (how == CAUSAL || how == LENGTHS)
        check_derivative(v, (Shape){ B, 7, 2, 3, 2 }, how);
}

/* _i: causal, with lengths, D and E. */
START_TEST(the_backward_of_an_attention_is_the_derivative)
{
    static const int sizes[] = { 1, 2, 7, 13 };
    int B = _i & LENGTHS ? 4 : 2;

    EACH_VARIANT(v)
    if (!variant_is_plain(v) && _i < 4)
        check_derivatives(v, _i);
    else if (variant_is_plain(v))
        for (int i = 0; i < (_i == CAUSAL || _i == (4 | LENGTHS) ? 4 : 3); i++)
            check_derivative(
                v, _i & 4 ? (Shape){ B, sizes[i], 2, 5, 3 } : (Shape){ B, sizes[i], 3, 4, 6 }, _i);
}
END_TEST

/* And its weight cannot change: nothing is passed on to q and k. */
START_TEST(a_key_that_is_seen_alone_is_the_result)
{
    Arena *mem = arena_new();
    real *dy = weights_new(mem);

    EACH_VARIANT(v)
    {
        Mixing m = mixing(mem, v, (Shape){ 3, 1, 2, 6, 37 }, _i);
        double small = in_double ? 1e-14 : 1e-5;

        if (!variant_is_softmax(v) && !naive_attention_averages(v->attention, (Settings){ 0 }))
            continue;
        Outcome o = mixing_outcome(mem, &m, dy);
        if (variant_is_softmax(v)) {
            ck_assert_msg(same_bits(o.y, m.x[MIX_V]->data, o.n), "%s", m.name);
            small = 0;
        }
        ck_assert_double_le(distance(o.y, m.x[MIX_V]->data, o.n), in_double ? 1e-14 : 1e-6);
        for (int j = MIX_Q; j <= MIX_K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                ck_assert_msg(fabs((double)o.dx[j][i]) <= small, "%s: %g", m.name,
                              (double)o.dx[j][i]);
    }
    arena_free(mem);
}
END_TEST

static void check_same_up_to(const Mixing *m, const Outcome *o, const Outcome *clean, int t)
{
    int n = width(m, MIX_V);

    for (int b = 0; b < m->s.B; b++) {
        size_t at = before(m, b, 0, n);
        ck_assert_msg(same_bits(o->y + at, clean->y + at, (size_t)((t + 1) * n)),
                      "%s: what comes after position %d is seen there", m->name, t);
    }
}

/* Not zeros only: bits. What is seen at t is what is at t or before. */
START_TEST(the_future_does_not_leak)
{
    static const int positions[] = { 0, 31, 64, 1, 32, 63, 69 };
    const real values[] = { R(3.5), R(nan("")), R(HUGE_VAL), R(-1e30), R(-HUGE_VAL) };

    EACH_VARIANT(v)
    for (int p = 0; p < (variant_is_plain(v) ? COUNT(positions) : 3); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, true);
        Outcome clean = mixing_outcome(mem, &m, NULL);

        for (int i = 0; i < (variant_is_plain(v) ? COUNT(values) : 3); i++) {
            for (int b = 0; b < m.s.B; b++)
                for (int t = positions[p] + 1; t < m.s.T; t++)
                    set_position(&m, b, t, values[i]);
            Outcome o = mixing_outcome(mem, &m, NULL);
            check_same_up_to(&m, &o, &clean, positions[p]);
        }
        arena_free(mem);
    }
}
END_TEST

/* A dy without anything for the positions from `from` on, or up to there. */
static real *weights_until(Arena *mem, const Mixing *m, int from)
{
    real *dy = weights_new(mem);
    int n = width(m, MIX_V);

    for (int b = 0; b < m->s.B; b++)
        memset(dy + before(m, b, from, n), 0, (size_t)((m->s.T - from) * n) * sizeof *dy);
    return dy;
}

/* The gradients of all that the positions from `from` to before `to` of a sequence bring. */
static void check_none(const Mixing *m, const Outcome *o, int b, int from, int to)
{
    for (int j = 0; j < m->batched && from < to; j++) {
        int n = width(m, m->which[j]);

        ck_assert_msg(all_zero(o->dx[j] + before(m, b, from, n), (size_t)((to - from) * n)),
                      "%s: a gradient of operand %d in %d ... %d", m->name, j, from, to - 1);
    }
}

START_TEST(a_loss_up_to_here_has_no_gradient_after_it)
{
    static const int positions[] = { 0, 31, 64, 1, 32, 63, 69 };

    EACH_VARIANT(v)
    for (int p = 0; p < (variant_is_plain(v) ? COUNT(positions) : 3); p++) {
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
    for (int b = 0; b < s.B; b++)
        for (int j = 0; j < m->batched; j++) {
            int w = width(m, m->which[j]);

            memcpy(p.operand[j]->data + before(&p, b, 0, w),
                   m->operand[j]->data + before(m, b, 0, w), (size_t)(n * w) * sizeof(real));
        }
    return p;
}

/* cosformer's M is the length, unless it is told a horizon that is longer. */
static bool minds_length(const Variant *v)
{
    return variant_is(v, "cosformer") && v->set.horizon < 4096;
}

START_TEST(a_prefix_alone_is_the_prefix_of_the_whole)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, true);
        Outcome whole = mixing_outcome(mem, &m, NULL);

        for (int n = 1; n < m.s.T && !minds_length(v); n += variant_is_plain(v) ? 1 : 7) {
            Mixing p = prefix(mem, &m, n);
            Outcome o = mixing_outcome(mem, &p, NULL);

            for (int b = 0; b < m.s.B; b++)
                ck_assert_msg(same_bits(o.y + before(&p, b, 0, width(&m, MIX_V)),
                                        whole.y + before(&m, b, 0, width(&m, MIX_V)),
                                        (size_t)(n * width(&m, MIX_V))),
                              "%s: the first %d", m.name, n);
        }
        arena_free(mem);
    }
}
END_TEST

/* Rows in the padding have the bits of the others, unless their own v is in them. */
static void check_same_but_for_padding(const Mixing *m, const Outcome *o, const Outcome *clean)
{
    int n = width(m, MIX_V);

    for (int b = 0; b < m->s.B; b++) {
        int rows = m->attention->matrix ? m->s.T : m->length[b];

        ck_assert_msg(
            same_bits(o->y + before(m, b, 0, n), clean->y + before(m, b, 0, n), (size_t)(rows * n)),
            "%s: a padded key of sequence %d is seen", m->name, b);
    }
}

START_TEST(padding_is_not_seen)
{
    const real values[] = { R(3.5), R(nan("")), R(HUGE_VAL) };

    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 8, 5 }, _i);

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

START_TEST(padding_gets_no_gradient)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 8, 5 }, _i);

        m.length = mixing_lengths(mem, m.s);
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
        check_finite(&m, &o);
        for (int b = 0; b < m.s.B; b++)
            for (int j = MIX_K; j <= (m.attention->matrix ? MIX_V : MIX_K); j++) {
                int n = width(&m, (MixOperand)j);

                ck_assert_msg(all_zero(o.dx[j] + before(&m, b, m.length[b], n),
                                       (size_t)((m.s.T - m.length[b]) * n)),
                              "%s: operand %d", m.name, j);
            }
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
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
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
    int w = v->set.window, n;

    for (int p = 0; p < COUNT(positions); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 134, 2, 6, 5 }, causal);
        Outcome clean = mixing_outcome(mem, &m, NULL);

        n = width(&m, MIX_V);
        for (int b = 0; b < m.s.B; b++)
            set_key(&m, b, positions[p], value);
        Outcome o = mixing_outcome(mem, &m, NULL);
        for (int t = 0; t < m.s.T; t++)
            if (abs(t - positions[p]) > w)
                for (int b = 0; b < m.s.B; b++)
                    ck_assert_msg(same_bits(o.y + before(&m, b, t, n),
                                            clean.y + before(&m, b, t, n), (size_t)n),
                                  "%s: %g at %d is seen at %d", m.name, (double)value, positions[p],
                                  t);
        arena_free(mem);
    }
}

START_TEST(a_key_outside_the_window_is_not_seen)
{
    EACH_VARIANT(v)
    if (v->set.window) {
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
        int w = v->set.window, n = width(&m, MIX_V);

        for (int b = 0; b < m.s.B; b++)
            memset(dy + before(&m, b, 0, n), 0, (size_t)(HERE * n) * sizeof *dy);
        Outcome o = mixing_outcome(mem, &m, dy);
        for (int b = 0; b < m.s.B && w; b++) {
            check_none(&m, &o, b, 0, HERE - w);
            check_none(&m, &o, b, HERE + w + 1, m.s.T);
        }
        arena_free(mem);
    }
}
END_TEST

/* A Settings of one's own: the variant that `m` is of is in the table. */
static Outcome with_window(Arena *mem, Mixing m, int window, const real *dy)
{
    Variant v = *m.variant;

    v.set.window = window;
    m.variant = &v;
    return mixing_outcome(mem, &m, dy);
}

START_TEST(a_window_as_wide_as_the_sequence_is_none)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 71, 2, 6, 5 }, _i);
        real *dy = weights_new(mem);

        m.length = mixing_lengths(mem, m.s);
        mixing_leave_kinks(&m);
        for (int w = 70; w < 74 && v->set.window == 5; w += 3) {
            Outcome none = with_window(mem, m, 0, dy), o = with_window(mem, m, w, dy);

            check_close(m.name, o.y, doubles(mem, none.y, o.n), o.n, forward_tolerance);
            for (int j = 0; j < m.n; j++)
                check_close(m.name, o.dx[j], doubles(mem, none.dx[j], m.operand[j]->n),
                            m.operand[j]->n, backward_tolerance);
        }
        arena_free(mem);
    }
}
END_TEST

/* With v_j the j-th unit vector, o_i is row i of the attention matrix. */
static void check_weights(const Mixing *m, const real *A)
{
    int T = m->s.T;
    NaiveMix seen = mixing_naive(m, (double *[MIX_OPERANDS]){ NULL });

    for (int i = 0; i < 4 * T; i++) {
        double sum = 0;
        int wrong = 0, sees = 0;

        for (int j = 0; j < T; j++) {
            real w = A[i * T + j];
            bool visible = naive_sees(&seen, i / T, i % T, j);

            wrong += !(w >= 0) || signbit(w) || (w != 0 && !visible);
            sees += visible;
            sum += (double)w;
        }
        ck_assert_msg(wrong == 0, "%s: %d weights of row %d", m->name, wrong, i);
        ck_assert_msg(fabs(sum - (sees > 0)) <= (in_double ? 1e-13 : 2.2e-6), "%s: row %d: %g",
                      m->name, i, sum);
    }
}

START_TEST(weights_are_not_negative_and_sum_to_1)
{
    EACH_VARIANT(v)
    {
        int T = variant_is_plain(v) ? 300 : 130;
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, T, 1, 6, T }, _i);

        if (averages(&m)) {
            m.length = mixing_lengths(mem, m.s);
            for (size_t i = 0; i < m.x[MIX_V]->n; i++)
                m.x[MIX_V]->data[i] = R(i % (size_t)T == i / (size_t)T % (size_t)T);
            scale(m.x[MIX_Q], variant_is(v, "performer") ? 1 : 3);
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
    int n = width(m, MIX_V), outside = 0;

    for (int b = 0; b < m->s.B; b++)
        for (int l = 0; l < n; l++) {
            const real *v = m->x[MIX_V]->data + before(m, b, 0, n) + l;
            const real *y = o + before(m, b, 0, n) + l;
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

        if (averages(&m)) {
            check_between(&m, mixing_outcome(mem, &m, NULL).y);
            for (size_t i = 0; i < m.x[MIX_V]->n; i++)
                m.x[MIX_V]->data[i] = R(1.7);
            Outcome o = mixing_outcome(mem, &m, NULL);
            double d = distance(o.y, m.x[MIX_V]->data, o.n);
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
    for (int i = 0; i < COUNT(sizes) && variant_is_softmax(v); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 131, 2, 5, 7 }, _i);

        scale(m.x[MIX_K], sizes[i]);
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
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
    if (variant_is(v, "fastformer")) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 131, 2, 6, 6 }, _i);
        Subject s = mixing_subject(&m);

        scale(m.x[MIX_POOL_Q], 4000);
        scale(m.x[MIX_POOL_K], 4000);
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
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
START_TEST(exponentials_of_60_on_either_side_are_exact)
{
    EACH_VARIANT(v)
    for (int lengths = 0; lengths < 2 && variant_is(v, "exp") && !v->set.rope; lengths++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 131, 2, 5, 7 }, _i);
        Subject s = mixing_subject(&m);

        m.length = lengths ? mixing_lengths(mem, m.s) : NULL;
        for (int j = MIX_Q; j <= MIX_K; j++)
            for (size_t i = 0; i < m.x[j]->n; i++)
                m.x[j]->data[i] = R(fmax(-60, fmin(60, 40 * (double)m.x[j]->data[i])));
        check_formula(&s);
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
        check_finite(&m, &o);
        arena_free(mem);
    }
}
END_TEST

/* Features, or squares of scores, that are all 0: a quotient of 0 by 0. */
START_TEST(weights_that_are_all_0_give_0_and_pass_no_gradient)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, usual, _i);
        bool features = variant_is(v, "relu") || variant_is(v, "cosformer");
        bool scores = variant_is(v, "gau") && variant_squares_scores(v) && !v->set.rope;

        if (features || scores) {
            for (size_t i = 0; i < m.x[MIX_K]->n; i++) {
                m.x[MIX_K]->data[i] = -R(fabs((double)m.x[MIX_K]->data[i]));
                m.x[MIX_Q]->data[i] = R(fabs((double)m.x[MIX_Q]->data[i]));
            }
            Outcome o = mixing_outcome(mem, &m, weights_new(mem));
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
        real *dy = weights_new(mem);
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i);

        if (variant_is_softmax(v) && !v->set.rope) {
            Outcome o = mixing_outcome(mem, &m, dy);
            for (size_t i = 0; i < m.x[MIX_K]->n; i++)
                m.x[MIX_K]->data[i] += R(0.5) * R(i % 5);
            Outcome moved = mixing_outcome(mem, &m, dy);
            check_close(m.name, moved.y, doubles(mem, o.y, o.n), o.n, forward_tolerance);
            for (int j = MIX_Q; j <= MIX_V; j++)
                check_close(m.name, moved.dx[j], doubles(mem, o.dx[j], m.x[j]->n), m.x[j]->n,
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
    if (variant_is(v, "efficient")) {
        Arena *mem = arena_new();
        real *dy = weights_new(mem);
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, _i);
        Tensor *q = m.x[MIX_Q];

        for (size_t i = 0; i < q->n; i++)
            q->data[i] += 1000;
        Outcome moved = mixing_outcome(mem, &m, dy);
        for (size_t i = 0; i < q->n; i++)
            q->data[i] -= 1000;
        Outcome o = mixing_outcome(mem, &m, dy);
        check_close(m.name, moved.y, doubles(mem, o.y, o.n), o.n, forward_tolerance);
        for (int j = 0; j < m.n; j++)
            check_close(m.name, moved.dx[j], doubles(mem, o.dx[j], m.operand[j]->n),
                        m.operand[j]->n, backward_tolerance);
        arena_free(mem);
    }
}
END_TEST

/* What was at position 5t + 3 (modulo the length) comes to t. */
static void shuffle(Arena *mem, Mixing *m, MixOperand which)
{
    int n = width(m, which);
    const real *x = m->x[which]->data;
    Tensor *y = leaf(mem, 0, 0, m->x[which]->ndim, m->x[which]->dim);

    for (int b = 0; b < m->s.B; b++)
        for (int t = 0; t < m->s.T; t++)
            memcpy(y->data + before(m, b, t, n), x + before(m, b, (5 * t + 3) % m->s.T, n),
                   (size_t)n * sizeof(real));
    m->x[which] = y;
}

START_TEST(shuffled_positions_give_shuffled_results)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, false);
        int n = width(&m, MIX_V);

        if (variant_ignores_positions(v)) {
            Outcome o = mixing_outcome(mem, &m, NULL);
            double *want = arena_take(mem, o.n * sizeof *want);

            for (int j = 0; j < m.batched; j++)
                shuffle(mem, &m, m.which[j]);
            for (int b = 0; b < m.s.B; b++)
                for (int t = 0; t < m.s.T; t++)
                    for (int i = 0; i < n; i++)
                        want[before(&m, b, t, n) + (size_t)i] =
                            (double)o.y[before(&m, b, (5 * t + 3) % m.s.T, n) + (size_t)i];
            Outcome shuffled = mixing_outcome(mem, &m, NULL);
            check_close(m.name, shuffled.y, want, o.n, forward_tolerance);
        }
        arena_free(mem);
    }
}
END_TEST

/* Fastformer's p_j is made of the prefix of j: it does mind. */
START_TEST(the_last_position_does_not_mind_the_order_of_the_past)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 71, 2, 5, 7 }, true);
        int n = width(&m, MIX_V);

        if (variant_ignores_positions(v) && m.attention->matrix) {
            Outcome o = mixing_outcome(mem, &m, NULL);
            shuffle(mem, &m, MIX_K);
            shuffle(mem, &m, MIX_V);
            Outcome shuffled = mixing_outcome(mem, &m, NULL);
            for (int b = 0; b < m.s.B; b++) {
                size_t last = before(&m, b, m.s.T - 1, n);
                check_close(m.name, shuffled.y + last, doubles(mem, o.y + last, (size_t)n),
                            (size_t)n, forward_tolerance);
            }
        }
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

        scale(m.x[MIX_V], 2);
        Outcome o = mixing_outcome(mem, &m, NULL);
        for (size_t i = 0; i < o.n; i++)
            once.y[i] *= 2;
        ck_assert_msg(same_bits(o.y, once.y, o.n), "%s", m.name);
        arena_free(mem);
    }
}
END_TEST

/* Position t of sequence b of x, as a tensor of one position. */
static Tensor at_position(const Mixing *m, const Tensor *x, int b, int t)
{
    Tensor one = *x;

    one.dim[0] = one.dim[1] = 1;
    one.n = (size_t)(x->dim[2] * x->dim[3]);
    one.data = x->data + before(m, b, t, x->dim[2] * x->dim[3]);
    return one;
}

static void step(const Mixing *m, int b, int t, real *state, real *o)
{
    Tensor here[MIX_OPERANDS];
    Mix in = mixing_mix(m);

    in.length = NULL;
    for (int j = 0; j < m->batched; j++) {
        here[j] = at_position(m, m->operand[j], b, t);
        *mix_operand(&in, m->which[j]) = &here[j];
    }
    attention_step(
        m->attention,
        (Step){
            .in = &in, .t = t, .padding = m->length && t >= m->length[b], .state = state, .o = o });
}

/* The state is remembered for the longest length that it may come to, and for no other. */
static void check_steps(Arena *mem, Mixing *m, int longest)
{
    MixSize size = { longest, m->s.H, m->s.D, m->s.E, m->features, true, m->variant->set };
    size_t numbers = attention_state(m->attention, size);
    real *state = arena_take(mem, (numbers + 1) * sizeof *state);
    int n = width(m, MIX_V);
    Outcome want = mixing_outcome(mem, m, NULL);
    real *o = arena_take(mem, want.n * sizeof *o);

    for (size_t i = 0; i < want.n; i++)
        o[i] = R(nan(""));
    for (int b = 0; b < m->s.B; b++) {
        memset(state, 0, numbers * sizeof *state);
        state[numbers] = R(7.5);
        for (int t = 0; t < m->s.T; t++)
            step(m, b, t, state, o + before(m, b, t, n));
        ck_assert_msg(state[numbers] == R(7.5), "%s: the state is larger than it says", m->name);
    }
    check_close(m->name, o, doubles(mem, want.y, want.n), want.n, forward_tolerance);
}

static void check_decoding(const Variant *v, int T, bool padded, int longest)
{
    Arena *mem = arena_new();
    Mixing m =
        mixing(mem, v, T == 200 ? (Shape){ 1, T, 2, 17, 9 } : (Shape){ 4, T, 2, 5, 3 }, true);

    m.length = padded ? mixing_lengths(mem, m.s) : NULL;
    check_steps(mem, &m, longest);
    arena_free(mem);
}

/* _i: with lengths */
START_TEST(decoding_position_by_position_gives_the_causal_result)
{
    static const int sizes[] = { 1, 2, 7, 65, 200 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes) && !minds_length(v); i++) {
        check_decoding(v, sizes[i], _i, sizes[i]);
        check_decoding(v, sizes[i], _i, 2 * sizes[i] + 1);
    }
}
END_TEST

/* Only the identity has divisors of either sign far from 0. */
static double least_sign(const Variant *v)
{
    return variant_is(v, "identity") ? -1 : 1;
}

/* Makes all divisors of that sign, and smaller than the guard, if such there are. */
static bool make_divisors_small(Mixing *m, MixOperand which, double sign)
{
    const Variant *v = m->variant;

    if (!variant_is_quotient(v) || variant_is_softmax(v) || variant_is(v, "performer") ||
        variant_is(v, "efficient"))
        return false;
    if (variant_is(v, "exp") || variant_is(v, "elu"))
        for (size_t i = 0; i < m->x[MIX_Q]->n; i++) {
            m->x[MIX_Q]->data[i] -= 13;
            m->x[MIX_K]->data[i] -= 13;
        }
    else
        scale(m->x[which], sign * (variant_squares_scores(v) ? 7e-5 : 1e-9));
    return true;
}

/* Forward, decoding, and the gradients of an operand and of v. */
static void check_divisors(Arena *mem, Mixing *m, MixOperand operand)
{
    Subject s = mixing_subject(m);

    check_formula(&s);
    if (m->causal && !minds_length(m->variant))
        check_steps(mem, m, m->s.T);
    check_gradient(s.f, s.ctx, m->operand + operand, 1);
    check_gradient(s.f, s.ctx, m->operand + MIX_V, 1);
}

START_TEST(a_divisor_below_the_guard_is_the_guard_and_a_constant)
{
    EACH_VARIANT(v)
    for (int which = MIX_Q; which <= MIX_K; which++)
        for (double sign = 1; sign >= least_sign(v); sign -= 2) {
            Arena *mem = arena_new();
            Mixing m = mixing(mem, v, (Shape){ 2, 7, 2, 4, 3 }, _i);

            mixing_leave_kinks(&m);
            if (make_divisors_small(&m, (MixOperand)which, sign))
                check_divisors(mem, &m, which == MIX_Q ? MIX_K : MIX_Q);
            arena_free(mem);
        }
}
END_TEST

START_TEST(a_divisor_may_be_negative)
{
    EACH_VARIANT(v)
    if (least_sign(v) < 0) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 7, 2, 4, 3 }, _i);

        scale(m.x[MIX_Q], -1);
        check_divisors(mem, &m, MIX_Q);
        check_divisors(mem, &m, MIX_K);
        arena_free(mem);
    }
}
END_TEST

/* A test that each attention keeps a promise. */
static void keep(int causal, void (*check)(const Subject *s))
{
    EACH_VARIANT(v)
    for (int padded = 0; padded < 2; padded++) {
        Arena *mem = arena_new();
        Shape shape = variant_is_plain(v) ? (Shape){ 3, 131, 3, 8, 5 } : usual;
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

START_TEST(without_a_gradient_above_an_attention_there_is_none_below)
{
    keep(_i, check_no_upstream_no_gradient);
}
END_TEST

START_TEST(twice_the_gradient_above_an_attention_is_twice_that_below)
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
    for (int b = 0; b < all->s.B; b++) {
        Mixing whole = *all, one = *all;

        one.s.B = 1;
        one.length = all->length ? all->length + b : NULL;
        for (int j = 0; j < all->batched; j++)
            one.x[all->which[j]] = sequence(mem, all->operand[j], b);
        Subject s = mixing_subject(&whole), alone = mixing_subject(&one);
        check_alone_as_in_batch(&s, &alone, b, all->batched);
    }
}

START_TEST(a_sequence_is_attended_the_same_in_any_batch)
{
    EACH_VARIANT(v)
    for (int padded = 0; padded < 2; padded++) {
        Arena *mem = arena_new();
        Mixing all = mixing(mem, v, (Shape){ 4, 71, 2, 8, 5 }, _i);

        all.length = padded ? mixing_lengths(mem, all.s) : NULL;
        check_in_any_batch(mem, &all);
        arena_free(mem);
    }
}
END_TEST

/*
 * A small transformer of one block, with every op in it: what is between the
 * ops (memory that is handed on, results that are used twice) has no other test.
 */
typedef struct {
    const Variant *variant;
    const Attention *attention;
    bool causal;
    Tensor *x[24], *omega;
    int n, more[MIX_OPERANDS]; /* which x an operand beside q, k, v is, or is made with */
    int id[14], target[14];
} Block;

enum { BLOCK_B = 2, BLOCK_T = 7, BLOCK_H = 2, BLOCK_C = 8, BLOCK_F = 5, BLOCK_V = 6 };
enum { BLOCK_D = BLOCK_C / BLOCK_H };

enum { TABLE, POSITION, GAIN, WQ, WK, WV, WO, LN_GAIN, LN_BIAS, W1, B1, W2, W3, B3, OUT };

static Tensor *block_operand(Tape *tape, const Block *block, Tensor *a, MixOperand which)
{
    Tensor *w = block->x[which <= MIX_V ? WQ + (int)which : block->more[which]];

    if (which == MIX_OMEGA)
        return block->omega;
    if (which > MIX_V && which < MIX_QL)
        return w;
    return tensor_reshape(op_dense(tape, (Dense){ .x = a, .w = w }),
                          SHAPE(BLOCK_B, BLOCK_T, BLOCK_H, BLOCK_D));
}

static Tensor *attended(Tape *tape, const Block *block, Tensor *h)
{
    Tensor *a = op_rmsnorm(tape, h, block->x[GAIN]);
    Mix m = { .causal = block->causal, .set = block->variant->set };

    for (int j = 0; j < MIX_OPERANDS; j++)
        if (mix_needs(block->attention, m.set, (MixOperand)j))
            *mix_operand(&m, (MixOperand)j) = block_operand(tape, block, a, (MixOperand)j);
    Tensor *o = attention_mix(block->attention, tape, m);
    return op_dense(tape, (Dense){ .x = tensor_reshape(o, SHAPE(BLOCK_B, BLOCK_T, BLOCK_C)),
                                   .w = block->x[WO],
                                   .r = h });
}

static Tensor *transform(Tape *tape, void *ctx)
{
    const Block *block = ctx;
    Tensor *const *x = block->x;
    Random random = random_stream(9, RANDOM_DROPOUT, 0);
    Tensor *h = op_embedding(tape, (Embedding){ .table = x[TABLE],
                                                .position = x[POSITION],
                                                .id = block->id,
                                                .B = BLOCK_B,
                                                .T = BLOCK_T });

    h = attended(tape, block, op_dropout(tape, h, 0.2, random));
    Tensor *a = op_layernorm(tape, h, x[LN_GAIN], x[LN_BIAS]);
    Tensor *up = op_dense(tape, (Dense){ .x = a, .w = x[W1], .b = x[B1] });
    Tensor *gate = op_dense(tape, (Dense){ .x = a, .w = x[W2] });
    Tensor *s = op_add(tape, op_swiglu(tape, gate, up), op_activation(tape, up, &activation_silu));
    Dense down = { .x = s, .w = x[W3], .b = x[B3], .r = h, .f = &activation_gelu };
    h = op_dense(tape, down);
    return op_cross_entropy(tape, op_dense(tape, (Dense){ .x = h, .w = x[OUT] }), block->target);
}

/* What the attention has beside q, k and v. */
static void block_more(Arena *mem, Block *block)
{
    static const int dim[MIX_OPERANDS][3] = {
        [MIX_POOL_Q] = { BLOCK_H, BLOCK_D },
        [MIX_POOL_K] = { BLOCK_H, BLOCK_D },
        [MIX_CONCAT] = { BLOCK_H, BLOCK_D, 2 * BLOCK_D },
        [MIX_QL] = { BLOCK_C, BLOCK_C },
        [MIX_KL] = { BLOCK_C, BLOCK_C },
    };

    block->omega = leaf(mem, 59, 1, SHAPE(BLOCK_H, block->variant->features + 4, BLOCK_D));
    for (int j = MIX_POOL_Q; j < MIX_OPERANDS; j++)
        if (mix_needs(block->attention, block->variant->set, (MixOperand)j)) {
            block->more[j] = block->n;
            block->x[block->n++] = leaf(mem, 80 + (uint64_t)j, 0.5, dim[j][2] ? 3 : 2, dim[j]);
        }
}

static Block block_of(Arena *mem, const Variant *v, bool causal)
{
    Block block = { .variant = v, .attention = variant_attention(v), .causal = causal };
    const int dim[][2] = {
        [TABLE] = { BLOCK_V, BLOCK_C },
        [POSITION] = { BLOCK_T, BLOCK_C },
        [GAIN] = { BLOCK_C },
        [WQ] = { BLOCK_C, BLOCK_C },
        [WK] = { BLOCK_C, BLOCK_C },
        [WV] = { BLOCK_C, BLOCK_C },
        [WO] = { BLOCK_C, BLOCK_C },
        [LN_GAIN] = { BLOCK_C },
        [LN_BIAS] = { BLOCK_C },
        [W1] = { BLOCK_F, BLOCK_C },
        [B1] = { BLOCK_F },
        [W2] = { BLOCK_F, BLOCK_C },
        [W3] = { BLOCK_C, BLOCK_F },
        [B3] = { BLOCK_C },
        [OUT] = { BLOCK_V, BLOCK_C },
    };

    for (int i = 0; i < COUNT(dim); i++)
        block.x[i] = leaf(mem, 60 + (uint64_t)i, 0.5, dim[i][1] ? 2 : 1, dim[i]);
    block.n = COUNT(dim);
    block_more(mem, &block);
    for (int i = 0; i < BLOCK_B * BLOCK_T; i++) {
        block.id[i] = (i * i + 1) % BLOCK_V;
        block.target[i] = i % 5 == 3 ? -1 : (i * 7 + 2) % BLOCK_V;
    }
    return block;
}

START_TEST(the_backward_of_a_whole_block_is_the_derivative)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Block block = block_of(mem, v, _i);
        Subject s = { v->attention, transform, NULL, &block, block.x, block.n };
        bool more = block.n > OUT + 1;

        if (variant_is_tame(v) && !v->set.window && (variant_is_plain(v) || v->set.rope || more))
            check_gradient(transform, &block, block.x, block.n);
        check_backward_adds(&s);
        check_operands_untouched(&s);
        check_threads(&s);
        arena_free(mem);
    }
}
END_TEST

Suite *suite_attention(void)
{
    Suite *s = suite_create("attention");
    TCase *formulas = tcase_create("formulas"), *masks = tcase_create("masks"),
          *promises = tcase_create("promises");

    tcase_set_timeout(formulas, 300);
    tcase_add_test(formulas, every_attention_has_a_name_of_its_own_a_formula_and_a_price);
    tcase_add_test(formulas, every_attention_has_variants_that_set_all_that_it_takes);
    /* what takes longest is last: a mutant runs until one fails */
    tcase_add_loop_test(formulas, decoding_position_by_position_gives_the_causal_result, 0, 2);
    tcase_add_loop_test(formulas, a_divisor_below_the_guard_is_the_guard_and_a_constant, 0, 2);
    tcase_add_loop_test(formulas, a_divisor_may_be_negative, 0, 2);
    tcase_add_loop_test(formulas, the_backward_of_an_attention_is_the_derivative, 0, 8);
    tcase_add_loop_test(formulas, an_attention_and_its_gradients_are_the_formulas, 0, 4);
    tcase_add_loop_test(formulas, the_backward_of_a_whole_block_is_the_derivative, 0, 2);
    suite_add_tcase(s, formulas);
    tcase_set_timeout(masks, 300);
    tcase_add_loop_test(masks, a_key_that_is_seen_alone_is_the_result, 0, 2);
    tcase_add_test(masks, the_future_does_not_leak);
    tcase_add_test(masks, a_loss_up_to_here_has_no_gradient_after_it);
    tcase_add_test(masks, a_prefix_alone_is_the_prefix_of_the_whole);
    tcase_add_loop_test(masks, padding_is_not_seen, 0, 2);
    tcase_add_loop_test(masks, padding_gets_no_gradient, 0, 2);
    tcase_add_loop_test(masks, a_key_outside_the_window_is_not_seen, 0, 2);
    tcase_add_loop_test(masks, a_loss_at_one_position_has_no_gradient_outside_its_window, 0, 2);
    tcase_add_loop_test(masks, a_window_as_wide_as_the_sequence_is_none, 0, 2);
    tcase_add_loop_test(masks, a_position_that_sees_no_key_gives_zeros_and_passes_no_gradient, 0,
                        2);
    suite_add_tcase(s, masks);
    tcase_set_timeout(promises, 300);
    tcase_add_loop_test(promises, weights_are_not_negative_and_sum_to_1, 0, 2);
    tcase_add_loop_test(promises, an_average_lies_between_what_it_averages, 0, 2);
    tcase_add_loop_test(promises, logits_of_any_size_give_finite_averages_and_gradients, 0, 2);
    tcase_add_loop_test(promises, pools_of_any_logits_are_finite, 0, 2);
    tcase_add_loop_test(promises, exponentials_of_60_on_either_side_are_exact, 0, 2);
    tcase_add_loop_test(promises, weights_that_are_all_0_give_0_and_pass_no_gradient, 0, 2);
    tcase_add_loop_test(promises, the_same_added_to_every_key_changes_nothing, 0, 2);
    tcase_add_loop_test(promises, the_same_added_to_every_feature_of_q_changes_nothing, 0, 2);
    tcase_add_test(promises, shuffled_positions_give_shuffled_results);
    tcase_add_test(promises, the_last_position_does_not_mind_the_order_of_the_past);
    tcase_add_loop_test(promises, twice_the_values_is_twice_the_result, 0, 2);
    tcase_add_loop_test(promises, threads_do_not_change_a_bit_of_an_attention, 0, 2);
    tcase_add_loop_test(promises, the_backward_of_an_attention_adds_to_what_is_there, 0, 2);
    tcase_add_loop_test(promises, without_a_gradient_above_an_attention_there_is_none_below, 0, 2);
    tcase_add_loop_test(promises, twice_the_gradient_above_an_attention_is_twice_that_below, 0, 2);
    tcase_add_loop_test(promises, an_attention_leaves_its_operands_alone, 0, 2);
    tcase_add_loop_test(promises, a_sequence_is_attended_the_same_in_any_batch, 0, 2);
    suite_add_tcase(s, promises);
    return s;
}
