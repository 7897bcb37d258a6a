/* The whole model: its gradient, what it may not see, its size. */
#include "model/checkpoint.h"
#include "model/safetensors.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/ops.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "training/optimiser.h"

#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 5 };

/* Scores of a gated unit are of fourth order in its numbers: they would be next to nothing. */
static void overwrite(Small *s)
{
    small_overwrite(s, layer_of(s->model.config.attention)->one_head ? 0.7 : 0.3);
}

static Small *open_variant(int i, int batch, int length)
{
    Small *s = small_open(small_variant(i), batch, length);

    overwrite(s);
    return s;
}

static void leave_key_biases_out(Small *s)
{
    if (!small_drops_key_bias(&s->model.config))
        return;
    small_leave_out(s, "blocks.0.attn.wk.bias");
    small_leave_out(s, "blocks.1.attn.wk.bias");
}

START_TEST(the_gradient_of_the_model_is_the_slope_of_its_losses)
{
    Config c = small_variant(_i);

    c.dropout = _i % 3 ? 0 : 0.3;
    Small *s = small_open(c, B, T);
    overwrite(s);
    leave_key_biases_out(s);
    check_gradient_of(s->subject.name, s->subject.f, s, s->subject.x, s->subject.n, 1);
    small_close(s);
}
END_TEST

START_TEST(the_gradient_from_the_last_position_is_the_slope)
{
    Config c = small_variant(0);

    c.from_last = true, c.ffn = _i, c.dropout = _i % 2 ? 0.3 : 0;
    Small *s = small_open(c, B, T);
    overwrite(s);
    check_gradient_of(s->subject.name, s->subject.f, s, s->subject.x, s->subject.n, 1);
    small_close(s);
}
END_TEST

START_TEST(the_gradient_of_a_masked_model_is_the_slope_of_its_losses)
{
    Config c = small_variant(5 * _i);

    c.task = TASK_MLM;
    Small *s = small_open(c, B, T);
    small_overwrite(s, 0.3);
    for (int t = 0; t < B * T; t += 3)
        s->batch.target[t] = -1, s->batch.id[t + 1] = config_mask(&c);
    if (_i % 2) /* so few that their rows are gathered */
        for (int t = 1; t < B * T; t += 3)
            s->batch.target[t] = -1;
    if (c.position != POSITION_ROPE)
        leave_key_biases_out(s);
    check_gradient_of(s->subject.name, s->subject.f, s, s->subject.x, s->subject.n, 1);
    small_close(s);
}
END_TEST

enum { CLASSES = 3 };

/* A model that says one of three words of sequences of T, T - 1, ... positions. */
static Small *open_classifier(int i)
{
    Config c = small_variant(i);

    c.task = TASK_CLASSIFY, c.classes = CLASSES, c.tied = false;
    Small *s = small_open(c, B, T);
    small_overwrite(s, 0.3);
    s->batch.whole = true;
    s->batch.length = arena_take(s->mem, B * sizeof(int));
    for (int b = 0; b < B; b++) {
        s->batch.length[b] = T - b;
        s->batch.target[b] = b % CLASSES;
    }
    return s;
}

START_TEST(the_gradient_of_a_classifier_is_the_slope_of_its_losses)
{
    Small *s = open_classifier(5 * _i);

    if (s->model.config.position != POSITION_ROPE)
        leave_key_biases_out(s);
    check_gradient_of(s->subject.name, s->subject.f, s, s->subject.x, s->subject.n, 1);
    small_close(s);
}
END_TEST

START_TEST(classification_does_not_depend_on_padding)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_classifier(i);
        Tape tape = tape_open(1);
        Tensor *all = model_outputs(&tape, &s->model, s->batch, 0);

        for (int b = 0; b < B; b++) {
            Batch row = batch_row(s->batch, b);

            row.T = row.length[0], row.length = NULL; /* alone, and without */
            const Tensor *alone = model_outputs(&tape, &s->model, row, 0);
            ck_assert_int_eq(tensor_cols(alone), CLASSES);
            for (int c = 0; c < CLASSES; c++)
                ck_assert_double_eq_tol((double)alone->data[c], (double)all->data[b * CLASSES + c],
                                        in_double ? 1e-12 : 1e-4);
        }
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

START_TEST(a_bias_of_unrotated_keys_gets_no_gradient)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, B, T);
        const Block *b = &s->model.blocks[1];
        Tape tape = tape_open(1);

        small_learn(s, &tape, 1);
        for (int j = 0; b->k.b && small_drops_key_bias(&s->model.config) && j < 12; j++)
            ck_assert_double_le(fabs((double)b->k.b->grad[j]), in_double ? 1e-15 : 1e-6);
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

