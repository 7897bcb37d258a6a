/* Samples: what they depend on, and the rules of drawing. */
#include "model/decode.h"
#include "model/sample.h"
#include "ops/base/error.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 11 };

enum { SAMPLE = 60, PROMPT = 5 };

static void sample(const Small *s, Sampling how, int threads, int *out)
{
    Pool *pool = pool_new(threads);
    Sampler *w = sampler_new(&s->model, pool, how, PROMPT + SAMPLE, 1);

    sampler_begin(w, 1);
    sampler_read(w, s->batch.id, PROMPT);
    for (int i = 0; i < SAMPLE; i++) {
        out[i] = sampler_draw(w, 0);
        sampler_read(w, &out[i], 1);
    }
    sampler_free(w);
    pool_free(pool);
}

START_TEST(a_sample_depends_on_its_seed_and_not_on_threads)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_for_decoding(small_variant(i), PROMPT);
        int first[SAMPLE], again[SAMPLE], other[SAMPLE];
        Sampling how = { 0.8, 0, 1, 0, 5, false };

        sample(s, how, 1, first);
        sample(s, how, 3, again);
        how.seed = 6;
        sample(s, how, 1, other);
        ck_assert_mem_eq(again, first, sizeof first);
        ck_assert_mem_ne(other, first, sizeof first);
        small_close(s);
    }
}
END_TEST

/* Samples of one seed differ, and each is what it is whatever was written before it. */
START_TEST(a_sample_depends_on_its_number_and_on_no_other)
{
    Small *s = small_for_decoding(small_variant(1), PROMPT);
    Pool *pool = pool_new(1);
    Sampler *w =
        sampler_new(&s->model, pool, (Sampling){ 1, 0, 1, 0, 5, false }, PROMPT + SAMPLE, 1);
    static const uint64_t number[] = { 0, 1, 0 };
    int token[3][SAMPLE];

    for (int k = 0; k < 3; k++) {
        sampler_begin(w, number[k]);
        sampler_read(w, s->batch.id, 1);
        for (int i = 0; i < SAMPLE; i++) {
            token[k][i] = sampler_draw(w, 0);
            sampler_read(w, &token[k][i], 1);
        }
    }
    ck_assert_mem_eq(token[2], token[0], sizeof token[0]);
    ck_assert_mem_ne(token[1], token[0], sizeof token[0]);
    sampler_free(w);
    pool_free(pool);
    small_close(s);
}
END_TEST

/* As many as fit into a batch at a time, with a context that is shorter than they are. */
static void sample_together(const Small *s, Sampling how, int samples, uint64_t from,
                            int token[][SAMPLE])
{
    Pool *pool = pool_new(2);
    Sampler *w = sampler_new(&s->model, pool, how, PROMPT + SAMPLE, samples);
    int next[3];

    sampler_begin(w, from);
    sampler_read(w, s->batch.id, PROMPT);
    for (int i = 0; i < SAMPLE; i++) {
        for (int k = 0; k < samples; k++)
            next[k] = token[k][i] = sampler_draw(w, k);
        sampler_step(w, next);
    }
    sampler_free(w);
    pool_free(pool);
}

START_TEST(samples_are_the_same_in_any_batch)
{
    for (int i = 0; i < 2 * VARIANTS; i++) {
        Small *s = small_for_decoding(small_variant(i / 2), PROMPT);
        const Sampling how = { 1, 0, 1, 0, 5, i % 2 };
        int together[3][SAMPLE], alone[1][SAMPLE];

        sample_together(s, how, 3, 7, together);
        for (int k = 0; k < 3; k++) {
            sample_together(s, how, 1, 7 + (uint64_t)k, alone);
            ck_assert_msg(memcmp(together[k], alone[0], sizeof alone) == 0, "variant %d, sample %d",
                          i / 2, k);
        }
        small_close(s);
    }
}
END_TEST

