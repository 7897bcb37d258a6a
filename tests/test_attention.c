/*
 * Every attention of the table, alone and in a block: against its formula, and
 * for what must hold whatever it computes. In the loop tests _i is `causal`,
 * where nothing else is said.
 */
#include "tests/naive.h"
#include "tests/promises.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    int B, T, H, D, E;
} Shape;

/* An attention with operands: Q, K, V. */
typedef struct {
    const Attention *attention;
    Shape s;
    bool causal;
    const int *length;
    Tensor *x[3];
    char name[96]; /* and shape: for messages */
} Mixing;

enum { Q, K, V };

static Mixing mixing(Arena *mem, const Attention *a, Shape s, bool causal)
{
    Mixing m = { .attention = a, .s = s, .causal = causal };

    snprintf(m.name, sizeof m.name, "%s (B %d, T %d, H %d, D %d, E %d)%s", a->name, s.B, s.T, s.H,
             s.D, s.E, causal ? ", causal" : "");
    m.x[Q] = leaf(mem, 11, 1, SHAPE(s.B, s.T, s.H, s.D));
    m.x[K] = leaf(mem, 12, 1, SHAPE(s.B, s.T, s.H, s.D));
    m.x[V] = leaf(mem, 13, 1, SHAPE(s.B, s.T, s.H, s.E));
    return m;
}

/* Lengths of B sequences: whole, empty, one, half, whole, ... */
static const int *lengths(Arena *mem, Shape s)
{
    int *length = arena_take(mem, (size_t)s.B * sizeof *length);
    const int some[] = { s.T, 0, 1, (s.T + 1) / 2 };

    for (int b = 0; b < s.B; b++)
        length[b] = some[b % COUNT(some)];
    return length;
}

static Tensor *mix(Tape *tape, void *ctx)
{
    const Mixing *m = ctx;

    return m->attention->mix(
        tape,
        (Mix){
            .q = m->x[Q], .k = m->x[K], .v = m->x[V], .causal = m->causal, .length = m->length });
}

static NaiveMix naive_mix(const Mixing *m, double *const *x)
{
    Shape s = m->s;

    return (NaiveMix){ x[Q], x[K], x[V], s.B, s.T, s.H, s.D, s.E, m->causal, m->length };
}

static void formula(const void *ctx, double *const *x, double *y)
{
    const Mixing *m = ctx;
    NaiveMix n = naive_mix(m, x);

    ck_assert_msg(naive_attention(m->attention->name, &n, y), "%s has no formula in naive.c",
                  m->attention->name);
}

static Subject subject(Mixing *m)
{
    return (Subject){ m->name, mix, formula, m, m->x, 3 };
}

/* What comes out, and for a `dy` what goes back. */
static Outcome mixed(Arena *mem, Mixing *m, const real *dy)
{
    Subject s = subject(m);

    return outcome(mem, &s, 2, dy);
}

static bool averages(const Mixing *m)
{
    return naive_attention_averages(m->attention->name);
}

/* How many numbers position t of sequence b comes after, in a tensor of `width` a position. */
static size_t before(const Mixing *m, int b, int t, int width)
{
    return ((size_t)b * (size_t)m->s.T + (size_t)t) * (size_t)width;
}

static int width(const Mixing *m, int operand)
{
    return m->s.H * (operand == V ? m->s.E : m->s.D);
}

static void set(Mixing *m, int operand, int b, int t, real to)
{
    int n = width(m, operand);

    for (int i = 0; i < n; i++)
        m->x[operand]->data[before(m, b, t, n) + (size_t)i] = to;
}

static void scale(Tensor *t, double by)
{
    for (size_t i = 0; i < t->n; i++)
        t->data[i] *= R(by);
}

static void check_finite(const Mixing *m, const Outcome *o)
{
    ck_assert(all_finite(o->y, o->n));
    for (int j = Q; j <= V; j++)
        ck_assert_msg(all_finite(o->dx[j], m->x[j]->n), "operand %d", j);
}

