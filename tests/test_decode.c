/* Decoding against the whole model. */
#include "model/decode.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/base/text.h"
#include "ops/decoding.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/variants.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 11, CONTEXT = 40, BEYOND = 3 * CONTEXT };

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
    if (layer_of(c.attention)->groups && !setting(&c.set, "share-keys"))
        c.kv_heads = i % 2;
    c.rope_scale = v->rope_scale;
    c.position = v->rope ? POSITION_ROPE : POSITION_LEARNED + i % 3;
    c.ffn = i % 2;
    c.norm = i / 2 % 2;
    c.bias = layer_of(c.attention) == &layer_heads && (i % 3 == 0 || !(v->traits & SMOOTH));
    return c;
}

/* Logits after each of n tokens, from the whole model. */
static double *whole(const Small *s, const int *id, int n)
{
    return doubles(s->mem, small_logits(s, id, 1, n, 1), (size_t)(n * VOCAB));
}

/* The same from a decoder that could go on to `positions`. */
static real *decoded(const Small *s, const int *id, int n, int positions, int threads)
{
    real *logits = arena_take(s->mem, (size_t)(n * s->model.config.vocab) * sizeof *logits);
    int width = s->model.config.vocab;
    Pool *pool = pool_new(threads);
    Decoder *d = decoder_new(&s->model, pool, positions, 1);

    for (int t = 0; t < n; t++)
        memcpy(logits + t * width, decoder_step(d, &id[t]), (size_t)width * sizeof *logits);
    decoder_free(d);
    pool_free(pool);
    return logits;
}

/* Reads most of n tokens in two pieces, steps through the rest, and compares where it has logits.
 */
static void check_read(const char *name, const Small *s, int n, const double *want)
{
    const int wide = s->model.config.vocab, piece[] = { n / 2 + 1, n / 3 };
    real *got = arena_take(s->mem, (size_t)(n * wide) * sizeof *got);
    double *its = arena_take(s->mem, (size_t)(n * wide) * sizeof *its);
    Pool *pool = pool_new(2);
    Decoder *d = decoder_new(&s->model, pool, n, 1);
    int rows = 0;

    for (int t = 0, i = 0; t < n; i++, rows++) {
        const int some = i < 2 && piece[i] > 0 ? piece[i] : 1;
        const real *logits = decoder_read(d, s->batch.id + t, some);

        t += some;
        memcpy(got + rows * wide, logits, (size_t)wide * sizeof *got);
        memcpy(its + rows * wide, want + (t - 1) * wide, (size_t)wide * sizeof *its);
    }
    check_close(name, got, its, (size_t)(rows * wide), forward_tolerance);
    decoder_free(d);
    pool_free(pool);
}

static void check_decoded(const char *name, const Small *s, int n)
{
    const double *want = whole(s, s->batch.id, n);
    const real *got = decoded(s, s->batch.id, n, n, 2);

    check_close(name, got, want, (size_t)(n * VOCAB), forward_tolerance);
    check_read(name, s, n, want);
}

START_TEST(after_every_token_the_logits_are_those_of_the_whole_model)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++)
        for (int more = 0; more < 3 && attention_decodes(v->attention); more++) {
            Small *s = small_for_decoding(config_of(v, i + more), CONTEXT);

            check_decoded(v->label, s, CONTEXT);
            small_close(s);
        }
    for (i = 0; i < VARIANTS; i++) {
        Small *s = small_for_decoding(small_variant(i), small_variant(i).context);

        check_decoded("small variant", s, s->batch.T);
        small_close(s);
    }
}
END_TEST

/* All matrices become what is left of them in bf16. */
static void round_matrices(const Params *params)
{
    for (Param *p = params->first; p; p = p->next)
        for (size_t i = 0; p->tensor->ndim == 2 && i < p->tensor->n; i++) {
            Bf16Pair pair;

            bf16_row((real *)&pair, &p->tensor->data[i], 1);
            p->tensor->data[i] = pair_first(pair);
        }
}

/* The logits after a prompt are those of products in bf16, those of steps of weights in bf16. */
START_TEST(a_narrow_model_decodes_in_bf16)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_for_decoding(small_variant(i), small_variant(i).context);
        const int n = s->batch.T, *id = s->batch.id;
        Tape tape = tape_open(2);

        round_matrices(&s->model.params);
        const double *want = whole(s, id, n);
        tape.forward_only = true, tape.precision = PRECISION_BF16;
        const real *in_bf16 = model_logits(&tape, &s->model, id, 1, n, 0)->data + (n - 1) * VOCAB;
        params_narrow(&s->model.params, PRECISION_BF16);
        check_close("steps", decoded(s, id, n, n, 2), want, (size_t)(n * VOCAB), forward_tolerance);
        Decoder *d = decoder_new(&s->model, tape.pool, n, 1);
        ck_assert(same_bits(decoder_read(d, id, n), in_bf16, VOCAB));
        decoder_free(d);
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