/* So hot that all tokens are about as likely: 60 draws have most of them. */
START_TEST(each_token_of_a_sample_is_drawn_anew)
{
    Small *s = small_for_decoding(small_variant(3), PROMPT);
    int token[SAMPLE];
    unsigned drawn = 0, followed = 0;

    sample(s, (Sampling){ 100, 0, 1, 0, 5, false }, 1, token);
    for (int i = 0; i < SAMPLE; i++)
        drawn |= 1u << token[i];
    for (int i = 1; i < SAMPLE; i++)
        followed += token[i] == token[i - 1];
    ck_assert_uint_eq(drawn, (1u << VOCAB) - 1);
    ck_assert_uint_le(followed, 15);
    small_close(s);
}
END_TEST

/* Whether attention reaches further back than the context. */
static bool reaches_beyond(const Config *c)
{
    int window = setting(&c->set, "window"), chunk = setting_or_zero(&c->set, "chunk");

    if (window > 0)
        return window >= c->context;
    if (attention_takes(c->attention, "chunk"))
        return chunk > c->context;
    return !(c->attention->traits & IS_LINEAR);
}

/* How many of n tokens the last one sees, by the rule of the context alone. */
static int seen_of(const Config *c, int n, bool extrapolate)
{
    const bool unseen = c->position == POSITION_SINUSOIDAL || reaches_beyond(c);
    int seen = 0;

    if (c->position != POSITION_LEARNED && (extrapolate || !unseen))
        return n;
    for (int t = 0; t < n; t++)
        seen = seen == c->context ? c->context / 2 + 1 : seen + 1;
    return seen;
}