START_TEST(every_attention_has_a_name_of_its_own_a_formula_and_a_price)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = { .attention = *a };
        NaiveMix nothing = naive_mix(&m, (double *[3]){ NULL });

        ck_assert_ptr_eq(attention_find((*a)->name), *a);
        ck_assert_msg(naive_attention((*a)->name, &nothing, NULL), "%s", (*a)->name);
        ck_assert_int_gt(strlen((*a)->summary), 0);
        MixSize one = { 64, 2, 16, 16, 32, true, { 0 } }, longer = one, wider = one;

        longer.T = 128, wider.D = wider.E = 32;
        ck_assert_double_gt((*a)->cost(one), 0);
        ck_assert_double_ge((*a)->cost(longer), (*a)->cost(one));
        ck_assert_double_gt((*a)->cost(wider), (*a)->cost(one));
    }
    ck_assert_ptr_null(attention_find("no such attention"));
    ck_assert_ptr_null(attention_find(""));
}
END_TEST

/* Lengths on both sides of any block's edge. */
static const int edges[] = { 1, 2, 7, 13, 63, 64, 65, 95, 96, 97, 200, 1000 };

static Shape shape_of(int T)
{
    return T == 97    ? (Shape){ 2, T, 2, 64, 64 }
           : T == 200 ? (Shape){ 1, T, 1, 33, 80 }
           : T < 1000 ? (Shape){ 4, T, 2, 11, 7 }
                      : (Shape){ 1, T, 2, 5, 8 };
}

/* The gradients, by the formula for them in double. */
static void check_gradient_formula(Arena *mem, Mixing *m)
{
    real *dy = weights_new(mem);
    Outcome o = mixed(mem, m, dy);
    double *x[3], *dx[3];

    for (int j = 0; j < 3; j++) {
        x[j] = doubles(mem, m->x[j]->data, m->x[j]->n);
        dx[j] = arena_take(mem, m->x[j]->n * sizeof(double));
    }
    NaiveMix n = naive_mix(m, x);
    NaiveGradient d = { doubles(mem, dy, o.n), dx[Q], dx[K], dx[V] };
    if (!naive_attention_gradient(m->attention->name, &n, d))
        return;
    for (int j = m->s.T == 1 ? V : Q; j <= V; j++)
        check_close(m->name, o.dx[j], dx[j], m->x[j]->n, backward_tolerance);
}

/* _i: causal, with lengths */
START_TEST(an_attention_and_its_gradients_are_the_formulas)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(edges); i++) {
            Arena *mem = arena_new();
            Mixing m = mixing(mem, *a, shape_of(edges[i]), _i & 1);
            Subject s = subject(&m);

            m.length = _i & 2 ? lengths(mem, m.s) : NULL;
            check_formula(&s);
            check_gradient_formula(mem, &m);
            if (m.s.T > 1 && m.s.T < 200)
                check_slopes(&s, Q);
            arena_free(mem);
        }
}
END_TEST

/* _i: causal, with lengths, D and E. A key that is seen alone passes nothing on to q and k. */
START_TEST(the_backward_of_an_attention_is_the_derivative)
{
    static const int sizes[] = { 1, 2, 7, 13 };
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            Shape s = _i & 4 ? (Shape){ 4, sizes[i], 2, 5, 3 } : (Shape){ 2, sizes[i], 3, 4, 6 };
            Mixing m = mixing(mem, *a, s, _i & 1);

            m.length = _i & 2 ? lengths(mem, s) : NULL;
            if (s.T == 1 && averages(&m))
                check_gradient(mix, &m, m.x + V, 1);
            else
                check_gradient(mix, &m, m.x, 3);
        }
    arena_free(mem);
}
END_TEST

/* And its weight cannot change: nothing is passed on to q and k. */
START_TEST(a_key_that_is_seen_alone_is_the_result)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 3, 1, 2, 5, 3 }, _i);

        if (!averages(&m))
            continue;
        Outcome o = mixed(mem, &m, weights_new(mem));
        ck_assert(same_bits(o.y, m.x[V]->data, o.n));
        ck_assert(all_zero(o.dx[Q], m.x[Q]->n) && all_zero(o.dx[K], m.x[K]->n));
    }
    arena_free(mem);
}
END_TEST

