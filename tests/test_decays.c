/* Decays from e^-50 to 1 - 1e-7 at a position: nothing overflows, and nothing small is lost. */
#include "ops/attention/engine/decay.h"
#include "ops/ops.h"
#include "tests/mixings.h"
#include "tests/suites.h"

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

/* The operand of logarithms of decays; 0: the attention has none. */
static int decays_of(const Attention *a)
{
    const Operand *o;

    const bool fades = a->engine == &engine_decay || a->engine == &engine_decay_each;

    for (int i = V + 1; fades && (o = attention_operand(a, i)); i++)
        if (o->from && *o->shape == 'B')
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
    Tensor *g = m->x[decays_of(m->attention)];
    const size_t width = (size_t)mixing_width(m, decays_of(m->attention));

    for (size_t i = 0; i < g->n; i++)
        g->data[i] = R(decay_at(pattern, i / width, i % width));
}

/* _i: causal */
START_TEST(extreme_decays_are_those_of_the_plain_twin)
{
    EACH_VARIANT(v)
    for (int i = 0; v->plain && decays_of(v->attention) && i < COUNT(patterns); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 300, 2, 4, 3 }, _i);

        fill_decays(&m, patterns[i]);
        check_twin(mem, &m, 0, m.n);
        if (_i)
            check_steps(mem, &m, m.s.T);
        arena_free(mem);
    }
}
END_TEST

START_TEST(decoded_padding_may_hold_anything)
{
    EACH_VARIANT(v)
    if (v->plain && decays_of(v->attention)) {
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
    for (int i = 0; v->plain && decays_of(v->attention) && i < COUNT(patterns); i++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 1, 4096, 2, 4, 3 }, true);

        fill_decays(&m, patterns[i]);
        Outcome o = mixing_outcome(mem, &m, weights_new(mem));
        double *want = arena_take(mem, o.n * sizeof *want);
        for (int h = 0; h < m.s.H; h++)
            scan(&m, h, want);
        check_close(m.name, o.y, want, o.n, forward_tolerance);
        check_finite(&m, &o);
        arena_free(mem);
    }
}
END_TEST

/* What a layer computes at first from an input of zeros: b, and f of it. */
START_TEST(heads_start_with_memories_of_their_own)
{
    for (const Attention *const *a = attentions; *a; a++) {
        if (!decays_of(*a))
            continue;
        enum { HEADS = 5 };
        Arena *mem = arena_new();
        Tensor *b = leaf(mem, 0, 0, 1, (int[]){ HEADS });
        const Operand *o = attention_operand(*a, decays_of(*a));

        if (o->from->draw)
            o->from->draw(b, random_stream(1, RANDOM_TEST, 0));
        operand_fit(o, b);
        for (int h = 0; h < HEADS; h++) {
            const double forgets = 1 - exp((double)b->data[h]);

            ck_assert_msg(forgets > 1e-4 && forgets < 0.4, "%s: %g", (*a)->name, forgets);
            ck_assert(!o->from->draw || h == 0 || b->data[h] != b->data[h - 1]);
        }
        arena_free(mem);
    }
}
END_TEST

Suite *suite_decays(void)
{
    Suite *s = suite_create("decays");
    TCase *extremes = group(s, "extremes");

    tcase_add_test(extremes, heads_start_with_memories_of_their_own);
    tcase_add_test(extremes, decoded_padding_may_hold_anything);
    tcase_add_loop_test(extremes, extreme_decays_are_those_of_the_plain_twin, 0, 2);
    tcase_add_test(extremes, the_scan_of_a_long_sequence_is_the_recurrence);
    return s;
}