START_TEST(a_second_backward_adds_the_same_gradient)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, B, T);

        leave_key_biases_out(s);
        check_backward_adds(&s->subject);
        check_no_upstream_no_gradient(&s->subject);
        check_operands_untouched(&s->subject);
        small_close(s);
    }
}
END_TEST

/* Wide and long enough that every op is cut into pieces, which are smaller in the proof build. */
START_TEST(threads_do_not_change_a_bit_of_the_losses_or_gradients)
{
    for (int i = 0; i < VARIANTS; i += 5) {
        Config c = small_variant(i);

        c.vocab = in_double ? 50 : 300, c.width = in_double ? 20 : 72;
        c.context = in_double ? 35 : 130, c.dropout = 0.1;
        Small *s = small_open(c, 3, c.context);
        check_threads(&s->subject);
        small_close(s);
    }
}
END_TEST

START_TEST(a_token_or_position_that_is_not_in_the_batch_gets_no_gradient)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);

        c.tied = false, c.vocab = 30;
        Small *s = small_open(c, B, T);
        Outcome o = outcome(s->mem, &s->subject, 1, weights());
        bool used[30] = { false };
        for (int t = 0; t < B * T; t++)
            used[s->batch.id[t]] = true;
        for (int id = 0; id < c.vocab; id++)
            if (!used[id] || !c.no_residual) /* without it a row that no query sees has none */
                ck_assert_int_eq(used[id], !all_zero(o.dx[0] + id * c.width, (size_t)c.width));
        for (int t = 0; s->model.position && t < c.context; t++)
            if (t >= T || !c.no_residual)
                ck_assert_int_eq(t < T, !all_zero(o.dx[1] + t * c.width, (size_t)c.width));
        small_close(s);
    }
}
END_TEST

START_TEST(capped_logits_are_those_of_the_model_without_a_cap)
{
    const int cap = 2;
    Config c = small_variant(0);
    Small *s = small_open(c, 1, T);
    double most = 0;

    small_overwrite(s, 1);
    const real *free = small_logits(s, s->batch.id, 1, T, 1);
    s->model.config.logit_cap = cap;
    const real *capped = small_logits(s, s->batch.id, 1, T, 1);
    for (int i = 0; i < T * c.vocab; i++) {
        const double want = cap * tanh((double)free[i] / cap);

        most = fmax(most, fabs((double)free[i]));
        ck_assert_double_eq_tol((double)capped[i], want, in_double ? 1e-12 : 1e-5);
    }
    ck_assert_double_gt(most, cap);
    small_close(s);
}
END_TEST

/* The losses of a batch where the logits of all rows are computed, and none is gathered. */
static Tensor *losses_of_all_rows(Tape *tape, void *small)
{
    const Small *s = small;

    return op_cross_entropy(tape, model_outputs(tape, &s->model, s->batch, s->mask),
                            s->batch.target);
}

/* A model of a larger vocabulary, and a batch in which every third token has a target. */
static Small *open_sparse(int i, int vocab)
{
    enum { LENGTH = 8 };
    Config c = small_variant(i);

    c.vocab = vocab;
    Small *s = small_open(c, 3, LENGTH);
    overwrite(s);
    for (int t = 0; t < 3 * LENGTH; t++)
        if (t % 3)
            s->batch.target[t] = -1;
    return s;
}

START_TEST(rows_without_a_target_need_no_logits)
{
    const double tolerance = in_double ? 1e-12 : 1e-4;

    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_sparse(i, 1100);
        Subject all = s->subject;
        const real *dy = weights_new(s->mem);
        const Outcome o = outcome(s->mem, &s->subject, 2, dy);

        all.f = losses_of_all_rows;
        const Outcome o_all = outcome(s->mem, &all, 1, dy);
        ck_assert_uint_eq(o.n, o_all.n);
        ck_assert(same_bits(o.y, o_all.y, o.n)); /* a row's loss does not depend on the others */
        for (int j = 0; j < s->subject.n; j++)
            check_close("gathered", o.dx[j], doubles(s->mem, o_all.dx[j], s->subject.x[j]->n),
                        s->subject.x[j]->n, tolerance);
        small_close(s);
    }
}
END_TEST