/* Its weights are for distances up to a horizon. */
static bool reaches(const Variant *v)
{
    return attention_takes(v->attention, "horizon");
}

/* It decodes, and has no operand for each position of the context. */
static bool goes_on(const Variant *v)
{
    return attention_decodes(v->attention) && !attention_ends(v->attention, &v->set);
}

/* Where a table of positions does not end it, and no angle is too large. */
START_TEST(a_model_continues_beyond_its_context)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        if (reaches(v) || !goes_on(v))
            continue;
        if (c.position != POSITION_ROPE)
            c.position = POSITION_NONE;
        Small *s = small_for_decoding(c, BEYOND);
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
    Small *s = small_for_decoding(c, BEYOND);
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
    Small *s = small_for_decoding(c, BEYOND);
    check_decoded("cosformer", s, BEYOND);
    small_close(s);
}
END_TEST

START_TEST(decoding_depends_neither_on_threads_nor_on_capacity)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        if (!goes_on(v))
            continue;
        c.position = v->rope ? POSITION_ROPE : POSITION_NONE;
        Small *s = small_for_decoding(c, BEYOND);
        const real *one = decoded(s, s->batch.id, CONTEXT + 5, CONTEXT + 5, 1);
        const real *two = decoded(s, s->batch.id, CONTEXT + 5, 2 * BEYOND, 3);

        ck_assert_msg(same_bits(one, two, (CONTEXT + 5) * VOCAB), "%s %s", v->attention->name,
                      v->label);
        small_close(s);
    }
}
END_TEST

START_TEST(a_reset_decoder_behaves_like_a_new_one)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        Config c = config_of(v, i);

        if (!goes_on(v))
            continue;
        c.position = v->rope ? POSITION_ROPE : POSITION_NONE;
        Small *s = small_for_decoding(c, BEYOND);
        Pool *pool = pool_new(1);
        Decoder *d = decoder_new(&s->model, pool, BEYOND, 1);
        const real *want = decoded(s, s->batch.id, BEYOND, BEYOND, 1);

        for (int t = 0; t < CONTEXT + 7; t++)
            decoder_step(d, &s->batch.id[BEYOND - 1 - t]);
        decoder_reset(d);
        for (int t = 0; t < BEYOND; t++)
            ck_assert(same_bits(decoder_step(d, &s->batch.id[t]), want + t * VOCAB, VOCAB));
        decoder_free(d);
        pool_free(pool);
        small_close(s);
    }
}
END_TEST

enum { TOGETHER = 5, ALIKE = 4 };

/* Tokens of several sequences, of which the first ones are the same. */
static void set_tokens(const Small *s, int id[TOGETHER][CONTEXT])
{
    for (int b = 0; b < TOGETHER; b++)
        for (int t = 0; t < CONTEXT; t++)
            id[b][t] = (s->batch.id[t] + (t < ALIKE ? 0 : b * t)) % VOCAB;
}

/* What all sequences have after n more tokens from `from` on, and what each has that reads them
 * alone. */
static void check_together(const char *name, const real *all, Decoder *const alone[TOGETHER],
                           int id[TOGETHER][CONTEXT], int from, int n)
{
    const int wide = (int)VOCAB;

    for (int b = 0; b < TOGETHER; b++) {
        int *next = id[b] + from;
        const real *want = n > 1 ? decoder_read(alone[b], next, n) : decoder_step(alone[b], next);

        ck_assert_msg(same_bits(all + b * wide, want, VOCAB), "%s: sequence %d at %d", name, b,
                      from);
    }
}

/* The first tokens, which are the same, at once; then one by one; then all of them at once. */
static void decode_together(const char *name, Decoder *all, Decoder *const alone[TOGETHER],
                            int id[TOGETHER][CONTEXT])
{
    check_together(name, decoder_read(all, id[0], ALIKE), alone, id, 0, ALIKE);
    for (int t = ALIKE; t < CONTEXT; t++) {
        int next[TOGETHER];

        for (int b = 0; b < TOGETHER; b++)
            next[b] = id[b][t];
        check_together(name, decoder_step(all, next), alone, id, t, 1);
    }
    decoder_reset(all);
    for (int b = 0; b < TOGETHER; b++)
        decoder_reset(alone[b]);
    check_together(name, decoder_read_each(all, id[0], CONTEXT, CONTEXT), alone, id, 0, CONTEXT);
}

