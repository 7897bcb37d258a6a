/*
 * Every attention of the table in every variant, alone and in a block: against its plain
 * twin, and against differences. In the loop tests _i is `causal`, where nothing else is
 * said.
 */
#include "tests/folder.h"
#include "tests/mixings.h"
#include "tests/suites.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_attention_has_a_unique_name_a_twin_and_a_cost)
{
    for (const Attention *const *a = attentions; *a; a++) {
        ck_assert_ptr_eq(attention_find((*a)->name), *a);
        ck_assert_msg((*a)->plain != NULL, "%s", (*a)->name);
        ck_assert_int_gt(strlen((*a)->summary), 0);
        MixSize one = { .attention = *a,
                        .T = 64,
                        .H = 2,
                        .D = 16,
                        .E = 16,
                        .m = 64,
                        .causal = true,
                        .set = settings_default(*a) },
                longer = one, wider = one;

        longer.T = 128, wider.D = wider.E = 32;
        ck_assert_double_gt(attention_cost(&one), 0);
        ck_assert_double_gt(longer.T * attention_cost(&longer), one.T * attention_cost(&one));
        ck_assert_double_gt(attention_cost(&wider), attention_cost(&one));
    }
    ck_assert_ptr_null(attention_find("no such attention"));
    ck_assert_ptr_null(attention_find(""));
}
END_TEST

/* The numbers that a mix takes: the second time, one block holds them all. */
static double taken(const Mixing *m)
{
    Tape tape = tape_open(1);
    const Mix in = mixing_mix(m);

    for (int i = 0; i < 2; i++) {
        attention_mix(&tape, &in);
        tape_reset(&tape);
    }
    const double bytes = (double)arena_held(tape.mem);
    tape_close(&tape);
    return bytes / sizeof(real);
}

/* Of plain variants, and of those that are of another kind. Enough tokens to fill a block. */
START_TEST(the_memory_of_a_mix_is_what_it_keeps)
{
    const int B = in_double ? 4 : 16, T = 480;

    EACH_VARIANT(v)
    if (!v->rope && !variant_window(v) && (v->plain || v->traits != (v - 1)->traits)) {
        Arena *mem = arena_new();
        const Mixing m = mixing(mem, v, (Shape){ B, T, 3, 16, 24 }, _i);
        const Mix in = mixing_mix(&m);
        const MixSize size = mix_size(&in);
        const double got = taken(&m), o = 3.0 * m.s.E;
        const double want = B * T * (attention_memory(&size).kept + o);

        ck_assert_msg(fabs(got - want) < 0.06 * want, "%s: %.0f numbers, not %.0f", m.name, got,
                      want);
        arena_free(mem);
    }
}
END_TEST

/* What several rows call by one name is one option. */
START_TEST(settings_with_the_same_name_differ_only_in_default_and_help)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (const Setting *s = (*a)->settings; s && s->name; s++)
            for (int i = 0; settings_at(i); i++) {
                const Setting *other = settings_at(i);

                if (strcmp(other->name, s->name) != 0)
                    continue;
                const bool same = other->kind == s->kind && other->choices == s->choices &&
                                  other->most == s->most && other->rope == s->rope &&
                                  (s->kind == SETTING_CHOICE || other->least == s->least) &&
                                  other->zero == s->zero && other->size == s->size &&
                                  other->layer == s->layer && other->length == s->length;
                ck_assert_msg(same, "%s: another has a setting %s of another kind or range",
                              (*a)->name, s->name);
            }
}
END_TEST

/* The operand is missing ("k"), or that dimension of it is one less ("k2"). */
static void mix_wrongly(const char *what)
{
    Mixing m = mixing(arena_new(), variant_next(NULL), (Shape){ 2, 5, 2, 4, 3 }, true);
    Tape tape = tape_open(1);
    Tensor **x = &m.x[*what == 'k' ? K : V];

    if (what[1])
        (*x)->dim[what[1] - '0']--;
    else
        *x = NULL;
    const Mix in = mixing_mix(&m);
    attention_mix(&tape, &in);
}

START_TEST(operands_of_wrong_shapes_are_a_bug)
{
    static const char *const what[] = { "k", "k0", "k1", "k2", "k3", "v", "v0", "v1", "v2" };

    for (int i = 0; i < COUNT(what); i++)
        ck_assert_msg(exit_code_of(mix_wrongly, what[i]) == -SIGABRT &&
                          strstr(said, what[i][1] ? "dimension" : " is not ("),
                      "%s: %s", what[i], said);
}
END_TEST