/* The number of rows with logits when the first n of 24 rows have a target. */
static int rows_with_logits(Small *s, Tape *tape, int n)
{
    for (int t = 0; t < 24; t++)
        s->batch.target[t] = t < n ? t % s->model.config.vocab : -1;
    tape_reset(tape);
    return model_asked(tape, &s->model, s->batch).n;
}

START_TEST(rows_are_gathered_where_it_pays)
{
    Small *many = open_sparse(0, 1100), *few;
    Config c = many->model.config;
    Tape tape = tape_open(1);

    c.vocab = in_double ? 7 : 1023;
    few = small_open(c, 3, 8);
    ck_assert_int_eq(rows_with_logits(many, &tape, 1), 1);
    ck_assert_int_eq(rows_with_logits(many, &tape, 12), 12);
    ck_assert_int_eq(rows_with_logits(many, &tape, 13), 24); /* more than half of them */
    ck_assert_int_eq(rows_with_logits(many, &tape, 0), 24);  /* no gradient is not a case apart */
    ck_assert_int_eq(rows_with_logits(few, &tape, 1), 24);
    tape_close(&tape);
    small_close(few);
    small_close(many);
}
END_TEST

START_TEST(any_number_of_gathered_rows_fits_into_the_memory_of_the_first_step)
{
    Small *s = open_sparse(0, 30000); /* a row is no small part of what is allocated at once */
    Tape tape = tape_open(1);
    size_t held = 0;

    for (int n = 1; n <= 12; n++) {
        rows_with_logits(s, &tape, n);
        small_learn(s, &tape, 1);
        tape_reset(&tape);
        ck_assert_msg(n == 1 || arena_held(tape.mem) == held, "%d rows take more memory", n);
        held = arena_held(tape.mem);
    }
    tape_close(&tape);
    small_close(s);
}
END_TEST

START_TEST(the_initial_prediction_is_uniform)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);
        Tape tape = tape_open(1);

        c.vocab = 256, c.width = 32, c.context = 32;
        Small *s = small_open(c, 2, 32);
        ck_assert_double_eq_tol(small_learn(s, &tape, 1), log(256), 0.05 * log(256));
        small_close(s);
        tape_close(&tape);
    }
}
END_TEST

/* Vaswani et al.: sin and cos of t / 10000^(2m/C) in turn, at the scale of the embedding. */
START_TEST(sinusoids_are_those_of_the_paper)
{
    Config c = small_variant(2);
    Arena *mem = arena_new();
    Model model;

    c.position = POSITION_SINUSOIDAL;
    model_init(&model, c, mem, 1);
    for (int t = 0; t < c.context; t++)
        for (int m = 0; 2 * m < c.width; m++) {
            const double angle = t / pow(10000, 2.0 * m / c.width);
            const real *at = model.sinusoids + t * c.width + 2 * m;

            ck_assert_double_eq_tol((double)at[0], 0.02 * sin(angle), 1e-8);
            ck_assert_double_eq_tol((double)at[1], 0.02 * cos(angle), 1e-8);
        }
    arena_free(mem);
}
END_TEST

START_TEST(a_single_batch_is_memorised)
{
    for (int i = 0; i < VARIANTS; i += 3) {
        Tape tape = tape_open(1);
        Small *s = small_open(small_variant(i), B, 8);
        Optimiser a = { .kind = &optimiser_adamw, .hyper = { .beta1 = 0.9, .beta2 = 0.99 } };
        double loss = 1;

        optimiser_init(&a, &s->model.params, s->mem);
        for (int step = 0; step < 400 && loss >= 0.01; step++) {
            loss = small_learn(s, &tape, 1);
            optimiser_step(&a, tape.pool, 0.02, 1);
        }
        ck_assert_msg(loss < 0.01, "variant %d: the loss is still %.3f", i, loss);
        small_close(s);
        tape_close(&tape);
    }
}
END_TEST

START_TEST(the_future_does_not_leak)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, 1, 8);
        size_t V = (size_t)s->model.config.vocab;
        const real *before = small_logits(s, s->batch.id, 1, 8, 1);

        for (int t = 0; t < 8; t++) {
            size_t past = (size_t)t * V;
            int id[8];

            memcpy(id, s->batch.id, sizeof id);
            id[t] = (id[t] + 1) % (int)V;
            const real *after = small_logits(s, id, 1, 8, 1);
            ck_assert_msg(same_bits(after, before, past), "variant %d, token %d", i, t);
            ck_assert(!same_bits(after + past, before + past, V));
            ck_assert(!same_bits(after + 7 * V, before + 7 * V, V));
        }
        small_close(s);
    }
}
END_TEST

