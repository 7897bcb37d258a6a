/* Mechanisms whose rows see fewer keys than there are: who sees whom, and what that saves. */
#include "ops/attention/engine/view.h"
#include "tests/mixings.h"
#include "tests/suites.h"

#include <stdlib.h>

/* The settings that shape V(i), all at their defaults or at one of their tries. */
static Values values_of(const Attention *a, int try)
{
    Values set = settings_default(a);

    for (const Setting *s = a->settings; s->name && try >= 0; s++)
        if (s->pattern && s->tries[try])
            *setting_at(&set, s->name) = s->tries[try];
    if (try == 1 && attention_takes(a, "block")) /* blocks that are longer than windows */
        *setting_at(&set, "block") = 20;
    return set;
}

/* A sequence, as the engines have it and as the twin has it. */
typedef struct {
    View view;
    PlainMix mix;
    PlainHead head;
} Sight;

static void sight(Sight *x, const Attention *a, int try, int T, bool causal)
{
    const Values set = values_of(a, try);

    x->view = view_rule(a, &set);
    x->view.T = T, x->view.causal = causal, x->view.length = T;
    x->mix = (PlainMix){ .attention = a, .T = T, .causal = causal, .set = set };
    x->head = (PlainHead){ .mix = &x->mix, .T = T, .length = T };
}

static bool is_within(Span s, int at)
{
    return s.from <= at && at < s.to;
}

/* The keys of row i: those of the twin, in order, and within the bounds of the row and the keys. */
static void check_row(const Sight *x, int i)
{
    const char *name = x->mix.attention->name;
    Span s = view_run(&x->view, i, 0);
    int n = 0;

    for (int j = 0; j < x->view.T; j++) {
        const bool sees = plain_sees(&x->head, i, j);

        ck_assert_msg(is_within(s, j) == sees, "%s, T %d: row %d, key %d", name, x->view.T, i, j);
        ck_assert(!sees || (is_within(view_keys(&x->view, i), j)));
        ck_assert(!sees || (is_within(view_rows(&x->view, j), i)));
        n += sees;
        if (j + 1 == s.to)
            s = view_run(&x->view, i, s.to);
    }
    ck_assert_msg(s.from >= s.to, "%s: row %d sees more keys than there are", name, i);
    ck_assert_int_eq(view_count(&x->view, i), n);
}

/* With blocks that are drawn in advance, if there is room for them, or when they are needed. */
static void check_rows(Sight *x, int *drawn)
{
    const int T = x->view.T;

    for (int length = T; length >= 0; length -= (T + 2) / 3) {
        x->view.length = x->head.length = length;
        if (x->view.random && drawn) {
            view_draw_all(&x->view, T, drawn);
            x->view.drawn = drawn;
        }
        for (int i = 0; i < T; i++)
            check_row(x, i);
    }
}

/* _i: causal */
START_TEST(a_row_sees_the_keys_that_its_plain_twin_sees)
{
    static const int sizes[] = { 1, 2, 7, 40, 131 };

    EACH_VARIANT(v)
    for (int n = 0; v->plain && v->attention->sees && n < 4 * COUNT(sizes); n++) {
        Sight x;

        sight(&x, v->attention, n % 4 - 1, sizes[n / 4], _i);
        check_rows(&x, NULL);
        int *drawn = malloc((1 + view_drawn(&x.view, x.view.T)) * sizeof *drawn);
        check_rows(&x, drawn);
        free(drawn);
    }
}
END_TEST

/* So that a pattern of n keys a row is worth n keys: other rows, other keys. */
START_TEST(rows_see_different_keys_and_not_all)
{
    EACH_VARIANT(v)
    if (v->plain && v->attention->sees) {
        Sight x;
        int all = 0;

        sight(&x, v->attention, 0, 97, true);
        for (int i = 0; i < 97; i++)
            all += view_count(&x.view, i);
        ck_assert_msg(all < 97 * 98 / 2 * 3 / 4, "%s: %d pairs", v->attention->name, all);
    }
}
END_TEST

