/* Decoding against the whole model, the rules of drawing, and what a terminal gets to see. */
#include "data/stream.h"
#include "model/decode.h"
#include "model/sample.h"
#include "ops/base/error.h"
#include "ops/base/utf8.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/variants.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 11, CONTEXT = 40, BEYOND = 3 * CONTEXT };

/* --- the decoder -------------------------------------------------------------------------------
 */

/* Where there are biases, q and k are around 2: so no quotient of features is one by almost 0. */
static Small *open_model(Config c, int tokens)
{
    Small *s = small_open(c, 1, tokens);
    bool heads = layer_of(c.attention) == &layer_heads;

    small_overwrite(s, layer_of(c.attention)->one_head ? 0.7 : 0.3);
    for (Block *b = s->model.blocks; heads && c.bias && b < s->model.blocks + c.layers; b++)
        for (size_t j = 0; j < b->q.b->n; j++)
            b->q.b->data[j] += 2, b->k.b->data[j] += 2;
    return s;
}

/* A model with a mix of the tests' variants; i is for what else it has. */
static Config config_of(const Variant *v, int i)
{
    Config c = { .attention = v->attention,
                 .vocab = VOCAB,
                 .layers = 2,
                 .heads = 2,
                 .width = 12,
                 .context = CONTEXT,
                 .set = v->set };

    if (layer_of(c.attention)->one_head) {
        c.heads = 1;
        *setting_at(&c.set, "key-size") = 6;
    }
    c.rope_scale = v->rope_scale;
    c.position = v->rope ? POSITION_ROPE : POSITION_LEARNED + i % 3;
    c.ffn = i % 2;
    c.norm = i / 2 % 2;
    c.bias = layer_of(c.attention) == &layer_heads && (i % 3 == 0 || !(v->traits & SMOOTH));
    return c;
}

/* Logits after each of n tokens, from the whole model; its context is no limit. */
static double *whole(const Small *s, const int *id, int n)
{
    Model longer = s->model;
    Tape tape = tape_open(1);

    longer.config.context = n > s->model.config.context ? n : s->model.config.context;
    tape.forward_only = true;
    const Tensor *y = model_logits(&tape, &longer, id, 1, n, 0);
    double *copy = doubles(s->mem, y->data, y->n);
    tape_close(&tape);
    return copy;
}

/* The same from a decoder that could go on to `positions`. */
static real *decoded(const Small *s, const int *id, int n, int positions, int threads)
{
    real *logits = arena_take(s->mem, (size_t)(n * s->model.config.vocab) * sizeof *logits);
    int width = s->model.config.vocab;
    Pool *pool = pool_new(threads);
    Decoder *d = decoder_new(&s->model, pool, positions);

    for (int t = 0; t < n; t++)
        memcpy(logits + t * width, decoder_step(d, id[t]), (size_t)width * sizeof *logits);
    decoder_free(d);
    pool_free(pool);
    return logits;
}

static void check_decoded(const char *name, const Small *s, int n)
{
    const double *want = whole(s, s->batch.id, n);
    const real *got = decoded(s, s->batch.id, n, n, 2);

    check_close(name, got, want, (size_t)(n * VOCAB), forward_tolerance);
}

START_TEST(after_every_token_the_logits_are_those_of_the_whole_model)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++)
        for (int more = 0; more < 3; more++) {
            Small *s = open_model(config_of(v, i + more), CONTEXT);

            check_decoded(v->label, s, CONTEXT);
            small_close(s);
        }
    for (i = 0; i < VARIANTS; i++) {
        Small *s = open_model(small_variant(i), small_variant(i).context);

        check_decoded("small variant", s, s->batch.T);
        small_close(s);
    }
}
END_TEST

/* Its weights are for distances up to a horizon. */
static bool reaches(const Variant *v)
{
    return attention_takes(v->attention, "horizon");
}

/* Where a table of positions does not end it, and no angle is too large. */
START_TEST(a_model_goes_on_beyond_its_context)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        if (reaches(v))
            continue;
        if (c.position != POSITION_ROPE)
            c.position = POSITION_NONE;
        Small *s = open_model(c, BEYOND);
        check_decoded(v->label, s, BEYOND);
        small_close(s);
    }
}
END_TEST