/* Whether a variant of the attention has that setting at other than its default. */
static bool is_tried(const Attention *a, const Setting *s)
{
    EACH_VARIANT(v)
    if (v->attention == a && setting(&v->set, s->name) != s->value)
        return true;
    return false;
}

START_TEST(every_setting_of_a_mechanism_is_tested)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (const Setting *s = variant_is_chosen(*a) ? (*a)->settings : NULL; s && s->name; s++)
            if ((!s->layer || s->size == 'm') && !(s->choices && !s->choices[s->least + 1]))
                ck_assert_msg(is_tried(*a, s), "%s has a setting %s that no variant sets",
                              (*a)->name, s->name);
}
END_TEST

/*
 * Lengths on both sides of any block's edge; most variants are content with a
 * few of them, and with half of the masks where it takes long.
 */
#ifdef PROOF /* whose blocks are of 4 */
static const int edges[] = { 1, 2, 5, 23, 7, 65 };
#else
static const int edges[] = { 1, 2, 65, 131, 63, 64, 95, 96, 97, 200, 1000 };
#endif
enum { EDGES_OF_ALL = 4, LONG = 97 }; /* long ones take most of the time */

/* _i of the tests that are run without a mask, causal, with lengths, with both. */
enum { CAUSAL = 1, LENGTHS = 2 };

static Shape shape_of(int T)
{
    return T == 97    ? (Shape){ 2, T, 2, 64, 64 }
           : T == 200 ? (Shape){ 1, T, 1, 33, 80 }
           : T == 65  ? (Shape){ 2, T, 2, 11, 7 }
           : T == 131 ? (Shape){ 2, T, 2, 5, 3 }
           : T < 1000 ? (Shape){ T < 63 ? 4 : 2, T, 2, 5, 7 }
                      : (Shape){ 1, T, 1, 2, 3 };
}

/*
 * How many of the first operands the result depends on, and from which on, for
 * differences of 0 have no digits. A key that is seen alone passes nothing on to q and k
 * or to what maps them, which may be so in all of a few rows that do not see themselves, a pool of
 * one vector nothing to what it is pooled by, and no position of the first chunk has one before it.
 */
static int varying(const Mixing *m, int *from)
{
    const Variant *v = m->variant;
    bool alone = m->s.T <= (v->attention->keys_are_q ? 5 : 1), blocked = v->traits & BLOCKED;

    *from = alone && (v->traits & (QUOTIENT | ALONE_FIXED)) ? V : Q;
    if (alone && (!(v->traits & HAS_MATRIX) || v->traits & (QUOTIENT | ALONE_FIXED)))
        return m->batched;
    return blocked && m->causal && m->s.T <= setting_or_zero(&v->set, "chunk") ? V + 1 : m->n;
}

/* `how`: causal, with lengths */
static void check_formulas(const Variant *v, int T, int how)
{
    Arena *mem = arena_new();
    Mixing m = mixing(mem, v, shape_of(T), how & CAUSAL);

    m.length = how & LENGTHS ? mixing_lengths(mem, m.s) : NULL;
    mixing_leave_kinks(&m);
    int from, end = varying(&m, &from);
    check_twin(mem, &m, from, end);
    arena_free(mem);
}

START_TEST(an_attention_and_its_gradients_are_those_of_its_plain_twin)
{
    int number = 0;

    EACH_VARIANT(v)
    {
        number++;
        for (int i = 0; i < (v->plain && !sanitized ? COUNT(edges) : EDGES_OF_ALL); i++)
            if ((edges[i] < LONG || _i == (edges[i] == LONG ? LENGTHS : CAUSAL)) &&
                !spared(number + i + _i, 2))
                check_formulas(v, edges[i], _i);
    }
}
END_TEST

/* The twin by itself, in double whatever the build: both of its outputs, at a random direction. */
typedef struct {
    PlainMix mix;
    double *y, *x, *at, *u;
    const double *g;
    size_t outputs, n;
} Twin;

static double twin_along(void *ctx, double step)
{
    const Twin *t = ctx;
    double sum = 0;

    for (size_t i = 0; i < t->n; i++)
        t->x[i] = t->at[i] + step * t->u[i];
    plain_mix(&t->mix, t->y, NULL, NULL);
    for (size_t i = 0; i < t->outputs; i++)
        sum += t->y[i] * t->g[i];
    memcpy(t->x, t->at, t->n * sizeof *t->x);
    return sum;
}