/* In double, whose small blocks are slow, every other variant. */
START_TEST(sequences_decoded_together_have_the_bits_that_they_have_alone)
{
    int i = 0;

    for (const Variant *v = variant_next(NULL); v; v = variant_next(v), i++) {
        if (!attention_decodes(v->attention) || (in_double && i % 2))
            continue;
        Config c = config_of(v, i);
        int id[TOGETHER][CONTEXT];

        *setting_at(&c.set, "conv") = i % 2 ? 3 : 0;
        c.width = i % 3 ? c.width : 32; /* as wide as vectors are */
        Small *s = small_for_decoding(c, CONTEXT);
        Pool *two = pool_new(2), *one = pool_new(1);
        Decoder *all = decoder_new(&s->model, two, CONTEXT, TOGETHER), *alone[TOGETHER];

        for (int b = 0; b < TOGETHER; b++)
            alone[b] = decoder_new(&s->model, one, CONTEXT, 1);
        set_tokens(s, id);
        decode_together(v->label, all, alone, id);
        decoder_free(all);
        for (int b = 0; b < TOGETHER; b++)
            decoder_free(alone[b]);
        pool_free(two), pool_free(one);
        small_close(s);
    }
}
END_TEST

/* The memory of a decoder after this many tokens. */
static size_t held_after(const Small *s, int tokens, int positions)
{
    Pool *pool = pool_new(1);
    Decoder *d = decoder_new(&s->model, pool, positions, 1);
    size_t before = 0;

    for (int t = 0; t < tokens; t++) {
        decoder_step(d, &(int){ t % VOCAB });
        ck_assert(t < 3 || decoder_held(d) == before);
        before = decoder_held(d);
    }
    decoder_free(d);
    pool_free(pool);
    return before;
}

/* Where there are more positions than a ring has slots. */
START_TEST(decoding_memory_is_constant_and_for_linear_ones_independent_of_length)
{
    for (const Variant *v = variant_next(NULL); v; v = variant_next(v)) {
        Config c = config_of(v, 2);

        if (!v->plain || !goes_on(v))
            continue;
        Small *s = small_for_decoding(c, CONTEXT);
        size_t few = held_after(s, BEYOND, 5 * BEYOND), many = held_after(s, 3, 100 * BEYOND);
        ck_assert_msg((many == few) == !!(v->traits & IS_LINEAR), "%s", v->attention->name);
        small_close(s);
    }
}
END_TEST

/* Not even if a window or a chunk could have more. */
START_TEST(a_state_has_room_for_no_more_positions_than_there_are)
{
    enum { LARGE = 1 << 20 };

    for (const Attention *const *a = attentions; *a; a++)
        for (const Setting *s = (*a)->settings; attention_decodes(*a) && s && s->name; s++) {
            MixSize size = { *a, .T = 3, .H = 2, .D = 4, .E = 4, .m = 8, .causal = true };

            if (s->kind != SETTING_NUMBER || s->size || s->most < LARGE)
                continue;
            size.set = settings_default(*a);
            *setting_at(&size.set, s->name) = 3;
            const size_t few = attention_state(&size);
            *setting_at(&size.set, s->name) = LARGE;
            ck_assert_msg(attention_state(&size) == few, "%s: --%s: %zu numbers, not %zu",
                          (*a)->name, s->name, attention_state(&size), few);
        }
}
END_TEST

/* Where a piece of this size is, of an arena that has returned none of it. */
static const char *next_piece(Arena *mem)
{
    enum { UNUSUAL = 4992 };

    return arena_take(mem, UNUSUAL);
}