/* In a model of one block without positions, o is that of the keys that are seen, and no others. */
static void check_reach(Config c, int M)
{
    int half = (M + 1) / 2;

    c.layers = 1, c.context = M;
    Small *s = open_model(c, BEYOND);
    const real *got = decoded(s, s->batch.id, BEYOND, BEYOND, 1);
    for (int t = 0; t < BEYOND; t++) {
        int from = t < M ? 0 : (t - M + half) / half * half;
        int n = t - from + 1;

        ck_assert_int_le(n, M);
        ck_assert_int_ge(n, t < M ? t + 1 : M - half + 1);
        *setting_at(&s->model.config.set, "horizon") = M;
        check_close("cosformer", got + t * VOCAB, whole(s, s->batch.id + from, n) + (n - 1) * VOCAB,
                    VOCAB, forward_tolerance);
    }
    small_close(s);
}

START_TEST(cosformer_forgets_a_key_before_its_weight_is_negative)
{
    static const int M[] = { 1, 2, 3, 7, 16, 39 };

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v))
        for (int i = 0; i < COUNT(M) && reaches(v); i++) {
            Config c = config_of(v, 1);

            if (setting(&c.set, "horizon") > M[i])
                continue;
            c.position = v->rope ? POSITION_ROPE : POSITION_NONE;
            check_reach(c, M[i]);
        }
}
END_TEST

START_TEST(a_horizon_beyond_the_context_is_what_the_angles_reach)
{
    const Variant plain = { .attention = &attention_cosformer,
                            .set = settings_default(&attention_cosformer) };
    Config c = config_of(&plain, 2);

    *setting_at(&c.set, "horizon") = BEYOND;
    ck_assert_int_eq(c.position, POSITION_NONE);
    Small *s = open_model(c, BEYOND);
    check_decoded("cosformer", s, BEYOND);
    small_close(s);
}
END_TEST

START_TEST(what_is_decoded_depends_on_no_thread_and_not_on_how_many_tokens_may_come)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        c.position = v->rope ? POSITION_ROPE : POSITION_NONE;
        Small *s = open_model(c, BEYOND);
        const real *one = decoded(s, s->batch.id, CONTEXT + 5, CONTEXT + 5, 1);
        const real *two = decoded(s, s->batch.id, CONTEXT + 5, 2 * BEYOND, 3);

        ck_assert_msg(same_bits(one, two, (CONTEXT + 5) * VOCAB), "%s %s", v->attention->name,
                      v->label);
        small_close(s);
    }
}
END_TEST

START_TEST(after_a_reset_a_decoder_is_as_new)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        c.position = v->rope ? POSITION_ROPE : POSITION_NONE;
        Small *s = open_model(c, BEYOND);
        Pool *pool = pool_new(1);
        Decoder *d = decoder_new(&s->model, pool, BEYOND);
        const real *want = decoded(s, s->batch.id, BEYOND, BEYOND, 1);

        for (int t = 0; t < CONTEXT + 7; t++)
            decoder_step(d, s->batch.id[BEYOND - 1 - t]);
        decoder_reset(d);
        for (int t = 0; t < BEYOND; t++)
            ck_assert(same_bits(decoder_step(d, s->batch.id[t]), want + t * VOCAB, VOCAB));
        decoder_free(d);
        pool_free(pool);
        small_close(s);
    }
}
END_TEST

/* Bytes that a decoder holds after so many tokens. */
static size_t held_after(const Small *s, int tokens, int positions)
{
    Pool *pool = pool_new(1);
    Decoder *d = decoder_new(&s->model, pool, positions);
    size_t before = 0;

    for (int t = 0; t < tokens; t++) {
        decoder_step(d, t % VOCAB);
        ck_assert(t < 3 || decoder_held(d) == before);
        before = decoder_held(d);
    }
    decoder_free(d);
    pool_free(pool);
    return before;
}

START_TEST(memory_is_the_same_after_every_token_and_for_linear_ones_for_any_number)
{
    for (const Variant *v = variant_next(NULL); v; v = variant_next(v)) {
        Config c = config_of(v, 2);

        if (!v->plain)
            continue;
        Small *s = open_model(c, CONTEXT);
        size_t few = held_after(s, BEYOND, 3 * BEYOND), many = held_after(s, 3, 100 * BEYOND);
        ck_assert_msg((many == few) == !!(v->traits & IS_LINEAR), "%s", v->attention->name);
        small_close(s);
    }
}
END_TEST

