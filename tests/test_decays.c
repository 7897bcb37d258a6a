/* Decays from e^-50 to 1 - 1e-7 at a position: nothing overflows, and nothing small is lost. */
#include "ops/attention/engine/chunk.h"
#include "ops/attention/engine/decay.h"
#include "ops/attention/engine/forget.h"
#include "ops/ops.h"
#include "tests/mixings.h"
#include "tests/suites.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ln 1e-6, and that of a decay of 1 - 1e-7 */
#define MILLIONTH -13.815510557964274
#define HARDLY -1e-7

/* Decays of positions, again and again. */
static const double patterns[][4] = {
    { HARDLY, HARDLY, HARDLY, HARDLY },
    { -50, -50, -50, -50 },
    { MILLIONTH, HARDLY, -0.5, HARDLY },
    { -50, HARDLY, HARDLY, HARDLY },
    { 0, -50, 0, MILLIONTH },
    { -400, HARDLY, HARDLY, HARDLY },
    { HARDLY, HARDLY, HARDLY, -400 },
};

static bool is_linear(const Variant *v)
{
    const Engine *engine = v->attention->engine;

    return v->plain && (engine == &engine_decay || engine == &engine_decay_each);
}

/* A softmax of scores that fade; the engine is the same in all patterns of keys. */
static bool is_softmax(const Variant *v)
{
    const Attention *a = v->attention;

    return (v->traits & AVERAGES) && (v->traits & CAUSAL_ONLY) && !v->rope &&
           (a == &attention_softmax || a == &attention_longformer || a == &attention_gau);
}

/* The operand of logarithms of decays; 0: the variant has none. */
static int decays_of(const Variant *v)
{
    const Operand *o;

    for (int i = V + 1; (o = attention_operand(v->attention, i)); i++)
        if ((is_linear(v) || is_softmax(v)) && o->from && *o->shape == 'B')
            return i;
    return 0;
}

/* Of a pattern in three stretches: its first number; one after the other; one for each column. */
static double decay_at(const double pattern[4], size_t t, size_t column)
{
    const size_t stretch = t / 128 % 3;

    return pattern[stretch == 0 ? 0 : stretch == 1 ? (t + column % 3) % 4 : column % 4];
}

static void fill_decays(const Mixing *m, const double pattern[4])
{
    Tensor *g = m->x[decays_of(m->variant)];
    const size_t width = (size_t)mixing_width(m, decays_of(m->variant));

    for (size_t i = 0; i < g->n; i++)
        g->data[i] = R(decay_at(pattern, i / width, i % width));
}

/*
 * _i: causal. What scores give, such as dq and dk of a softmax, are differences, of which only
 * rounding is left where a row has forgotten all keys but its own.
 */
START_TEST(extreme_decays_are_those_of_the_plain_twin)
{
    EACH_VARIANT(v)
    for (int i = 0; decays_of(v) && i < COUNT(patterns); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, is_softmax(v) ? 150 : 300, 2, 4, 3 }, _i);

        fill_decays(&m, patterns[i]);
        if (m.causal == _i)
            check_twin(mem, &m, is_softmax(v) ? V : Q, is_softmax(v) ? m.batched : m.n);
        if (_i)
            check_steps(mem, &m, m.s.T);
        arena_free(mem);
    }
}
END_TEST

START_TEST(the_contents_of_decoded_padding_have_no_effect)
{
    EACH_VARIANT(v)
    if (decays_of(v)) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 4, 7, 2, 4, 3 }, true);

        m.length = mixing_lengths(mem, m.s);
        for (int b = 0; b < m.s.B; b++)
            for (int t = m.length[b]; t < m.s.T; t++)
                set_key(&m, b, t, R(nan("")));
        check_steps(mem, &m, m.s.T);
        arena_free(mem);
    }
}
END_TEST

/* o_t = S_t^T q_t, S_t = diag(e^g_t) S_t-1 + k_t v_t^T of a head, in double. */
static void scan(const Mixing *m, int h, double *o)
{
    const int H = m->s.H, D = m->s.D, E = m->s.E, wide = mixing_width(m, V + 1) / H;
    double *S = calloc((size_t)(D * E), sizeof *S);

    for (int t = 0; t < m->s.T; t++, o += H * E)
        for (int e = 0; e < E; e++) {
            o[h * E + e] = 0;
            for (int d = 0; d < D; d++) {
                const size_t at = (size_t)(t * H + h), of = at * (size_t)D + (size_t)d;
                double g =
                    (double)m->x[V + 1]->data[at * (size_t)wide + (size_t)(wide > 1 ? d : 0)];

                S[d * E + e] =
                    exp(g) * S[d * E + e] +
                    (double)m->x[K]->data[of] * (double)m->x[V]->data[at * (size_t)E + (size_t)e];
                o[h * E + e] += (double)m->x[Q]->data[of] * S[d * E + e];
            }
        }
    free(S);
}