/* Not zeros only: bits. What is seen at t is what is at t or before. */
static void check_no_leak(Arena *mem, const Attention *a, int t, real later)
{
    Mixing m = mixing(mem, a, (Shape){ 2, 71, 2, 8, 5 }, true);
    Outcome before_change = mixed(mem, &m, NULL);
    int n = width(&m, V);

    for (int b = 0; b < m.s.B; b++)
        for (int i = t + 1; i < m.s.T; i++)
            for (int j = Q; j <= V; j++)
                set(&m, j, b, i, later);
    Outcome o = mixed(mem, &m, NULL);
    for (int b = 0; b < m.s.B; b++) {
        size_t at = before(&m, b, 0, n);
        ck_assert_msg(same_bits(o.y + at, before_change.y + at, (size_t)((t + 1) * n)),
                      "%g after position %d is seen before it", (double)later, t);
    }
}

START_TEST(the_future_does_not_leak)
{
    static const int positions[] = { 0, 1, 31, 32, 63, 64, 69 };
    const real values[] = { R(3.5), R(-1e30), R(HUGE_VAL), R(-HUGE_VAL), R(nan("")) };

    for (const Attention *const *a = attentions; *a; a++)
        for (int p = 0; p < COUNT(positions); p++)
            for (int v = 0; v < COUNT(values); v++) {
                Arena *mem = arena_new();
                check_no_leak(mem, *a, positions[p], values[v]);
                arena_free(mem);
            }
}
END_TEST

START_TEST(a_loss_up_to_here_has_no_gradient_after_it)
{
    static const int positions[] = { 0, 1, 31, 32, 63, 64, 69 };

    for (const Attention *const *a = attentions; *a; a++)
        for (int p = 0; p < COUNT(positions); p++) {
            Arena *mem = arena_new();
            Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 8, 5 }, true);
            real *dy = weights_new(mem);

            int later = m.s.T - positions[p] - 1;

            for (int b = 0; b < m.s.B; b++)
                memset(dy + before(&m, b, positions[p] + 1, width(&m, V)), 0,
                       (size_t)(later * width(&m, V)) * sizeof *dy);
            Outcome o = mixed(mem, &m, dy);
            for (int b = 0; b < m.s.B; b++)
                for (int j = Q; j <= V; j++)
                    ck_assert(all_zero(o.dx[j] + before(&m, b, positions[p] + 1, width(&m, j)),
                                       (size_t)(later * width(&m, j))));
            arena_free(mem);
        }
}
END_TEST

/* The first n positions of every sequence. */
static Mixing prefix(Arena *mem, const Mixing *m, int n)
{
    Shape s = m->s;

    s.T = n;
    Mixing p = mixing(mem, m->attention, s, m->causal);
    for (int b = 0; b < s.B; b++)
        for (int j = Q; j <= V; j++)
            memcpy(p.x[j]->data + before(&p, b, 0, width(m, j)),
                   m->x[j]->data + before(m, b, 0, width(m, j)),
                   (size_t)(n * width(m, j)) * sizeof(real));
    return p;
}

START_TEST(a_prefix_alone_is_the_prefix_of_the_whole)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 8, 5 }, true);
        Outcome whole = mixed(mem, &m, NULL);

        for (int n = 1; n < m.s.T; n++) {
            Mixing p = prefix(mem, &m, n);
            Outcome o = mixed(mem, &p, NULL);

            for (int b = 0; b < m.s.B; b++)
                ck_assert_msg(same_bits(o.y + before(&p, b, 0, width(&m, V)),
                                        whole.y + before(&m, b, 0, width(&m, V)),
                                        (size_t)(n * width(&m, V))),
                              "the first %d of %d", n, m.s.T);
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(padding_is_not_seen)
{
    const real values[] = { R(3.5), R(HUGE_VAL), R(nan("")) };

    for (const Attention *const *a = attentions; *a; a++)
        for (int v = 0; v < COUNT(values); v++) {
            Arena *mem = arena_new();
            Mixing m = mixing(mem, *a, (Shape){ 4, 71, 2, 8, 5 }, _i);

            m.length = lengths(mem, m.s);
            Outcome clean = mixed(mem, &m, NULL);
            for (int b = 0; b < m.s.B; b++)
                for (int t = m.length[b]; t < m.s.T; t++)
                    set(&m, K, b, t, values[v]), set(&m, V, b, t, values[v]);
            Outcome o = mixed(mem, &m, NULL);
            ck_assert_msg(same_bits(o.y, clean.y, o.n), "%g in a padded key is seen",
                          (double)values[v]);
            arena_free(mem);
        }
}
END_TEST

START_TEST(a_position_that_sees_no_key_gives_zeros_and_passes_no_gradient)
{
    static const int sizes[] = { 1, 7, 71 };
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            Mixing m = mixing(mem, *a, (Shape){ 2, sizes[i], 2, 8, 5 }, _i);

            m.length = (int[]){ sizes[i], 0 };
            Outcome o = mixed(mem, &m, weights_new(mem));
            check_finite(&m, &o);
            ck_assert(all_zero(o.y + o.n / 2, o.n / 2));
            for (int j = Q; j <= V; j++)
                ck_assert(all_zero(o.dx[j] + m.x[j]->n / 2, m.x[j]->n / 2));
        }
    arena_free(mem);
}
END_TEST