static int likeliest_after(const Small *s, const int *id, int n, bool extrapolate)
{
    int seen = seen_of(&s->model.config, n, extrapolate), best = 0;
    const real *logits = small_logits(s, id + n - seen, 1, seen, 1) + (seen - 1) * VOCAB;

    for (int c = 1; c < VOCAB; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

/* What is drawn after n tokens that are read at once. */
static int drawn_after(const Small *s, Sampling how, const int *id, int n)
{
    Pool *pool = pool_new(1);
    Sampler *w = sampler_new(&s->model, pool, how, n, 1);

    sampler_read(w, id, n);
    const int next = sampler_draw(w, 0);
    sampler_free(w);
    pool_free(pool);
    return next;
}

/* `i`: which cold temperature, and whether to extrapolate */
static void check_likeliest(Config config, int i)
{
    enum { MORE = 32 };
    static const double cold[] = { 0, 1e-6, 1e-300 };
    const double temperature = cold[i % COUNT(cold)];
    const Sampling how = { temperature, 0, 1, 0, 5, i % 2 };
    Small *s = small_for_decoding(config, PROMPT);
    int id[PROMPT + MORE], got[SAMPLE];

    memcpy(id, s->batch.id, PROMPT * sizeof *id);
    for (int t = PROMPT; t < PROMPT + MORE; t++)
        id[t] = likeliest_after(s, id, t, how.extrapolate);
    sample(s, how, 1, got);
    ck_assert_msg(memcmp(got, id + PROMPT, MORE * sizeof *got) == 0, "%d, %s at %g%s", i,
                  config.attention->name, temperature, i % 2 ? ", extrapolating" : "");
    for (int n = PROMPT; n < PROMPT + MORE; n += 6)
        ck_assert_int_eq(drawn_after(s, how, id, n), id[n]);
    small_close(s);
}

/* _i: the context, for every other variant */
START_TEST(at_temperature_0_the_likeliest_token_follows)
{
    for (int i = 0; i < 2 * VARIANTS; i++) {
        Config config = small_variant(i / 2);

        config.context = _i;
        if (i / 2 % 2 == _i % 2)
            check_likeliest(config, i);
    }
}
END_TEST

START_TEST(sinusoids_beyond_the_context_are_used_only_to_extrapolate)
{
    Config c = small_variant(0);

    c.attention = &attention_relu, c.set = settings_default(c.attention);
    c.position = POSITION_SINUSOIDAL;
    check_likeliest(c, 0);
    check_likeliest(c, 1);
}
END_TEST

START_TEST(a_horizon_at_the_context_is_no_reason_to_start_over)
{
    Config c = small_variant(0);

    c.attention = &attention_cosformer, c.set = settings_default(c.attention);
    for (int horizon = 0; horizon <= 2 * c.context; horizon += c.context) {
        *setting_at(&c.set, "horizon") = horizon;
        ck_assert(!config_keeps_keys(&c));
    }
    *setting_at(&c.set, "window") = 2 * c.context;
    ck_assert(config_keeps_keys(&c));
}
END_TEST

START_TEST(the_likeliest_token_is_the_first_of_the_largest)
{
    for (int n = 1; n <= 70; n++)
        for (int top = 0; top < n; top++) {
            real logits[70];

            for (int c = 0; c < n; c++)
                logits[c] = R(c < top ? -2 - c : -1);
            ck_assert_int_eq(sample_likeliest(logits, n), top);
        }
}
END_TEST

enum { MOST = 40, DRAWS = 512 };

/* The probabilities, by sorting: with a temperature that is not 0. */
static void naive_probabilities(Sampling how, const real *logits, int n, double *p)
{
    int order[MOST], kept = how.top_k && how.top_k < n ? how.top_k : n;
    double weight[MOST], all = 0, passed = 0, top = -HUGE_VAL;

    for (int c = 0; c < n; c++) {
        top = (double)logits[c] > top ? (double)logits[c] : top;
        p[c] = 0, order[c] = c;
    }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && logits[order[j]] > logits[order[j - 1]]; j--) {
            int swap = order[j];
            order[j] = order[j - 1], order[j - 1] = swap;
        }
    for (int i = 0; i < kept; i++)
        all += weight[i] = exp(((double)logits[order[i]] - top) / how.temperature);
    int i = 0;
    while (i < kept && passed < how.top_p * all && weight[i] >= how.min_p)
        passed += weight[i++];
    for (int j = 0; j < i; j++)
        p[order[j]] = weight[j] / passed;
}

/* Every token has one stretch of the u's, as long as its probability. */
static void check_draws(Sampling how, const real *logits, int n)
{
    Candidate room[MOST];
    int count[MOST] = { 0 }, wrong = 0;
    double p[MOST];

    naive_probabilities(how, logits, n, p);
    for (int i = 0; i < DRAWS; i++) {
        int token = sample_draw(how, logits, n, (i + 0.5) / DRAWS, room);

        wrong += p[token] == 0;
        count[token]++;
    }
    for (int c = 0; c < n; c++)
        wrong += fabs(count[c] - DRAWS * p[c]) > 1.01;
    ck_assert_msg(!wrong,
                  "%d of %d tokens are drawn too often, or not enough: k %d, p %g and %g, at %g",
                  wrong, n, how.top_k, how.top_p, how.min_p, how.temperature);
}

/* Many are as likely as others; 0.5, 0.25 and so on are reached exactly. */
START_TEST(top_k_top_p_and_min_p_keep_what_sorting_would_keep)
{
    static const double top_p[] = { 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1 };
    static const double temperature[] = { 0.01, 0.5, 1, 1.7, 100 };
    static const int top_k[] = { 0, 1, 2, 3, 7, MOST - 1, MOST, MOST + 1, 1 << 24 };
    static const double min_p[] = { 0, 1, 0, 0.1, 0, 1e-5, 0.6 };
    Random r = random_stream(1, RANDOM_TEST, 0);
    uint64_t drawn = 0;

    for (int n = 1; n <= MOST; n += n < 5 ? 1 : 5)
        for (int j = 0; j < COUNT(top_p) * COUNT(temperature) * COUNT(top_k); j++) {
            Sampling how = { temperature[j % COUNT(temperature)],
                             top_k[j / COUNT(temperature) % COUNT(top_k)],
                             top_p[j / COUNT(temperature) / COUNT(top_k)],
                             min_p[j % COUNT(min_p)],
                             0,
                             false };
            real logits[MOST];

            for (int c = 0; c < n; c++)
                logits[c] = j % 3 == 0 ? R(2) : R((int)random_below(r, drawn++, 9)) / 2;
            check_draws(how, logits, n);
        }
}
END_TEST

START_TEST(ties_are_resolved_in_favour_of_lower_tokens)
{
    Candidate room[MOST];
    real logits[MOST] = { 0 };

    for (int k = 1; k < MOST; k++)
        for (int i = 0; i < DRAWS; i++) {
            double u = (i + 0.5) / DRAWS;
            Sampling by_k = { 1, k, 1, 0, 0, false },
                     by_p = { 1, 0, (k - 0.5) / MOST, 0, 0, false };

            ck_assert_int_eq(sample_draw(by_k, logits, MOST, u, room), (int)(u * k));
            ck_assert_int_eq(sample_draw(by_p, logits, MOST, u, room), (int)(u * k));
        }
}
END_TEST

/* Whatever the limits, u and the temperature. */
static void check_only(const real *logits, int n, unsigned drawable)
{
    static const double temperature[] = { 0, 1e-300, 1e-30, 1, 100 }, u[] = { 0, 0.5, 1 - 0x1p-53 };
    Candidate room[MOST];

    for (int k = 0; k <= n + 1; k++)
        for (int p = 1; p <= 4; p++)
            for (int i = 0; i < COUNT(temperature) * COUNT(u); i++) {
                Sampling how = { temperature[i % 5], k, p / 4.0, p / 8.0, 0, false };
                int token = sample_draw(how, logits, n, u[i / 5], room);

                ck_assert_int_ge(token, 0);
                ck_assert_int_lt(token, n);
                ck_assert(drawable >> token & 1);
            }
}

START_TEST(nan_and_infinite_logits_are_handled)
{
    const real none = R(nan("")), inf = R(HUGE_VAL);

    check_only((real[]){ none, 1, none, -inf, none }, 5, 1 << 1);
    check_only((real[]){ 3, inf, none, inf, 2 }, 5, 1 << 1 | 1 << 3);
    check_only((real[]){ -inf, -inf }, 2, 3);
    check_only((real[]){ none, none }, 2, 3);
    check_only((real[]){ R(1e30), -R(1e30), R(1e30) }, 3, 5);
    check_only((real[]){ -7 }, 1, 1);
}
END_TEST

/* Pearson's sum: with 10 degrees of freedom it is above 29.6 once in 1,000 times. */
START_TEST(tokens_are_drawn_as_often_as_their_probability_says)
{
    enum { N = 4000 };
    Small *s = small_for_decoding(small_variant(0), PROMPT);
    const real *logits = small_logits(s, s->batch.id, 1, PROMPT, 1) + (PROMPT - 1) * VOCAB;
    Pool *pool = pool_new(1);
    Sampler *w = sampler_new(&s->model, pool, (Sampling){ 2, 0, 1, 0, 5, false }, PROMPT, 1);
    int count[VOCAB] = { 0 };
    double sum = 0, chi = 0;

    for (uint64_t number = 0; number < N; number++) {
        sampler_begin(w, number);
        sampler_read(w, s->batch.id, PROMPT);
        count[sampler_draw(w, 0)]++;
    }
    for (int c = 0; c < VOCAB; c++)
        sum += exp((double)logits[c] / 2);
    for (int c = 0; c < VOCAB; c++) {
        double want = N * exp((double)logits[c] / 2) / sum;

        chi += (count[c] - want) * (count[c] - want) / want;
    }
    ck_assert_double_lt(chi, 29.6);
    sampler_free(w);
    pool_free(pool);
    small_close(s);
}
END_TEST

Suite *suite_sample(void)
{
    Suite *s = suite_create("sample");
    TCase *t = group(s, "draw");

    tcase_add_test(t, a_sample_depends_on_its_seed_and_not_on_threads);
    tcase_add_test(t, a_sample_depends_on_its_number_and_on_no_other);
    tcase_add_test(t, samples_are_the_same_in_any_batch);
    tcase_add_test(t, each_token_of_a_sample_is_drawn_anew);
    tcase_add_loop_test(t, at_temperature_0_the_likeliest_token_follows, 7, 9);
    tcase_add_test(t, a_horizon_at_the_context_is_no_reason_to_start_over);
    tcase_add_test(t, sinusoids_beyond_the_context_are_used_only_to_extrapolate);
    tcase_add_test(t, the_likeliest_token_is_the_first_of_the_largest);
    tcase_add_test(t, top_k_top_p_and_min_p_keep_what_sorting_would_keep);
    tcase_add_test(t, ties_are_resolved_in_favour_of_lower_tokens);
    tcase_add_test(t, nan_and_infinite_logits_are_handled);
    tcase_add_test(t, tokens_are_drawn_as_often_as_their_probability_says);
    return s;
}
