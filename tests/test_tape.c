/* A tape that keeps results of parts alone; and what a step takes of memory. */
#include "tests/small.h"
#include "tests/suites.h"
#include "training/optimiser.h"

#include <string.h>

/* A part that ends with what it gives, and one that ends with another node; one in the other. */
typedef struct {
    Tensor *x[4];
    bool recompute;
} Parts;

static Tensor *gated(Tape *tape, void *ctx, Tensor *x)
{
    const Parts *p = ctx;
    Tensor *h =
        op_dense(tape, (Dense){ .x = op_rmsnorm(tape, x, p->x[3], NORM_EPS), .w = p->x[2] });

    return op_dense(tape, (Dense){ .x = op_swiglu(tape, h, x), .w = p->x[2], .r = x });
}

static Tensor *nested(Tape *tape, void *ctx, Tensor *x)
{
    Tensor *y = tape_part(tape, gated, ctx, op_add(tape, x, x));
    Tensor *z = op_add(tape, y, x);

    op_activation(tape, y, &activation_silu); /* nobody uses it */
    return z;
}

static Tensor *of_parts(Tape *tape, void *ctx)
{
    Parts *p = ctx;

    tape->recompute = p->recompute;
    Tensor *a = op_add(tape, p->x[0], p->x[1]);
    Tensor *b = tape_part(tape, gated, p, a), *c = tape_part(tape, nested, p, b);

    return op_swiglu(tape, c, op_add(tape, a, tape_part(tape, gated, p, c)));
}

static void check_parts(Arena *mem, bool recompute)
{
    Parts p = { .x = { leaf(mem, 1, 1, SHAPE(7, 5)), leaf(mem, 2, 1, SHAPE(7, 5)),
                       leaf(mem, 3, 1, SHAPE(5, 5)), leaf(mem, 4, 1, SHAPE(5)) },
                .recompute = recompute };

    check_gradient("parts", of_parts, &p, p.x, 4);
}

START_TEST(recomputed_parts_have_the_right_gradient)
{
    Arena *mem = arena_new();

    check_parts(mem, false);
    check_parts(mem, true);
    arena_free(mem);
}
END_TEST

START_TEST(recomputed_parts_have_the_same_bits)
{
    Arena *mem = arena_new();
    Parts p = { .x = { leaf(mem, 1, 1, SHAPE(7, 5)), leaf(mem, 2, 1, SHAPE(7, 5)),
                       leaf(mem, 3, 1, SHAPE(5, 5)), leaf(mem, 4, 1, SHAPE(5)) } };
    const Subject s = { .name = "parts", .f = of_parts, .ctx = &p, .x = p.x, .n = 4 };
    const real *dy = weights();
    const Outcome once = outcome(mem, &s, 2, dy);

    p.recompute = true;
    const Outcome twice = outcome(mem, &s, 2, dy), seen = outcome(mem, &s, 2, NULL);
    ck_assert(same_bits(once.y, twice.y, once.n) && same_bits(once.y, seen.y, once.n));
    for (int j = 0; j < s.n; j++)
        ck_assert(same_bits(once.dx[j], twice.dx[j], p.x[j]->n));
    arena_free(mem);
}
END_TEST

/* The gradient of two batches, with masks of their own; its numbers, in `mem`. */
static real *learned(Small *s, bool recompute, int threads, Arena *mem, double loss[2])
{
    Tape tape = tape_open(threads);
    size_t n = params_count(&s->model.params);
    real *all = arena_take(mem, n * sizeof *all), *at = all;

    tape.recompute = recompute;
    params_zero_grad(&s->model.params);
    for (int i = 0; i < 2; i++) {
        s->mask = (uint64_t)(MASK + i);
        loss[i] = small_learn(s, &tape, 0.5);
    }
    for (int j = 0; j < s->subject.n; j++) {
        const Tensor *x = s->subject.x[j];

        if (x->has_grad)
            memcpy(at, x->grad, x->n * sizeof *at);
        else
            memset(at, 0, x->n * sizeof *at);
        at += x->n;
    }
    tape_close(&tape);
    return all;
}