/* With v_j the j-th unit vector, o_i is row i of the attention matrix. */
START_TEST(weights_are_not_negative_and_sum_to_1)
{
    enum { T = 300 };
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 4, T, 1, 5, T }, _i);
        NaiveMix seen = naive_mix(&m, (double *[3]){ NULL });

        if (!averages(&m))
            continue;
        m.length = seen.length = lengths(mem, m.s);
        for (size_t i = 0; i < m.x[V]->n; i++)
            m.x[V]->data[i] = R(i % T == i / T % T);
        scale(m.x[Q], 3);
        Subject s = subject(&m);
        Tape tape = tape_open(2);
        const real *A = s.f(&tape, s.ctx)->data;
        for (int i = 0; i < 4 * T; i++) {
            double sum = 0;
            int wrong = 0;

            for (int j = 0; j < T; j++) {
                bool sees = naive_sees(&seen, i / T, i % T, j);
                real w = A[i * T + j];

                wrong += !(w >= 0) || signbit(w) || (w != 0 && !sees);
                sum += (double)w;
            }
            ck_assert_int_eq(wrong, 0);
            double want = naive_sees(&seen, i / T, i % T, 0);
            ck_assert_double_le(fabs(sum - want), in_double ? 1e-13 : 2.2e-6);
        }
        tape_close(&tape);
    }
    arena_free(mem);
}
END_TEST

/* Every result between the least and the largest v of its sequence and feature. */
static void check_between(const Mixing *m, const real *o)
{
    int n = width(m, V), outside = 0;

    for (int b = 0; b < m->s.B; b++)
        for (int l = 0; l < n; l++) {
            const real *v = m->x[V]->data + before(m, b, 0, n) + l;
            const real *y = o + before(m, b, 0, n) + l;
            double least = HUGE_VAL, most = -HUGE_VAL;

            for (int t = 0; t < m->s.T; t++) {
                least = fmin(least, (double)v[t * n]);
                most = fmax(most, (double)v[t * n]);
            }
            for (int t = 0; t < m->s.T; t++)
                outside += !((double)y[t * n] >= least - 1e-6 && (double)y[t * n] <= most + 1e-6);
        }
    ck_assert_int_eq(outside, 0);
}

START_TEST(an_average_lies_between_what_it_averages)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 2, 200, 2, 5, 7 }, _i);

        if (!averages(&m))
            continue;
        check_between(&m, mixed(mem, &m, NULL).y);
        for (size_t i = 0; i < m.x[V]->n; i++)
            m.x[V]->data[i] = R(1.7);
        Outcome o = mixed(mem, &m, NULL);
        ck_assert_double_le(distance(o.y, m.x[V]->data, o.n), in_double ? 1e-13 : 1e-6);
    }
    arena_free(mem);
}
END_TEST

START_TEST(logits_of_any_size_give_finite_averages_and_gradients)
{
    static const double sizes[] = { 100, 1e5, 1e15 };
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (int i = 0; i < COUNT(sizes); i++) {
            Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 5, 7 }, _i);

            if (!averages(&m))
                continue;
            scale(m.x[Q], sizes[i]);
            scale(m.x[K], sizes[i]);
            Outcome o = mixed(mem, &m, weights_new(mem));
            check_finite(&m, &o);
            check_between(&m, o.y);
        }
    arena_free(mem);
}
END_TEST