/* What all later rows see and what the last few see: other keys are dropped. */
START_TEST(decoding_keeps_the_keys_visible_to_later_rows)
{
    EACH_VARIANT(v)
    if (v->plain && v->attention->sees) {
        const Values set = values_of(v->attention, 1);
        const View view = view_rule(v->attention, &set);
        MixSize size = {
            .attention = v->attention, .T = 500, .H = 2, .D = 4, .E = 3, .causal = true, .set = set
        };
        const size_t some = attention_state(&size), key = 2 * (4 + 3);

        size.T = 900;
        ck_assert_uint_eq(attention_state(&size) - some,
                          view.random || view.stride ? 400 * key : 0);
        if (!(view.random || view.stride))
            ck_assert_uint_lt(some, 40 * key);
    }
}
END_TEST

/* They are the same for a group of heads; what else there is of a key is not. */
START_TEST(decoding_keeps_shared_keys_and_values_once)
{
    static const char *const weights[] = { "softmax", "forgetting" };

    for (int i = 0; i < 2; i++)
        for (int group = 1; group <= 6; group++) {
            MixSize size = { .attention = &attention_softmax,
                             .T = 20,
                             .H = 6,
                             .D = 4,
                             .E = 3,
                             .causal = true,
                             .group = group };

            size.set = settings_default(size.attention);
            setting_parse(attention_takes(size.attention, "weight"), weights[i],
                          setting_at(&size.set, "weight"));
            const size_t some = attention_state(&size);
            size.T++;
            ck_assert_uint_eq(attention_state(&size) - some,
                              (size_t)(6 / group * (4 + 3) + 6 * 2 * i));
        }
}
END_TEST

/* Not even multiplied by 0. */
START_TEST(a_key_outside_the_pattern_is_not_seen)
{
    static const int positions[] = { 0, 5, 31, 64, 100 };
    enum { T = 134 };

    EACH_VARIANT(v)
    for (int p = 0; v->plain && v->attention->sees && p < COUNT(positions); p++) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, T, 2, 6, 5 }, _i);
        const size_t n = (size_t)mixing_width(&m, V);
        Outcome clean = mixing_outcome(mem, &m, NULL);
        Sight x;

        sight(&x, v->attention, -1, T, _i);
        for (int b = 0; b < m.s.B; b++)
            set_key(&m, b, positions[p], R(nan("")));
        Outcome o = mixing_outcome(mem, &m, NULL);
        for (int i = 0; i < T; i++)
            for (int b = 0; b < m.s.B && !plain_sees(&x.head, i, positions[p]); b++) {
                const size_t at = mixing_before(&m, b, i, (int)n);

                ck_assert_msg(same_bits(o.y + at, clean.y + at, n), "%s: %d is seen at %d", m.name,
                              positions[p], i);
            }
        arena_free(mem);
    }
}
END_TEST

/* A pair costs what it does in softmax. */
START_TEST(the_cost_is_that_of_the_pairs)
{
    enum { LONG = 2048 };

    EACH_VARIANT(v)
    for (int try = -1; v->plain && v->attention->sees && try < 3; try++)
        for (int causal = 0; causal < 2; causal++) {
            Sight x;
            double pairs = 0;

            sight(&x, v->attention, try, LONG, causal);
            for (int i = 0; i < LONG; i++)
                pairs += view_count(&x.view, i);
            const MixSize size = { .attention = v->attention,
                                   .T = LONG,
                                   .H = 2,
                                   .D = 4,
                                   .E = 3,
                                   .causal = causal,
                                   .set = x.mix.set };
            const double off = attention_cost(&size) / (pairs / LONG * 2 * (4 + 3));
            ck_assert_msg(off > 0.8 && off < 1.25, "%s, try %d, causal %d: %g times",
                          v->attention->name, try, causal, off);
        }
}
END_TEST

Suite *suite_patterns(void)
{
    Suite *s = suite_create("patterns");
    TCase *patterns = tcase_create("patterns");

    tcase_set_timeout(patterns, 60);
    tcase_add_loop_test(patterns, a_row_sees_the_keys_that_its_plain_twin_sees, 0, 2);
    tcase_add_loop_test(patterns, a_key_outside_the_pattern_is_not_seen, 0, 2);
    tcase_add_test(patterns, rows_see_different_keys_and_not_all);
    tcase_add_test(patterns, decoding_keeps_the_keys_visible_to_later_rows);
    tcase_add_test(patterns, decoding_keeps_shared_keys_and_values_once);
    tcase_add_test(patterns, the_cost_is_that_of_the_pairs);
    suite_add_tcase(s, patterns);
    return s;
}