static void check_same(Small *s)
{
    Arena *mem = arena_new();
    double loss[2], other[2];
    const real *kept = learned(s, false, 2, mem, loss);

    ck_assert(!all_zero(kept, params_count(&s->model.params)));
    for (int threads = 1; threads <= 2; threads++) {
        const real *again = learned(s, true, threads, mem, other);

        ck_assert(memcmp(loss, other, sizeof loss) == 0);
        ck_assert(same_bits(kept, again, params_count(&s->model.params)));
    }
    arena_free(mem);
}

/* Every variant, as each task has it; the second and the third with dropout. */
START_TEST(a_model_that_recomputes_has_the_same_losses_and_gradients)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);

        c.task = (Task)_i;
        if (c.task == TASK_CLASSIFY)
            c.tied = false, c.classes = 3;
        c.dropout = i % 2 == _i % 2 ? 0.2 : 0;
        Small *s = small_open(c, 3, 8);
        s->batch.whole = c.task == TASK_CLASSIFY;
        s->batch.length = _i ? arena_take(s->mem, 3 * sizeof(int)) : NULL;
        for (int b = 0; b < 3; b++) {
            if (_i)
                s->batch.length[b] = 8 - 2 * b;
            if (s->batch.whole)
                s->batch.target[b] = b;
        }
        check_same(s);
        small_close(s);
    }
}
END_TEST

/* Wide and long enough that every op is cut into pieces. */
START_TEST(large_models_that_recompute_have_the_same_losses_and_gradients)
{
    for (int i = 0; i < VARIANTS; i += sanitized ? 9 : 3) {
        Config c = small_variant(i);

        c.vocab = in_double ? 50 : 300, c.width = in_double ? 20 : 72;
        c.context = in_double ? 35 : 130, c.dropout = i % 2 ? 0.1 : 0;
        Small *s = small_open(c, 3, c.context);
        check_same(s);
        small_close(s);
    }
}
END_TEST

/* What a step of B sequences holds of memory. */
static double step_memory(const Config *c, int B, Tape tape)
{
    Arena *mem = arena_new();
    Small s = { .mask = MASK };
    size_t n = (size_t)(B * c->context) * sizeof(int);

    model_init(&s.model, *c, mem, 1);
    s.batch = (Batch){ .B = B, .T = c->context, .id = arena_zeros(mem, n) };
    s.batch.target = s.batch.id;
    tape.mem = arena_new();
    tape.pool = pool_new(1);
    small_learn(&s, &tape, 1);
    tape_reset(&tape); /* leaves one block that holds all of the step */
    double held = (double)arena_held(tape.mem);
    tape_close(&tape);
    arena_free(mem);
    return held;
}

/* In the proof, whose products are slow, more of the memory is for positions. */
#ifdef PROOF
enum { WIDTH = 16, LENGTH = 256 };
#else
enum { WIDTH = 64, LENGTH = 128 };
#endif

/* A model of that attention; what is not said is. */
static Config model_of(const char *attention, int context, Config with)
{
    Config c = with;

    c.attention = attention_find(attention);
    c.set = settings_default(c.attention);
    c.heads = c.heads ? c.heads : layer_of(c.attention)->one_head ? 1 : 4;
    c.vocab = 3 * WIDTH, c.width = WIDTH, c.context = context;
    c.position = c.attention->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    return c;
}

START_TEST(one_block_at_a_time_is_in_memory)
{
    static const char *const name[] = { "softmax", "efficient", "fastformer", "flash" };
    const Tape again = { .recompute = true }, once = { .recompute = false };
    const double between = 4 * 2 * LENGTH * WIDTH * sizeof(real); /* of four more layers */

    for (int i = 0; i < COUNT(name); i++) {
        const Config few = model_of(name[i], LENGTH, (Config){ .layers = 2 });
        Config many = few;

        many.layers = 6;
        ck_assert_double_le(step_memory(&many, 2, again) - step_memory(&few, 2, again),
                            1.5 * between);
        ck_assert_double_ge(step_memory(&many, 2, once) - step_memory(&few, 2, once), 8 * between);
    }
}
END_TEST

START_TEST(after_the_first_step_nothing_is_allocated)
{
    Small *s = small_open(small_variant(0), in_double ? 256 : 512, 8);
    Tape tape = tape_open(2);

    tape.recompute = true;
    small_learn(s, &tape, 1);
    small_learn(s, &tape, 1);
    const size_t second = arena_held(tape.mem);
    for (int step = 0; step < 3; step++)
        small_learn(s, &tape, 1);
    ck_assert_uint_gt(second, 1 << 20);
    ck_assert_uint_eq(arena_held(tape.mem), second);
    tape_close(&tape);
    small_close(s);
}
END_TEST