static void check_twin_operand(Arena *mem, const Mixing *m, Twin *t, int j, const double *dx)
{
    const Tensor *x = m->operand[j];
    real *u = arena_take(mem, x->n * sizeof *u);
    double got = 0, length = 0;

    fill(u, x->n, 1000 + (uint64_t)j, 1);
    t->n = x->n, t->x = t->mix.in.x[m->which[j]];
    t->u = doubles(mem, u, x->n), t->at = doubles(mem, x->data, x->n);
    for (size_t i = 0; i < x->n; i++)
        got += dx[i] * t->u[i], length += dx[i] * dx[i];
    double off = fabs(got - slope(twin_along, t)) / (sqrt(length) + 1e-300);
    ck_assert_msg(off <= 1e-8, "%s: the twin's gradient of operand %d is %.1e off", m->name, j,
                  off);
}

/* _i: causal, with lengths */
START_TEST(the_backward_of_a_plain_twin_is_the_derivative)
{
    EACH_VARIANT(v)
    {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 23, 2, 4, 3 }, _i & CAUSAL);
        double *x[OPERANDS_MAX] = { NULL };
        PlainTensors d = { .x = { NULL } };
        const size_t outputs = (size_t)(m.s.B * m.s.T * m.s.H * m.s.E);
        int from, end = varying(&m, &from);

        m.length = _i & LENGTHS ? (int[]){ 23, 11 } : NULL;
        mixing_leave_kinks(&m);
        for (int j = 0; j < m.n; j++) {
            x[j] = doubles(mem, m.operand[j]->data, m.operand[j]->n);
            d.x[m.which[j]] = arena_zeros(mem, m.operand[j]->n * sizeof(double));
        }
        Twin t = { .mix = mixing_plain(&m, x), .outputs = outputs };
        t.y = arena_take(mem, outputs * sizeof *t.y);
        t.g = doubles(mem, weights(), outputs);
        plain_mix(&t.mix, t.y, t.g, &d);
        for (int j = from; j < end; j++)
            check_twin_operand(mem, &m, &t, j, d.x[m.which[j]]);
        arena_free(mem);
    }
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
    check_gradient_of(s.name, s.f, s.ctx, m.operand + from, end - from, 4);
    arena_free(mem);
}

/* _i: causal, with lengths. The other variants have their twins, and ./gradcheck. */
START_TEST(the_backward_of_an_attention_is_the_derivative)
{
    static const int sizes[] = { 1, 2, 7 };

    EACH_VARIANT(v)
    for (int i = 0; v->plain && i < COUNT(sizes); i++)
        check_derivative(v, (Shape){ _i & LENGTHS ? 4 : 2, sizes[i], 2, 5, 3 }, _i);
}
END_TEST

static void check_decoding(const Variant *v, int T, bool padded, int longest)
{
    Arena *mem = arena_new();
    Mixing m =
        mixing(mem, v, T == 200 ? (Shape){ 1, T, 2, 17, 9 } : (Shape){ 4, T, 2, 5, 3 }, true);

    m.length = padded ? mixing_lengths(mem, m.s) : NULL;
    if (!minds_length(&m))
        check_steps(mem, &m, longest);
    arena_free(mem);
}

/* _i: with lengths */
START_TEST(decoding_position_by_position_gives_the_causal_result)
{
    static const int sizes[] = { 1, 2, 7, 65, 200 };

    EACH_VARIANT(v)
    for (int i = 0; i < COUNT(sizes) && attention_decodes(v->attention); i++) {
        check_decoding(v, sizes[i], _i, sizes[i]);
        check_decoding(v, sizes[i], _i, 2 * sizes[i] + 1);
    }
}
END_TEST

/* Divisors of either sign far from 0: weights that are signed, and not mostly positive. */
static double least_sign(const Variant *v)
{
    return (v->traits & SIGNED) && !(v->traits & KINKED) ? -1 : 1;
}

static bool has_fixed_operand(const Variant *v)
{
    for (const Operand *o = v->attention->operands; o && o->name; o++)
        if (o->draw)
            return true;
    return false;
}

/* Makes all divisors of that sign, and smaller than the guard, if such there are: scores become far
 * below 0, and so do all entries where they are mapped to features; 1 + s + s^2 / 2 is never small.
 */