START_TEST(a_masked_model_sees_both_sides)
{
    for (int i = 0; i < VARIANTS; i++) {
        Config c = small_variant(i);

        c.task = TASK_MLM;
        Small *s = small_open(c, 1, 8);
        small_overwrite(s, 0.3);
        const real *before = small_logits(s, s->batch.id, 1, 8, 1);
        for (int t = 0; t < 8; t++) {
            int id[8];

            memcpy(id, s->batch.id, sizeof id);
            id[t] = (id[t] + 1) % c.vocab;
            const real *after = small_logits(s, id, 1, 8, 1);
            for (int u = 0; u < 8; u++)
                ck_assert_msg(!same_bits(after + u * c.vocab, before + u * c.vocab, 11),
                              "variant %d: token %d is not seen at %d", i, t, u);
        }
        small_close(s);
    }
}
END_TEST

START_TEST(the_logits_of_a_prefix_do_not_depend_on_the_rest)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = open_variant(i, 1, 8);
        const real *all = small_logits(s, s->batch.id, 1, 8, 2);

        for (int t = 1; t < 8; t++)
            ck_assert_msg(same_bits(small_logits(s, s->batch.id, 1, t, 1), all,
                                    (size_t)(t * s->model.config.vocab)),
                          "variant %d, %d tokens", i, t);
        small_close(s);
    }
}
END_TEST

START_TEST(a_sequence_has_the_same_losses_in_any_batch)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *all = open_variant(i, 3, T), *one = open_variant(i, 1, T);
        const Outcome o = outcome(all->mem, &all->subject, 1, weights());

        for (int b = 0; b < 3; b++) {
            one->batch.id = all->batch.id + b * T, one->batch.target = all->batch.target + b * T;
            check_alone_as_in_batch(&o, 3, &one->subject, b, 0);
        }
        small_close(all), small_close(one);
    }
}
END_TEST

START_TEST(dropout_is_drawn_by_the_step_and_only_in_training)
{
    Small *s = open_variant(0, B, T);
    const real *dy = weights(), *plain = small_logits(s, s->batch.id, B, T, 1);
    size_t n = (size_t)(B * T);

    s->model.config.dropout = 0.3;
    ck_assert(same_bits(small_logits(s, s->batch.id, B, T, 1), plain, n * 11));
    Outcome first = outcome(s->mem, &s->subject, 1, dy),
            again = outcome(s->mem, &s->subject, 3, dy);
    s->mask++;
    Outcome other = outcome(s->mem, &s->subject, 1, dy);
    ck_assert(same_bits(again.y, first.y, n));
    for (size_t i = 0; i < n; i++)
        ck_assert(other.y[i] != first.y[i]);
    small_close(s);
}
END_TEST

START_TEST(weights_of_the_same_shape_start_with_different_numbers)
{
    Small *s = small_open(small_variant(0), B, T);
    const Block *b = s->model.blocks;

    ck_assert_uint_eq(b->q.w->n, b->k.w->n);
    ck_assert_mem_ne(b->q.w->data, b->k.w->data, b->q.w->n * sizeof(real));
    ck_assert_mem_ne(b[0].q.w->data, b[1].q.w->data, b->q.w->n * sizeof(real));
    small_close(s);
}
END_TEST

static void set_all(Tensor *t, double value)
{
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = R(value);
}

/*
 * Blocks in which every number of the stream is 1, to which attention and
 * feed-forward add `add` each, and logits that are the stream's numbers, normed.
 */
static Small *open_plain(Config c, int layers, double add)
{
    enum { WIDTH = 12 };
    c.layers = layers, c.position = POSITION_NONE, c.norm = NORM_RMS, c.vocab = WIDTH;
    c.tied = false, c.bias = true;
    Small *s = small_open(c, B, T);

    for (Param *p = s->model.params.first; p; p = p->next)
        set_all(p->tensor, strstr(p->name, "norm") ? 1 : 0);
    set_all(s->model.embedding, 1);
    for (int l = 0; l < layers; l++) {
        set_all(s->model.blocks[l].o.b, add);
        set_all(s->model.blocks[l].down.b, add);
    }
    for (int i = 0; i < WIDTH; i++)
        s->model.head->data[i * WIDTH + i] = 1;
    return s;
}