/* What evaluation holds of memory. */
static double forward_memory(const Config *c)
{
    int id[4 * LENGTH] = { 0 };
    Tape tape = tape_open(2);
    Arena *mem = arena_new();
    Model model;

    model_init(&model, *c, mem, 1);
    tape.forward_only = true;
    for (int i = 0; i < 2; i++) {
        tape_reset(&tape);
        model_logits(&tape, &model, id, 4, LENGTH, 0);
        ck_assert(!tape.last);
    }
    double held = (double)arena_held(tape.mem);
    tape_close(&tape);
    arena_free(mem);
    return held;
}

START_TEST(forward_only_passes_allocate_nothing_after_the_first)
{
    const Config few = model_of("softmax", LENGTH, (Config){ .layers = 2 });
    Config many = few;

    many.layers = 6;
    const double held = forward_memory(&many);
    const double want = config_forward_memory(&many, 4 * LENGTH) - config_forward_memory(&many, 0);

    ck_assert_double_le(held - forward_memory(&few), 4 * 1.5 * 4 * LENGTH * WIDTH * sizeof(real));
    ck_assert_double_eq_tol(held, want, 0.15 * held);
}
END_TEST

static void check_estimate(const Config *c, int B, bool recompute)
{
    const Load load = { .tokens = B * c->context, .recompute = recompute }, none = { 0 };
    const double want = config_memory(c, load) - config_memory(c, none);
    const double got = step_memory(c, B, (Tape){ .recompute = recompute });

    ck_assert_msg(fabs(want - got) <= 0.15 * got,
                  "%s, context %d%s: a step would take %.2f MiB, and takes %.2f",
                  c->attention->name, c->context, recompute ? ", again" : "", want / 0x1p20,
                  got / 0x1p20);
}

START_TEST(the_estimate_of_a_steps_memory_is_close)
{
    static const struct {
        const char *name;
        int context, key_size;
        bool no_gate;
        Config with;
    } row[] = {
        { "softmax", 128, 0, false, { .layers = 4, .ffn = FFN_SWIGLU } },
        { "softmax", 128, 0, false, { .layers = 1, .dropout = 0.1 } },
        { "softmax", 128, 24, false, { .layers = 4 } },
        { "softmax", 128, 0, false, { .layers = 1, .from_last = true } },
        { "softmax", 128, 0, false, { .layers = 1, .ffn = FFN_SWIGLU, .from_last = true } },
        { "softmax", 2048, 0, false, { .layers = 2 } },
        { "cosformer", 256, 0, false, { .layers = 4 } },
        { "cosformer", 256, 0, false, { .layers = 2, .ffn = FFN_SWIGLU } },
        { "efficient", 256, 64, false, { .layers = 4 } },
        { "performer", 256, 0, false, { .layers = 4 } },
        { "fastformer", 256, 0, false, { .layers = 4, .dropout = 0.2 } },
        { "gau", 128, 32, false, { .layers = 2 } },
        { "gau", 2048, 32, false, { .layers = 1 } },
        { "gau", 128, 32, true, { .layers = 2 } },
        { "gau", 128, 8, false, { .layers = 2, .heads = 4 } },
        { "flash", 256, 16, false, { .layers = 3 } },
        { "gau", 256, 256, false, { .layers = 1 } },
        { "flash", 256, 256, false, { .layers = 1 } },
    };

    for (int i = 0; i < COUNT(row); i++) {
        const int T = row[i].context, B = T > 256 ? 1 : 4;
        Config c = model_of(row[i].name, in_double ? 512 / B : T, row[i].with);

        if (row[i].key_size)
            *setting_at(&c.set, "key-size") = row[i].key_size * WIDTH / 64;
        if (row[i].no_gate)
            *setting_at(&c.set, "gate") = 0;
        for (int recompute = 0; recompute < 2; recompute++)
            if (!spared(i + recompute, T > 256 ? COUNT(row) : 2))
                check_estimate(&c, B, recompute);
    }
}
END_TEST

/* What they add by themselves: beside all that a step takes, an estimate without them is close,
 * too. */