/* What the function is to do; -1 in the name of a file would be no number. */
static void decode_wrongly(const char *what)
{
    Config c = small_variant(0);

    c.position = POSITION_LEARNED;
    if (strcmp(what, "both sides") == 0)
        c.task = TASK_MLM, c.vocab++;
    Small *s = small_open(c, 1, 8);
    Decoder *d = decoder_new(&s->model, pool_new(1), strcmp(what, "long") == 0 ? 9 : 8);
    for (int t = 0; t < 9; t++)
        decoder_step(d, strcmp(what, "token") == 0 ? VOCAB : 0);
}

START_TEST(what_cannot_be_decoded_is_a_bug)
{
    static const char *const what[] = { "both sides", "long", "token", "one too many" };

    for (int i = 0; i < COUNT(what); i++)
        ck_assert_int_eq(exit_code_of(decode_wrongly, what[i]), -SIGABRT);
}
END_TEST

static void decode_too_much(const char *ignored)
{
    Config c = small_variant(0);

    (void)ignored;
    c.width = 128;
    Small *s = small_open(c, 1, 8);
    decoder_new(&s->model, pool_new(1), 1 << 24);
}

START_TEST(more_memory_than_there_is_is_refused)
{
    check_dies(decode_too_much, "", EXIT_MEMORY, "take fewer tokens");
}
END_TEST

/* --- the draws ---------------------------------------------------------------------------------
 */

enum { SAMPLE = 60, PROMPT = 5 };

static void sample(const Small *s, Sampling how, int threads, int *out)
{
    Pool *pool = pool_new(threads);
    Sampler *w = sampler_new(&s->model, pool, how, PROMPT + SAMPLE);

    sampler_begin(w, 1);
    for (int t = 0; t < PROMPT; t++)
        sampler_read(w, s->batch.id[t]);
    for (int i = 0; i < SAMPLE; i++) {
        out[i] = sampler_draw(w);
        sampler_read(w, out[i]);
    }
    sampler_free(w);
    pool_free(pool);
}

START_TEST(a_sample_depends_on_its_seed_and_on_no_thread)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_model(small_variant(i), PROMPT);
        int first[SAMPLE], again[SAMPLE], other[SAMPLE];
        Sampling how = { 0.8, 0, 1, 5 };

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
    Small *s = open_model(small_variant(1), PROMPT);
    Pool *pool = pool_new(1);
    Sampler *w = sampler_new(&s->model, pool, (Sampling){ 1, 0, 1, 5 }, PROMPT + SAMPLE);
    static const uint64_t number[] = { 0, 1, 0 };
    int token[3][SAMPLE];

    for (int k = 0; k < 3; k++) {
        sampler_begin(w, number[k]);
        sampler_read(w, s->batch.id[0]);
        for (int i = 0; i < SAMPLE; i++)
            sampler_read(w, token[k][i] = sampler_draw(w));
    }
    ck_assert_mem_eq(token[2], token[0], sizeof token[0]);
    ck_assert_mem_ne(token[1], token[0], sizeof token[0]);
    sampler_free(w);
    pool_free(pool);
    small_close(s);
}
END_TEST

/* So hot that all tokens are about as likely: 60 draws have most of them. */
START_TEST(each_token_of_a_sample_is_drawn_anew)
{
    Small *s = open_model(small_variant(3), PROMPT);
    int token[SAMPLE];
    unsigned drawn = 0, followed = 0;

    sample(s, (Sampling){ 100, 0, 1, 5 }, 1, token);
    for (int i = 0; i < SAMPLE; i++)
        drawn |= 1u << token[i];
    for (int i = 1; i < SAMPLE; i++)
        followed += token[i] == token[i - 1];
    ck_assert_uint_eq(drawn, (1u << VOCAB) - 1);
    ck_assert_uint_le(followed, 15);
    small_close(s);
}
END_TEST

/* How many of n tokens the last one sees, by the rule of the window alone. */
static int seen_of(const Config *c, int n)
{
    int seen = 0;

    if (c->position != POSITION_LEARNED && c->position != POSITION_SINUSOIDAL)
        return n;
    for (int t = 0; t < n; t++)
        seen = seen == c->context ? c->context / 2 + 1 : seen + 1;
    return seen;
}