START_TEST(the_scan_of_a_long_sequence_is_the_recurrence)
{
    EACH_VARIANT(v)
    for (int i = 0; is_linear(v) && decays_of(v) && i < COUNT(patterns); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 4096, 2, 4, 3 }, true);

        fill_decays(&m, patterns[i]);
        Outcome o = mixing_outcome(mem, &m, weights());
        double *want = arena_take(mem, o.n * sizeof *want);
        for (int h = 0; h < m.s.H; h++)
            scan(&m, h, want);
        check_close(m.name, o.y, want, o.n, forward_tolerance);
        check_finite(&m, &o);
        arena_free(mem);
    }
}
END_TEST

/* Row i of a head: softmax(q_i . k_j / sqrt(D) + the sum of g_t over j < t <= i), in double. */
static void softmax_row(const Mixing *m, int i, int h, double *o)
{
    const int H = m->s.H, D = m->s.D, E = m->s.E;
    const real *q = m->x[Q]->data + (i * H + h) * D, *g = m->x[decays_of(m->variant)]->data;
    const double scale = sqrt(D);
    double sum = 0, faded = 0;

    memset(o, 0, (size_t)E * sizeof *o);
    for (int j = i; j >= 0; j--) {
        const int at = j * H + h;
        double s = 0;

        for (int d = 0; d < D; d++)
            s += (double)q[d] * (double)m->x[K]->data[at * D + d];
        const double w = exp(s / scale + faded);
        sum += w;
        for (int e = 0; e < E; e++)
            o[e] += w * (double)m->x[V]->data[at * E + e];
        faded += (double)g[at];
    }
    for (int e = 0; e < E; e++)
        o[e] /= sum;
}

/*
 * The first key has the score 21.5 and forgets all but 1e-6 at once, then 4e-7 at a time, which is
 * less than the last digit of -14 in float. It weighs as much as all others together.
 */
static void fill_one(const Mixing *m)
{
    Tensor *k = m->x[K], *q = m->x[Q], *g = m->x[decays_of(m->variant)];

    for (size_t i = 0; i < q->n; i++)
        q->data[i] = 1, k->data[i] = i < (size_t)m->s.D ? R(21.5 / sqrt(m->s.D)) : 0;
    for (size_t t = 0; t < g->n; t++)
        g->data[t] = R(t == 1 ? MILLIONTH : 4 * HARDLY);
}

/* Whichever of the two is the smaller one. */
START_TEST(a_sum_of_forget_gates_keeps_what_rounding_loses)
{
    const real little = (in_double ? R(DBL_EPSILON) : R(FLT_EPSILON)) / 4;
    real F[] = { -little, -1, 0, 0 };

    forget_step(F, 2, 1, -1);
    forget_step(F + 1, 2, 1, -little);
    for (int j = 0; j < 2; j++) {
        ck_assert_double_eq((double)F[j], -1);
        ck_assert_double_eq((double)F[j + 2], -(double)little);
    }
    for (int t = 2; t <= 5; t++)
        forget_step(F, 2, 1, -little);
    ck_assert_double_eq((double)F[0], -1);
    ck_assert_double_eq((double)F[2], -5 * (double)little);
}
END_TEST

/* In float a running sum of all g would have lost 1e-7 after a few positions. */
START_TEST(forget_gates_are_summed_exactly_over_long_sequences)
{
    Variant v = { .attention = &attention_softmax, .set = settings_default(&attention_softmax) };
    Arena *mem = arena_new();

    setting_parse(attention_takes(v.attention, "weight"), "forgetting",
                  setting_at(&v.set, "weight"));
    v.traits = attention_traits(v.attention, &v.set);
    Mixing m = mixing(mem, &v, (Shape){ 1, 2048, 1, 4, 3 }, true);
    if (_i < COUNT(patterns))
        fill_decays(&m, patterns[_i]);
    else
        fill_one(&m);
    Outcome o = mixing_outcome(mem, &m, weights());
    double *want = arena_take(mem, o.n * sizeof *want);
    for (int i = 0; i < m.s.T * m.s.H; i++)
        softmax_row(&m, i / m.s.H, i % m.s.H, want + i * m.s.E);
    check_close(m.name, o.y, want, o.n, forward_tolerance);
    check_finite(&m, &o);
    check_steps(mem, &m, m.s.T);
    arena_free(mem);
}
END_TEST

/* The first number above 0 is found; other operands may have any numbers. */
START_TEST(a_decay_that_grows_is_a_misfit)
{
    int seen = 0;

    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        const Mixing m = mixing(mem, v, (Shape){ 1, 7, 2, 4, 4 }, true);
        const Operand *o;

        for (int i = 0; (o = attention_operand(v->attention, i)); i++) {
            Tensor *x = m.x[i];

            if (!x)
                continue;
            ck_assert_uint_eq(operand_misfit(o, x), x->n);
            x->data[0] = 0, x->data[x->n - 1] = R(1e-3);
            ck_assert_uint_eq(operand_misfit(o, x), x->n - o->decay);
            seen += o->decay;
        }
        ck_assert(!decays_of(v) || attention_operand(v->attention, decays_of(v))->decay);
        arena_free(mem);
    }
    ck_assert_int_ge(seen, 8);
}
END_TEST