static bool make_divisors_small(Mixing *m, int which, double sign)
{
    const Variant *v = m->variant;
    const bool positive = !(v->traits & (RECTIFIED | SIGNED | SQUARED));

    if (!(v->traits & QUOTIENT) || (v->traits & (AVERAGES | NORMALISES_Q | CANCELS)) ||
        has_fixed_operand(v))
        return false;
    for (size_t i = 0; positive && i < m->x[Q]->n; i++) {
        m->x[Q]->data[i] -= 13;
        m->x[K]->data[i] += v->traits & HAS_SCORES ? 13 : -13;
    }
    if (!positive)
        scale(m->x[which], sign * (v->traits & SQUARED ? 7e-5 : 1e-9));
    return true;
}

/* Unless q and k are rotated: then some are larger. */
static void check_small(const Mixing *m)
{
    const Mix in = mixing_mix(m);
    Tape tape = tape_open(1);
    double c[28] = { 0 };

    ck_assert_int_eq(COUNT(c), m->s.B * m->s.H * m->s.T);
    tape.forward_only = true;
    if (!m->variant->rope && attention_sums(&tape, &in, c))
        for (int i = 0; i < COUNT(c); i++)
            ck_assert_msg(fabs(c[i]) < 1e-6, "%s: divisor %d is %g", m->name, i, c[i]);
    tape_close(&tape);
}

/* Forward, decoding, and the gradients of an operand and of v. */
static void check_divisors(Arena *mem, Mixing *m, int operand)
{
    Subject s = mixing_subject(m);

    check_formula(&s);
    if (m->causal && !minds_length(m))
        check_steps(mem, m, m->s.T);
    check_gradient(s.name, s.f, s.ctx, m->operand + operand, 1);
    check_gradient(s.name, s.f, s.ctx, m->operand + V, 1);
}

START_TEST(a_divisor_below_the_guard_becomes_a_constant)
{
    EACH_VARIANT(v)
    for (int which = Q; which <= K; which++)
        for (double sign = 1; sign >= least_sign(v); sign -= 2) {
            Arena *mem = arena_new();
            Mixing m = mixing(mem, v, (Shape){ 2, 7, 2, 4, 3 }, _i);

            mixing_leave_kinks(&m);
            if (make_divisors_small(&m, which, sign)) {
                check_small(&m);
                check_divisors(mem, &m, which == Q ? K : Q);
            }
            arena_free(mem);
        }
}
END_TEST