static int likeliest_after(const Small *s, const int *id, int n)
{
    int seen = seen_of(&s->model.config, n), best = 0;
    const double *logits = whole(s, id + n - seen, seen) + (seen - 1) * VOCAB;

    for (int c = 1; c < VOCAB; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

/* _i: the context */
START_TEST(at_temperature_0_the_likeliest_token_follows)
{
    static const double cold[] = { 0, 1e-6, 1e-300 };

    for (int i = 0; i < VARIANTS; i++) {
        Config config = small_variant(i);

        config.context = _i;
        Small *s = open_model(config, PROMPT);
        int id[PROMPT + SAMPLE];

        memcpy(id, s->batch.id, PROMPT * sizeof *id);
        for (int t = PROMPT; t < PROMPT + SAMPLE; t++)
            id[t] = likeliest_after(s, id, t);
        for (int j = 0; j < COUNT(cold); j++) {
            int got[SAMPLE];

            sample(s, (Sampling){ cold[j], 0, 1, 5 }, 2, got);
            ck_assert_msg(memcmp(got, id + PROMPT, sizeof got) == 0, "variant %d at %g", i,
                          cold[j]);
        }
        small_close(s);
    }
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
    while (i < kept && passed < how.top_p * all)
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
    ck_assert_msg(!wrong, "%d of %d tokens are drawn too often, or not enough: k %d, p %g, at %g",
                  wrong, n, how.top_k, how.top_p, how.temperature);
}

/* Many are as likely as others; 0.5, 0.25 and so on are reached exactly. */
START_TEST(top_k_and_top_p_keep_what_sorting_would_keep)
{
    static const double top_p[] = { 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1 };
    static const double temperature[] = { 0.01, 0.5, 1, 1.7, 100 };
    static const int top_k[] = { 0, 1, 2, 3, 7, MOST - 1, MOST, MOST + 1, 1 << 24 };
    Random r = random_stream(1, RANDOM_TEST, 0);
    uint64_t drawn = 0;

    for (int n = 1; n <= MOST; n += n < 5 ? 1 : 5)
        for (int j = 0; j < COUNT(top_p) * COUNT(temperature) * COUNT(top_k); j++) {
            Sampling how = { temperature[j % COUNT(temperature)],
                             top_k[j / COUNT(temperature) % COUNT(top_k)],
                             top_p[j / COUNT(temperature) / COUNT(top_k)], 0 };
            real logits[MOST];

            for (int c = 0; c < n; c++)
                logits[c] = j % 3 == 0 ? R(2) : R((int)random_below(r, drawn++, 9)) / 2;
            check_draws(how, logits, n);
        }
}
END_TEST

START_TEST(of_tokens_as_likely_the_lower_ones_are_kept)
{
    Candidate room[MOST];
    real logits[MOST] = { 0 };

    for (int k = 1; k < MOST; k++)
        for (int i = 0; i < DRAWS; i++) {
            double u = (i + 0.5) / DRAWS;
            Sampling by_k = { 1, k, 1, 0 }, by_p = { 1, 0, (k - 0.5) / MOST, 0 };

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
                Sampling how = { temperature[i % 5], k, p / 4.0, 0 };
                int token = sample_draw(how, logits, n, u[i / 5], room);

                ck_assert_int_ge(token, 0);
                ck_assert_int_lt(token, n);
                ck_assert(drawable >> token & 1);
            }
}

START_TEST(numbers_that_are_none_and_infinite_ones_are_drawn_as_they_can_be)
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
    Small *s = open_model(small_variant(0), PROMPT);
    const double *logits = whole(s, s->batch.id, PROMPT) + (PROMPT - 1) * VOCAB;
    Pool *pool = pool_new(1);
    Sampler *w = sampler_new(&s->model, pool, (Sampling){ 2, 0, 1, 5 }, PROMPT);
    int count[VOCAB] = { 0 };
    double sum = 0, chi = 0;

    for (uint64_t number = 0; number < N; number++) {
        sampler_begin(w, number);
        for (int t = 0; t < PROMPT; t++)
            sampler_read(w, s->batch.id[t]);
        count[sampler_draw(w)]++;
    }
    for (int c = 0; c < VOCAB; c++)
        sum += exp(logits[c] / 2);
    for (int c = 0; c < VOCAB; c++) {
        double want = N * exp(logits[c] / 2) / sum;

        chi += (count[c] - want) * (count[c] - want) / want;
    }
    ck_assert_double_lt(chi, 29.6);
    sampler_free(w);
    pool_free(pool);
    small_close(s);
}
END_TEST

/* --- the stream --------------------------------------------------------------------------------
 */

/* What a stream has printed so far. */
typedef struct {
    Stream stream;
    char *at;
    size_t n;
} Printer;

static void printer_open(Printer *p, bool raw)
{
    *p = (Printer){ .stream.raw = raw };
    p->stream.out = open_memstream(&p->at, &p->n);
    ck_assert_ptr_nonnull(p->stream.out);
}

static void print(Printer *p, const char *bytes, size_t n)
{
    ck_assert(stream_write(&p->stream, (Bytes){ (const unsigned char *)bytes, n }));
}

static void printer_close(Printer *p)
{
    fclose(p->stream.out);
    free(p->at);
}

/* Prints the bytes in one piece, and one by one. */
static void check_printed(const char *bytes, size_t n, bool raw, const char *want, size_t wanted)
{
    for (size_t piece = 1; piece <= n; piece += n > 1 ? n - 1 : 1) {
        Printer p;

        printer_open(&p, raw);
        for (size_t i = 0; i < n; i += piece)
            print(&p, bytes + i, piece);
        ck_assert(stream_end(&p.stream));
        ck_assert_uint_eq(p.n, wanted);
        ck_assert_mem_eq(p.at, want, wanted);
        printer_close(&p);
    }
}

#define PRINTS(bytes, want) check_printed(bytes, sizeof(bytes) - 1, false, want, sizeof(want) - 1)
#define NO "\xef\xbf\xbd" /* U+FFFD */

START_TEST(in_one_line_the_end_of_a_line_is_a_space)
{
    Printer p;

    printer_open(&p, false);
    p.stream.one_line = true;
    print(&p, "a\n\nb\tc\r", 7);
    ck_assert(stream_end(&p.stream));
    ck_assert_mem_eq(p.at, "a  b\tc?", 7);
    printer_close(&p);
}
END_TEST

/* The bytes up to n that are whole characters, all of them valid. */
static size_t complete(const char *bytes, size_t n)
{
    size_t at = 0;
    uint32_t code;

    for (int length; at < n; at += (size_t)length)
        if (!(length = utf8_decode((const unsigned char *)bytes + at, n - at, &code)))
            break;
    return at;
}

START_TEST(however_characters_are_cut_into_tokens_they_are_printed_whole_and_at_once)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\n\xf0\x9f\x98\x80z";
    enum { N = sizeof text - 1 };

    for (unsigned cuts = 0; cuts < 1u << (N - 1); cuts++) {
        Printer p;

        printer_open(&p, false);
        for (size_t from = 0, i = 1; i <= N; i++)
            if (i == N || cuts >> (i - 1) & 1) {
                print(&p, text + from, i - from);
                from = i;
                ck_assert_uint_eq(p.n, complete(text, i));
                ck_assert_mem_eq(p.at, text, p.n);
            }
        printer_close(&p);
    }
}
END_TEST