/* What a layer computes at first from an input of zeros: b, and f of it. */
START_TEST(heads_start_with_different_decays)
{
    EACH_VARIANT(v)
    {
        if (!decays_of(v))
            continue;
        enum { HEADS = 5 };
        Arena *mem = arena_new();
        Tensor *b = leaf(mem, 0, 0, 1, (int[]){ HEADS });
        const Operand *o = attention_operand(v->attention, decays_of(v));

        if (o->from->draw)
            o->from->draw(b, random_stream(1, RANDOM_TEST, 0));
        operand_fit(o, b);
        for (int h = 0; h < HEADS; h++) {
            const double forgets = 1 - exp((double)b->data[h]);

            ck_assert_msg(forgets > 1e-4 && forgets < 0.4, "%s: %g", v->attention->name, forgets);
            ck_assert(!o->from->draw || h == 0 || b->data[h] != b->data[h - 1]);
        }
        arena_free(mem);
    }
}
END_TEST

/* A document after another: g = ln 0 at its first position hides all that is before. */
START_TEST(a_g_of_minus_infinity_forgets_everything)
{
    enum { CUT = 150 };

    EACH_VARIANT(v)
    if (is_softmax(v) && decays_of(v) && !(v->traits & BLOCKED)) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 300, 2, 4, 3 }, true);
        const int n = mixing_width(&m, V);

        for (int t = 0; t < CUT; t++)
            set_key(&m, 0, t, R(t % 2));
        Outcome one = mixing_outcome(mem, &m, NULL);
        for (int h = 0; h < m.s.H; h++)
            m.x[decays_of(v)]->data[CUT * m.s.H + h] = -R(HUGE_VAL);
        Outcome cut = mixing_outcome(mem, &m, weights());
        check_finite(&m, &cut);
        check_steps(mem, &m, m.s.T);
        ck_assert(same_bits(one.y, cut.y, (size_t)(CUT * n)));
        for (int t = 0; t < CUT; t++)
            set_key(&m, 0, t, R(5 - t % 3));
        Outcome other = mixing_outcome(mem, &m, NULL);
        ck_assert_msg(same_bits(other.y + CUT * n, cut.y + CUT * n, (size_t)((m.s.T - CUT) * n)),
                      "%s", m.name);
        m.x[decays_of(v)]->data[CUT * m.s.H] = R(nan(""));
        ck_assert(isnan(mixing_outcome(mem, &m, NULL).y[CUT * n]));
        arena_free(mem);
    }
}
END_TEST

/* e^sum: not far below 1 it is exact; later it is 0, as what is nearly denormal is slow. */
static void check_factor(real x, double sum)
{
    const double least = sizeof(real) == 4 ? 1e-29 : 1e-262;

    ck_assert_msg(x == 0 || (double)x > least, "e^%g is %g", sum, (double)x);
    ck_assert_double_le(fabs((double)x - exp(sum)), 1e-4 * exp(sum) + 20 * least);
}

START_TEST(factors_of_decays_are_0_before_they_are_denormal)
{
    real memory[DECAYS_ROOM], *scratch = memory;
    Decays d = decays_open(&scratch, false);

    for (double g = -0.5; g > -800; g *= 1.02) {
        d.n = -1;
        decays_fixed(&d, R(g), TILE);
        for (int t = 0; t < TILE; t++) {
            check_factor(d.before[t], (t + 1) * (double)R(g));
            check_factor(d.after[t], (TILE - 1 - t) * (double)R(g));
            for (int s = 0; s < TILE; s++)
                check_factor(d.L[t * TILE + s], s > t ? -HUGE_VAL : (t - s) * (double)R(g));
        }
        check_factor(d.all, TILE * (double)R(g));
    }
}
END_TEST

Suite *suite_decays(void)
{
    Suite *s = suite_create("decays");
    TCase *extremes = group(s, "extremes");

    tcase_add_test(extremes, heads_start_with_different_decays);
    tcase_add_test(extremes, a_decay_that_grows_is_a_misfit);
    tcase_add_test(extremes, the_contents_of_decoded_padding_have_no_effect);
    tcase_add_loop_test(extremes, extreme_decays_are_those_of_the_plain_twin, 0, 2);
    tcase_add_test(extremes, a_g_of_minus_infinity_forgets_everything);
    tcase_add_loop_test(extremes, forget_gates_are_summed_exactly_over_long_sequences, 0,
                        COUNT(patterns) + 1);
    tcase_add_test(extremes, a_sum_of_forget_gates_keeps_what_rounding_loses);
    tcase_add_test(extremes, factors_of_decays_are_0_before_they_are_denormal);
    tcase_add_test(extremes, the_scan_of_a_long_sequence_is_the_recurrence);
    return s;
}