/* k_j + c adds q_i.c to the whole row i of logits. */
START_TEST(the_same_added_to_every_key_changes_nothing)
{
    Arena *mem = arena_new();
    real *dy = weights_new(mem);

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 5, 7 }, _i);

        if (strcmp((*a)->name, "softmax") != 0)
            continue;
        Outcome o = mixed(mem, &m, dy);
        for (size_t i = 0; i < m.x[K]->n; i++)
            m.x[K]->data[i] += R(0.5) * R(i % 5);
        Outcome moved = mixed(mem, &m, dy);
        check_close(m.name, moved.y, doubles(mem, o.y, o.n), o.n, forward_tolerance);
        for (int j = Q; j <= V; j++)
            check_close(m.name, moved.dx[j], doubles(mem, o.dx[j], m.x[j]->n), m.x[j]->n,
                        backward_tolerance);
    }
    arena_free(mem);
}
END_TEST

/* What was at position 5t + 3 (modulo the length) comes to t. */
static void shuffle(Arena *mem, Mixing *m, int operand)
{
    int n = width(m, operand);
    const real *x = m->x[operand]->data;
    Tensor *y = leaf(mem, 0, 0, m->x[operand]->ndim, m->x[operand]->dim);

    for (int b = 0; b < m->s.B; b++)
        for (int t = 0; t < m->s.T; t++)
            memcpy(y->data + before(m, b, t, n), x + before(m, b, (5 * t + 3) % m->s.T, n),
                   (size_t)n * sizeof(real));
    m->x[operand] = y;
}

START_TEST(shuffled_positions_give_shuffled_results)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 5, 7 }, false);
        int n = width(&m, V);

        if (!averages(&m))
            continue;
        Outcome o = mixed(mem, &m, NULL);
        for (int j = Q; j <= V; j++)
            shuffle(mem, &m, j);
        Outcome shuffled = mixed(mem, &m, NULL);
        for (int b = 0; b < m.s.B; b++)
            for (int t = 0; t < m.s.T; t++) {
                const real *want = o.y + before(&m, b, (5 * t + 3) % m.s.T, n);
                check_close(m.name, shuffled.y + before(&m, b, t, n), doubles(mem, want, (size_t)n),
                            (size_t)n, forward_tolerance);
            }
    }
    arena_free(mem);
}
END_TEST

START_TEST(the_last_position_does_not_mind_the_order_of_the_past)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 5, 7 }, true);
        int n = width(&m, V);

        if (!averages(&m))
            continue;
        Outcome o = mixed(mem, &m, NULL);
        shuffle(mem, &m, K);
        shuffle(mem, &m, V);
        Outcome shuffled = mixed(mem, &m, NULL);
        for (int b = 0; b < m.s.B; b++) {
            size_t last = before(&m, b, m.s.T - 1, n);
            check_close(m.name, shuffled.y + last, doubles(mem, o.y + last, (size_t)n), (size_t)n,
                        forward_tolerance);
        }
    }
    arena_free(mem);
}
END_TEST

START_TEST(twice_the_values_is_twice_the_result)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Mixing m = mixing(mem, *a, (Shape){ 2, 71, 2, 5, 7 }, _i);
        Outcome once = mixed(mem, &m, NULL);

        scale(m.x[V], 2);
        Outcome o = mixed(mem, &m, NULL);
        for (size_t i = 0; i < o.n; i++)
            once.y[i] *= 2;
        ck_assert(same_bits(o.y, once.y, o.n));
    }
    arena_free(mem);
}
END_TEST

/* A test that each attention keeps a promise. */
static void keep(int causal, void (*check)(const Subject *s))
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (int padded = 0; padded < 2; padded++) {
            Mixing m = mixing(mem, *a, (Shape){ 3, 131, 3, 8, 5 }, causal);
            Subject s = subject(&m);

            m.length = padded ? lengths(mem, m.s) : NULL;
            check(&s);
        }
    arena_free(mem);
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

START_TEST(a_sequence_is_attended_the_same_in_any_batch)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++)
        for (int padded = 0; padded < 2; padded++) {
            Mixing all = mixing(mem, *a, (Shape){ 4, 71, 2, 8, 5 }, _i);
            Subject s = subject(&all);

            all.length = padded ? lengths(mem, all.s) : NULL;
            for (int b = 0; b < all.s.B; b++) {
                Mixing one = all;
                Subject alone = subject(&one);

                one.s.B = 1;
                one.length = padded ? all.length + b : NULL;
                for (int j = Q; j <= V; j++)
                    one.x[j] = sequence(mem, all.x[j], b);
                check_alone_as_in_batch(&s, &alone, b, 3);
            }
        }
    arena_free(mem);
}
END_TEST