START_TEST(every_character_of_unicode_that_is_no_control_character_is_printed)
{
    Printer p;
    char *all = xmalloc(0x110000 * 4);
    size_t n = 0;

    for (uint32_t code = ' '; code < 0x110000; code++)
        if ((code < 0x7f || code >= 0xa0) && (code < 0xd800 || code >= 0xe000))
            n += (size_t)utf8_encode((unsigned char *)all + n, code);
    printer_open(&p, false);
    for (size_t i = 0; i < n; i += 1021)
        print(&p, all + i, n - i < 1021 ? n - i : 1021);
    ck_assert_uint_eq(p.n, n);
    ck_assert_mem_eq(p.at, all, n);
    printer_close(&p);
    free(all);
}
END_TEST

/* The tables 3-8 to 3-11 of the Unicode standard, and what else is no UTF-8. */
START_TEST(each_beginning_of_a_character_that_goes_wrong_is_replaced_once)
{
    PRINTS("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", NO NO NO NO NO NO NO NO "A");
    PRINTS("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", NO NO NO NO NO NO NO NO "A");
    PRINTS("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", NO NO NO NO NO "A" NO NO "B");
    PRINTS("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", NO NO NO NO "A");
    PRINTS("\xe2\x82\xe2\x82\xac", NO "\xe2\x82\xac");
    PRINTS("\xf4\x8f\xbf\xbf\xf5\xbf", "\xf4\x8f\xbf\xbf" NO NO);
}
END_TEST