/* How many logits are neither the largest of their row nor near nothing. */
static int between(const Small *s)
{
    Tape tape = tape_open(1);
    const Tensor *y = model_logits(&tape, &s->model, s->batch.id, B, T, s->mask);
    int n = 0;

    for (int row = 0; row < B * T; row++) {
        const real *x = y->data + row * tensor_cols(y);
        real top = 0;

        for (int j = 0; j < tensor_cols(y); j++)
            top = x[j] > top ? x[j] : top;
        for (int j = 0; j < tensor_cols(y); j++)
            n += x[j] > top / 4 && x[j] < top * 3 / 4;
    }
    tape_close(&tape);
    return n;
}

/*
 * 0, 1, 2 or 3 of the three numbers that are added up are kept: with one mask it is all or none.
 * So it is with what two blocks add.
 */
START_TEST(each_dropout_of_a_step_has_its_own_mask)
{
    Config c = small_variant(0);

    c.dropout = 0.5;
    Small *one = open_plain(c, 1, 1), *two = open_plain(c, 2, 1);
    set_all(two->model.embedding, 0);
    for (int l = 0; l < 2; l++)
        set_all(two->model.blocks[l].o.b, 0);
    ck_assert_int_gt(between(one), B * T); /* of 120 numbers, most */
    ck_assert_int_gt(between(two), B * T);
    small_close(one);
    small_close(two);
}
END_TEST

/* silu(-600) is 0, so a gate of that closes whatever `up` is; the other way round it would not. */
START_TEST(silu_is_applied_to_the_gate_of_swiglu)
{
    Config c = small_variant(0);
    Tape tape = tape_open(1);

    c.ffn = FFN_SWIGLU;
    Small *s = open_plain(c, 1, 0);
    set_all(s->model.blocks->up.w, 1);
    set_all(s->model.blocks->gate.w, -50);
    s->model.blocks->down.w->data[0] = 1; /* only the first number of the stream would move */
    const Tensor *y = model_logits(&tape, &s->model, s->batch.id, B, T, 0);
    for (size_t i = 0; i < y->n; i++)
        ck_assert_double_eq_tol((double)y->data[i], 1, 1e-4);
    tape_close(&tape);
    small_close(s);
}
END_TEST

Suite *suite_model(void)
{
    Suite *s = suite_create("model");
    TCase *t = group(s, "gradient");

    tcase_add_loop_test(t, the_gradient_of_the_model_is_the_slope_of_its_losses, 0, VARIANTS);
    tcase_add_loop_test(t, the_gradient_from_the_last_position_is_the_slope, 0, FFN_NONE + 1);
    tcase_add_test(t, rows_without_a_target_need_no_logits);
    tcase_add_test(t, rows_are_gathered_where_it_pays);
    tcase_add_test(t, any_number_of_gathered_rows_fits_into_the_memory_of_the_first_step);
    tcase_add_loop_test(t, the_gradient_of_a_masked_model_is_the_slope_of_its_losses, 0, 4);
    tcase_add_loop_test(t, the_gradient_of_a_classifier_is_the_slope_of_its_losses, 0, 4);
    tcase_add_test(t, a_bias_of_unrotated_keys_gets_no_gradient);
    tcase_add_test(t, a_second_backward_adds_the_same_gradient);
    tcase_add_test(t, threads_do_not_change_a_bit_of_the_losses_or_gradients);
    tcase_add_test(t, a_token_or_position_that_is_not_in_the_batch_gets_no_gradient);
    t = group(s, "forward");
    tcase_add_test(t, capped_logits_are_those_of_the_model_without_a_cap);
    tcase_add_test(t, the_initial_prediction_is_uniform);
    tcase_add_test(t, sinusoids_are_those_of_the_paper);
    tcase_add_test(t, a_single_batch_is_memorised);
    tcase_add_test(t, the_future_does_not_leak);
    tcase_add_test(t, a_masked_model_sees_both_sides);
    tcase_add_test(t, classification_does_not_depend_on_padding);
    tcase_add_test(t, the_logits_of_a_prefix_do_not_depend_on_the_rest);
    tcase_add_test(t, a_sequence_has_the_same_losses_in_any_batch);
    tcase_add_test(t, dropout_is_drawn_by_the_step_and_only_in_training);
    tcase_add_test(t, each_dropout_of_a_step_has_its_own_mask);
    tcase_add_test(t, weights_of_the_same_shape_start_with_different_numbers);
    tcase_add_test(t, silu_is_applied_to_the_gate_of_swiglu);
    return s;
}