START_TEST(the_estimate_of_what_options_add_is_close)
{
    static const struct {
        const char *name, *settings[2];
        bool value_embedding;
    } row[] = { { "softmax", { NULL }, true },
                { "fastformer", { NULL }, true },
                { "gau", { NULL }, true },
                { "softmax", { "conv", "qk-norm" }, false },
                { "mamba2", { "conv", "share-keys" }, false } };
    const int B = 4, T = 128;
    const Load load = { .tokens = B * T }, none = { 0 };

    for (int i = 0; i < COUNT(row); i++) {
        Config c = model_of(row[i].name, T, (Config){ .layers = 4 }), plain = c;

        c.value_embedding = row[i].value_embedding;
        for (int k = 0; k < 2 && row[i].settings[k]; k++) {
            *setting_at(&plain.set, row[i].settings[k]) = 0;
            *setting_at(&c.set, row[i].settings[k]) = k ? 1 : 4;
        }
        const double want = config_memory(&c, load) - config_memory(&c, none) -
                            config_memory(&plain, load) + config_memory(&plain, none);
        const double got = step_memory(&c, B, (Tape){ 0 }) - step_memory(&plain, B, (Tape){ 0 });
        ck_assert_msg(want > 0 && fabs(want - got) <= 0.2 * want, "%s, %d: %.3f MiB, not %.3f",
                      row[i].name, i, got / 0x1p20, want / 0x1p20);
    }
}
END_TEST

/* Numbers of weights, gradients, moments and the largest scratch, counted. */
static double numbers_between_steps(const Optimiser *o)
{
    double n = 0, scratch = 0;
    Moment moment[OPTIMISER_MOMENTS];

    for (const Param *p = o->params->first; p; p = p->next) {
        const Tensor *t = p->tensor;
        const int moments = optimiser_moments(o, p, moment);

        n += (p->fixed ? 1 : 2 + moments) * (double)t->n;
        if (moments - (o->hyper.ema > 0) == 1 && o->kind->scratch)
            scratch =
                fmax(scratch, (double)o->kind->scratch(t->dim[t->ndim - 2], t->dim[t->ndim - 1]));
    }
    return n + scratch / sizeof(real);
}

START_TEST(the_estimate_of_the_optimisers_memory_is_close)
{
    for (int kind = 0; optimisers[kind]; kind++)
        for (int i = kind; i < VARIANTS; i += 5) {
            Config c = small_variant(i);
            Arena *mem = arena_new();
            Optimiser o = { .kind = optimisers[kind], .hyper.ema = i / 5 % 2 ? 0.9 : 0 };
            Model model;

            c.vocab = 600, c.width = 96;
            if (setting(&c.set, "key-size"))
                *setting_at(&c.set, "key-size") = 48;
            if (setting(&c.set, "features"))
                *setting_at(&c.set, "features") = 96;
            model_init(&model, c, mem, 1);
            optimiser_init(&o, &model.params, mem);
            const Load load = { .state = optimiser_numbers(&o, &c) };
            const double want = config_memory(&c, load) / sizeof(real);
            const double got = numbers_between_steps(&o);
            ck_assert_msg(fabs(want - got) <= 0.05 * got, "variant %d, %s: %.0f numbers, not %.0f",
                          i, o.kind->name, want, got);
            arena_free(mem);
        }
}
END_TEST

Suite *suite_tape(void)
{
    Suite *s = suite_create("tape");
    TCase *t = group(s, "parts");

    tcase_add_test(t, recomputed_parts_have_the_right_gradient);
    tcase_add_test(t, recomputed_parts_have_the_same_bits);
    tcase_add_loop_test(t, a_model_that_recomputes_has_the_same_losses_and_gradients, 0, 3);
    tcase_add_test(t, large_models_that_recompute_have_the_same_losses_and_gradients);
    t = group(s, "memory");
    tcase_add_test(t, one_block_at_a_time_is_in_memory);
    tcase_add_test(t, after_the_first_step_nothing_is_allocated);
    tcase_add_test(t, forward_only_passes_allocate_nothing_after_the_first);
    tcase_add_test(t, the_estimate_of_a_steps_memory_is_close);
    tcase_add_test(t, the_estimate_of_what_options_add_is_close);
    tcase_add_test(t, the_estimate_of_the_optimisers_memory_is_close);
    return s;
}