/*
 * A small transformer of one block, with every op in it: what is between the
 * ops (memory that is handed on, results that are used twice) has no other test.
 */
typedef struct {
    const Attention *attention;
    bool causal;
    Tensor *x[16];
    int n;
    int id[14], target[14];
} Block;

enum { BLOCK_B = 2, BLOCK_T = 7, BLOCK_H = 2, BLOCK_C = 8, BLOCK_F = 5, BLOCK_V = 6 };

enum { TABLE, POSITION, GAIN, WQ, WK, WV, WO, LN_GAIN, LN_BIAS, W1, B1, W2, W3, B3, OUT };

static Tensor *attended(Tape *tape, const Block *block, Tensor *h)
{
    Tensor *const *x = block->x;
    Tensor *a = op_rmsnorm(tape, h, x[GAIN]), *heads[3];

    for (int j = 0; j < 3; j++) {
        heads[j] = op_dense(tape, (Dense){ .x = a, .w = x[WQ + j] });
        tensor_reshape(heads[j], SHAPE(BLOCK_B, BLOCK_T, BLOCK_H, BLOCK_C / BLOCK_H));
    }
    Mix m = {
        .q = heads[Q], .k = heads[K], .v = heads[V], .causal = block->causal, .set.rope = true
    };
    Tensor *o = block->attention->mix(tape, m);
    return op_dense(
        tape,
        (Dense){ .x = tensor_reshape(o, SHAPE(BLOCK_B, BLOCK_T, BLOCK_C)), .w = x[WO], .r = h });
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

static Block block_of(Arena *mem, const Attention *a, bool causal)
{
    Block block = { .attention = a, .causal = causal };
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
    for (int i = 0; i < BLOCK_B * BLOCK_T; i++) {
        block.id[i] = (i * i + 1) % BLOCK_V;
        block.target[i] = i % 5 == 3 ? -1 : (i * 7 + 2) % BLOCK_V;
    }
    return block;
}

START_TEST(the_backward_of_a_whole_block_is_the_derivative)
{
    Arena *mem = arena_new();

    for (const Attention *const *a = attentions; *a; a++) {
        Block block = block_of(mem, *a, _i);
        Subject s = { (*a)->name, transform, NULL, &block, block.x, block.n };

        check_gradient(transform, &block, block.x, block.n);
        check_backward_adds(&s);
        check_operands_untouched(&s);
        check_threads(&s);
    }
    arena_free(mem);
}
END_TEST

Suite *suite_attention(void)
{
    Suite *s = suite_create("attention");
    TCase *formulas = tcase_create("formulas"), *masks = tcase_create("masks"),
          *promises = tcase_create("promises");

    tcase_set_timeout(formulas, 60);
    tcase_add_test(formulas, every_attention_has_a_name_of_its_own_a_formula_and_a_price);
    tcase_add_loop_test(formulas, an_attention_and_its_gradients_are_the_formulas, 0, 4);
    tcase_add_loop_test(formulas, the_backward_of_an_attention_is_the_derivative, 0, 8);
    tcase_add_loop_test(formulas, the_backward_of_a_whole_block_is_the_derivative, 0, 2);
    suite_add_tcase(s, formulas);
    tcase_set_timeout(masks, 60);
    tcase_add_loop_test(masks, a_key_that_is_seen_alone_is_the_result, 0, 2);
    tcase_add_test(masks, the_future_does_not_leak);
    tcase_add_test(masks, a_loss_up_to_here_has_no_gradient_after_it);
    tcase_add_test(masks, a_prefix_alone_is_the_prefix_of_the_whole);
    tcase_add_loop_test(masks, padding_is_not_seen, 0, 2);
    tcase_add_loop_test(masks, a_position_that_sees_no_key_gives_zeros_and_passes_no_gradient, 0,
                        2);
    suite_add_tcase(s, masks);
    tcase_set_timeout(promises, 60);
    tcase_add_loop_test(promises, weights_are_not_negative_and_sum_to_1, 0, 2);
    tcase_add_loop_test(promises, an_average_lies_between_what_it_averages, 0, 2);
    tcase_add_loop_test(promises, logits_of_any_size_give_finite_averages_and_gradients, 0, 2);
    tcase_add_loop_test(promises, the_same_added_to_every_key_changes_nothing, 0, 2);
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