/* With random directions it may be near 0, too, where only doubles have digits left. */
START_TEST(a_divisor_may_be_negative)
{
    EACH_VARIANT(v)
    if (least_sign(v) < 0 && (in_double || !has_fixed_operand(v))) {
        Arena *mem = arena_new();
        Mixing m = mixing(mem, v, (Shape){ 2, 7, 2, 4, 3 }, _i);

        scale(m.x[Q], -1);
        check_divisors(mem, &m, Q);
        check_divisors(mem, &m, K);
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
    Tensor *x[24], *fixed[OPERANDS_MAX];
    int n, more[OPERANDS_MAX]; /* which x an operand beside q, k, v is, or is made with */
    int id[14], target[14];
} Block;

enum { BLOCK_B = 2, BLOCK_T = 7, BLOCK_H = 2, BLOCK_C = 8, BLOCK_F = 5, BLOCK_V = 6 };
enum { BLOCK_D = BLOCK_C / BLOCK_H };

enum { TABLE, POSITION, GAIN, WQ, WK, WV, WO, LN_GAIN, LN_BIAS, W1, B1, W2, W3, B3, OUT };

static Tensor *block_operand(Tape *tape, const Block *block, Tensor *a, int which)
{
    const Mixing size = { .variant = block->variant,
                          .attention = block->attention,
                          .s = { BLOCK_B, BLOCK_T, BLOCK_H, BLOCK_D, BLOCK_D } };
    const Operand *o = attention_operand(block->attention, which);
    Tensor *w = block->x[which <= V ? WQ + which : block->more[which]];
    int dim[4];

    if (block->fixed[which])
        return block->fixed[which];
    if (*o->shape != 'B')
        return w;
    a = op_dense(tape, (Dense){ .x = a, .w = w });
    if (o->from)
        a = op_gate(tape, (Gate){ .x = a, .f = o->from->f, .by = o->from->rate ? -1 : 1 });
    return tensor_reshape(a, mixing_shape(&size, o, dim), dim);
}

static Tensor *attended(Tape *tape, const Block *block, Tensor *h)
{
    Tensor *a = op_rmsnorm(tape, h, block->x[GAIN], NORM_EPS);
    const Variant *v = block->variant;
    Mix m = { .attention = v->attention,
              .causal = block->causal,
              .rope = v->rope,
              .rope_scale = v->rope_scale,
              .set = v->set };

    for (int i = 0; attention_operand(v->attention, i); i++)
        if (attention_needs(v->attention, &m.set, i))
            m.x[i] = block_operand(tape, block, a, i);
    Tensor *o = attention_mix(tape, &m);
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
    Tensor *a = op_layernorm(tape, h, x[LN_GAIN], x[LN_BIAS], NORM_EPS);
    Tensor *up = op_dense(tape, (Dense){ .x = a, .w = x[W1], .b = x[B1] });
    Tensor *gate = op_dense(tape, (Dense){ .x = a, .w = x[W2] });
    Tensor *s = op_add(tape, op_swiglu(tape, gate, up), op_activation(tape, up, &activation_silu));
    Dense down = { .x = s, .w = x[W3], .b = x[B3], .r = h, .f = &activation_gelu };
    h = op_dense(tape, down);
    return op_cross_entropy(tape, op_dense(tape, (Dense){ .x = h, .w = x[OUT] }), block->target);
}

/* What the attention has beside q, k and v; of an operand with positions, its projection. */
static void block_more(Arena *mem, Block *block)
{
    const Mixing size = { .variant = block->variant,
                          .attention = block->attention,
                          .s = { BLOCK_B, BLOCK_T, BLOCK_H, BLOCK_D, BLOCK_D },
                          .m = 4,
                          .c = BLOCK_T + 1 };
    const Operand *o;

    for (int i = V + 1; (o = attention_operand(block->attention, i)); i++) {
        int dim[4] = { strlen(o->shape) == 4 ? BLOCK_C : BLOCK_H, BLOCK_C };
        int n = *o->shape == 'B' ? 2 : mixing_shape(&size, o, dim);

        if (!attention_needs(block->attention, &block->variant->set, i))
            continue;
        Tensor *x = leaf(mem, 80 + (uint64_t)i, 0.5, n, dim);
        if (!operand_learned(o, &block->variant->set))
            block->fixed[i] = x;
        else
            block->x[block->more[i] = block->n++] = x;
    }
}

static Block block_of(Arena *mem, const Variant *v, bool causal)
{
    Block block = { .variant = v, .attention = v->attention, .causal = causal };
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
        Subject s = { v->attention->name, transform, NULL, &block, block.x, block.n };
        bool more = block.n > OUT + 1;

        if ((v->traits & SMOOTH) && !variant_window(v) && (v->plain || v->rope || more))
            check_gradient_of(s.name, transform, &block, block.x, block.n, 1);
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
    TCase *formulas = tcase_create("formulas");

    tcase_set_timeout(formulas, 600);
    tcase_add_test(formulas, every_attention_has_a_unique_name_a_twin_and_a_cost);
    if (!sanitized) /* its long sequences would take two minutes */
        tcase_add_loop_test(formulas, the_memory_of_a_mix_is_what_it_keeps, 0, 2);
    tcase_add_test(formulas, settings_with_the_same_name_differ_only_in_default_and_help);
    tcase_add_test(formulas, operands_of_wrong_shapes_are_a_bug);
    tcase_add_test(formulas, every_setting_of_a_mechanism_is_tested);
    /* what takes longest is last: a mutant runs until one fails */
    tcase_add_loop_test(formulas, decoding_position_by_position_gives_the_causal_result, 0, 2);
    tcase_add_loop_test(formulas, a_divisor_below_the_guard_becomes_a_constant, 0, 2);
    tcase_add_loop_test(formulas, a_divisor_may_be_negative, 0, 2);
    tcase_add_loop_test(formulas, the_backward_of_an_attention_is_the_derivative, 0, 4);
    tcase_add_loop_test(formulas, an_attention_and_its_gradients_are_those_of_its_plain_twin, 0, 4);
    if (in_double && !sanitized) /* as the twins always are */
        tcase_add_loop_test(formulas, the_backward_of_a_plain_twin_is_the_derivative, 0, 4);
    tcase_add_loop_test(formulas, the_backward_of_a_whole_block_is_the_derivative, 0, 2);
    suite_add_tcase(s, formulas);
    return s;
}