START_TEST(a_character_that_is_not_complete_at_the_end_is_replaced)
{
    PRINTS("\xc3", NO);
    PRINTS("a\xe2\x82", "a" NO);
    PRINTS("\xf0\x9f\x98", NO);
    PRINTS("a", "a");
    PRINTS("\xc3\xa9", "\xc3\xa9");
}
END_TEST

START_TEST(control_characters_do_not_reach_the_terminal)
{
    PRINTS("\x1b[2J\r\a\b\x7f", "?[2J????");
    check_printed("a\0b", 3, false, "a?b", 3);
    PRINTS("a\tb\nc", "a\tb\nc");
    PRINTS("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "???\xc2\xa0");
}
END_TEST

START_TEST(raw_bytes_are_printed_as_they_are)
{
    static const char bytes[] = "\x1b[2J\xff\xe2\x82\0\xc3";

    check_printed(bytes, sizeof bytes - 1, true, bytes, sizeof bytes - 1);
}
END_TEST

START_TEST(what_cannot_be_written_is_noticed)
{
    Stream s = { .out = fopen("/dev/full", "w") };

    if (!s.out)
        return;
    ck_assert(!stream_write(&s, (Bytes){ (const unsigned char *)"a", 1 }));
    fclose(s.out);
}
END_TEST

Suite *suite_decode(void)
{
    Suite *s = suite_create("decode");
    TCase *t = group(s, "decoder");

    tcase_add_test(t, after_every_token_the_logits_are_those_of_the_whole_model);
    tcase_add_test(t, a_model_goes_on_beyond_its_context);
    tcase_add_test(t, cosformer_forgets_a_key_before_its_weight_is_negative);
    tcase_add_test(t, a_horizon_beyond_the_context_is_what_the_angles_reach);
    tcase_add_test(t, what_is_decoded_depends_on_no_thread_and_not_on_how_many_tokens_may_come);
    tcase_add_test(t, after_a_reset_a_decoder_is_as_new);
    tcase_add_test(t, memory_is_the_same_after_every_token_and_for_linear_ones_for_any_number);
    tcase_add_test(t, what_cannot_be_decoded_is_a_bug);
    tcase_add_test(t, more_memory_than_there_is_is_refused);
    t = group(s, "draw");
    tcase_add_test(t, a_sample_depends_on_its_seed_and_on_no_thread);
    tcase_add_test(t, a_sample_depends_on_its_number_and_on_no_other);
    tcase_add_test(t, each_token_of_a_sample_is_drawn_anew);
    tcase_add_loop_test(t, at_temperature_0_the_likeliest_token_follows, 7, 9);
    tcase_add_test(t, the_likeliest_token_is_the_first_of_the_largest);
    tcase_add_test(t, top_k_and_top_p_keep_what_sorting_would_keep);
    tcase_add_test(t, of_tokens_as_likely_the_lower_ones_are_kept);
    tcase_add_test(t, numbers_that_are_none_and_infinite_ones_are_drawn_as_they_can_be);
    tcase_add_test(t, tokens_are_drawn_as_often_as_their_probability_says);
    t = group(s, "stream");
    tcase_add_test(t, however_characters_are_cut_into_tokens_they_are_printed_whole_and_at_once);
    tcase_add_test(t, every_character_of_unicode_that_is_no_control_character_is_printed);
    tcase_add_test(t, each_beginning_of_a_character_that_goes_wrong_is_replaced_once);
    tcase_add_test(t, a_character_that_is_not_complete_at_the_end_is_replaced);
    tcase_add_test(t, control_characters_do_not_reach_the_terminal);
    tcase_add_test(t, raw_bytes_are_printed_as_they_are);
    tcase_add_test(t, in_one_line_the_end_of_a_line_is_a_space);
    tcase_add_test(t, what_cannot_be_written_is_noticed);
    return s;
}