/* A second step takes what the first has returned, so a long prompt needs no more. */
START_TEST(a_step_returns_the_memory_that_it_takes)
{
    for (const Variant *v = variant_next(NULL); v; v = variant_next(v)) {
        if (!attention_decodes(v->attention))
            continue;
        Tape tape = tape_open(1);
        Arena *mem = arena_new();
        const Mixing m = mixing(mem, v, (Shape){ 1, 1, 2, 4, 4 }, true);
        const Mix in = mixing_mix(&m);
        const MixSize size = mix_size(&in);
        Step s = { .tape = &tape, .in = &in, .o = arena_take(mem, m.x[V]->n * sizeof(real)) };

        tape.decoding = decoding_new(1, 1);
        s.state = tape_state(&tape, attention_state(&size));
        v->attention->engine->step(&s);
        const char *before = next_piece(tape.mem), *between = next_piece(tape.mem);
        v->attention->engine->step(&s);
        ck_assert_msg(next_piece(tape.mem) - between == between - before, "%s", m.name);
        decoding_free(tape.decoding);
        arena_free(mem);
        tape_close(&tape);
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
    Decoder *d = decoder_new(&s->model, pool_new(1), strcmp(what, "long") == 0 ? 9 : 8, 1);
    for (int t = 0; t < 9; t++)
        decoder_step(d, &(int){ strcmp(what, "token") == 0 ? VOCAB : 0 });
}

START_TEST(decoding_an_undecodable_model_is_a_bug)
{
    static const char *const what[] = { "both sides", "long", "token", "one too many" };

    for (int i = 0; i < COUNT(what); i++)
        ck_assert_int_eq(exit_code_of(decode_wrongly, what[i]), -SIGABRT);
}
END_TEST

/* A layer's keys and values are 256 numbers a position: more than can be indexed. */
static void decode_too_many(const char *ignored)
{
    Model model = { .config = small_variant(0) };

    (void)ignored;
    model.config.width = 128;
    decoder_new(&model, pool_new(1), INT_MAX / 256 + 1, 1);
}

/*
 * A layer's would take an eighth of the memory, if they can be indexed; those of 1,000 layers, or
 * of two for 1,000 sequences, take more than it.
 */
static void decode_too_much(const char *sequences)
{
    Model model = { .config = small_variant(0) };
    const double numbers = fmin(machine_memory() / sizeof(real) / 8, INT_MAX);
    const int n = atoi(sequences);

    model.config.layers = n > 1 ? 2 : 1000;
    decoder_new(&model, pool_new(1), (int)(numbers / (2 * model.config.width)) - CONTEXT, n);
}

START_TEST(more_memory_than_there_is_is_refused)
{
    check_dies(decode_too_many, "", EXIT_MEMORY, "numbers per layer, more than attn.c");
    check_dies(decode_too_much, "1", EXIT_MEMORY, "GiB, but the machine has");
    check_dies(decode_too_much, "1000", EXIT_MEMORY, "tokens in each of 1000 samples with");
}
END_TEST

START_TEST(the_caller_of_a_step_gets_its_own_state_again)
{
    Tape tape = { .mem = arena_new(), .decoding = decoding_new(2, 1) };
    real *first = tape_state(&tape, 3), *second = tape_state(&tape, 5);

    ck_assert_uint_eq(decoding_held(tape.decoding), 8 * sizeof(real));
    first[2] = 1, second[4] = 2;
    tape_reset(&tape);
    ck_assert_ptr_eq(tape_state(&tape, 3), first);
    ck_assert_ptr_eq(tape_state(&tape, 5), second);
    ck_assert_double_eq((double)first[2], 1);
    ck_assert_double_eq((double)second[4], 2);
    decoding_reset(tape.decoding);
    ck_assert_double_eq((double)(first[2] + second[4]), 0);
    ck_assert_uint_eq(decoding_held(tape.decoding), 8 * sizeof(real));
    decoding_free(tape.decoding);
    arena_free(tape.mem);
}
END_TEST

Suite *suite_decode(void)
{
    Suite *s = suite_create("decode");
    TCase *t = group(s, "decoder");
    TCase *threads = group(s, "threads"); /* alone under the thread sanitizer */

    tcase_add_test(t, after_every_token_the_logits_are_those_of_the_whole_model);
    tcase_add_test(threads, a_narrow_model_decodes_in_bf16);
    tcase_add_test(t, a_model_continues_beyond_its_context);
    tcase_add_test(t, cosformer_forgets_a_key_before_its_weight_is_negative);
    tcase_add_test(t, a_horizon_beyond_the_context_is_what_the_angles_reach);
    tcase_add_test(threads, decoding_depends_neither_on_threads_nor_on_capacity);
    tcase_add_test(t, a_reset_decoder_behaves_like_a_new_one);
    tcase_add_test(threads, sequences_decoded_together_have_the_bits_that_they_have_alone);
    tcase_add_test(t, decoding_memory_is_constant_and_for_linear_ones_independent_of_length);
    tcase_add_test(t, a_state_has_room_for_no_more_positions_than_there_are);
    tcase_add_test(t, a_step_returns_the_memory_that_it_takes);
    tcase_add_test(t, the_caller_of_a_step_gets_its_own_state_again);
    tcase_add_test(t, decoding_an_undecodable_model_is_a_bug);
    tcase_add_test(t, more_memory_than_there_is_is_refused);
    return s;
}
