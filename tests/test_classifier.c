/* The end of a model that says classes: what it pools, and how it compares the texts of a pair. */
#include "model/layer.h"
#include "tests/small.h"
#include "tests/suites.h"

#include <string.h>

enum { B = 2, T = 6, CLASSES = 3, WAYS = 6 };

static bool has_towers(int way)
{
    return way >= 3;
}

/* A model that says one of three words of sequences of T, T - 1, ... positions; or of pairs of 3
 * and 2 of them. `way`: its pool, joined or in two towers. */
static Small *open_classifier(int variant, int way)
{
    Config c = small_variant(variant);
    uint64_t seed = 900;

    c.task = TASK_CLASSIFY, c.classes = CLASSES, c.tied = false;
    c.pool = way % 3, c.pairs = has_towers(way) ? PAIRS_TOWERS : PAIRS_JOINED;
    Small *s = small_open(c, B, T);
    small_overwrite(s, layer_of(c.attention)->one_head ? 0.7 : 0.3);
    for (const Param *p = s->model.params.first; p; p = p->next) /* so that no gradient is tiny */
        if (strncmp(p->name, "blocks", 6) != 0 && !p->fixed)
            fill(p->tensor->data, p->tensor->n, seed++, 0.6);
    s->batch.whole = true, s->batch.paired = has_towers(way);
    s->batch.length = arena_take(s->mem, 2 * B * sizeof(int));
    for (int b = 0; b < 2 * B; b++)
        s->batch.length[b] = s->batch.paired ? T / 2 - b % 2 : T - b;
    for (int b = 0; b < B; b++)
        s->batch.target[b] = b % CLASSES;
    return s;
}

START_TEST(the_gradient_is_the_slope_of_the_losses_with_every_pool)
{
    for (int way = _i % 3; way < WAYS; way += 3) { /* each with a third of these variants */
        Small *s = open_classifier(5 * _i, way);

        if (small_drops_key_bias(&s->model.config)) {
            small_leave_out(s, "blocks.0.attn.wk.bias");
            small_leave_out(s, "blocks.1.attn.wk.bias");
        }
        if (s->model.config.no_residual && s->model.config.pool == POOL_ATTENTION)
            small_leave_out(s, "pool.query"); /* all positions are nearly the same */
        check_gradient_of(s->subject.name, s->subject.f, s, s->subject.x, s->subject.n, 1);
        small_close(s);
    }
}
END_TEST

/* The logits of the batch, in memory of the model's. */
static real *said(const Small *s, Batch batch)
{
    Tape tape = tape_open(1);

    tape.forward_only = true;
    const Tensor *y = model_outputs(&tape, &s->model, batch, 0);
    ck_assert_int_eq(tensor_rows(y), batch.B);
    ck_assert_int_eq(tensor_cols(y), CLASSES);
    real *copy = arena_take(s->mem, y->n * sizeof *copy);
    memcpy(copy, y->data, y->n * sizeof *copy);
    tape_close(&tape);
    return copy;
}

START_TEST(the_contents_of_padding_have_no_effect)
{
    for (int i = 0; i < VARIANTS; i++)
        for (int way = 0; way < WAYS; way++) {
            Small *s = open_classifier(i, way);
            const real *before = said(s, s->batch);
            const int n = s->batch.paired ? T / 2 : T;

            for (int t = 0; t < B * T; t++)
                if (t % n >= s->batch.length[t / n])
                    s->batch.id[t] = (s->batch.id[t] + 5) % s->model.config.vocab;
            ck_assert_msg(same_bits(before, said(s, s->batch), B * CLASSES), "%d, %d", i, way);
            small_close(s);
        }
}
END_TEST

START_TEST(a_row_is_classified_the_same_alone_and_in_a_batch)
{
    for (int i = 0; i < VARIANTS; i++)
        for (int way = 0; way < WAYS; way++) {
            Small *s = open_classifier(i, way);
            const real *all = said(s, s->batch);

            for (int b = 0; b < B; b++)
                ck_assert_msg(
                    same_bits(all + b * CLASSES, said(s, batch_row(s->batch, b)), CLASSES),
                    "%d, %d", i, way);
            small_close(s);
        }
}
END_TEST

/* Without blocks the positions are those of the embedding, normed. */
static Small *open_shallow(int way)
{
    Small *s = open_classifier(3, way);

    s->model.config.layers = 0;
    return s;
}

START_TEST(the_first_position_alone_is_seen_without_blocks)
{
    for (int way = 0; way < WAYS; way++) {
        Small *s = open_shallow(way);
        const real *before = said(s, s->batch);
        const int n = s->batch.paired ? T / 2 : T;

        for (int t = 0; t < B * T; t++)
            if (t % n > 0)
                s->batch.id[t] = (s->batch.id[t] + 5) % s->model.config.vocab;
        ck_assert_int_eq(same_bits(before, said(s, s->batch), B * CLASSES),
                         s->model.config.pool == POOL_FIRST);
        small_close(s);
    }
}
END_TEST

START_TEST(a_query_of_zero_is_the_mean)
{
    Small *s = open_shallow(POOL_ATTENTION), *mean = open_shallow(POOL_MEAN);
    Tensor *query = param_named(&s->model.params, "pool.query");

    for (const Param *p = mean->model.params.first; p; p = p->next)
        memcpy(param_named(&s->model.params, p->name)->data, p->tensor->data,
               p->tensor->n * sizeof(real));
    memset(query->data, 0, query->n * sizeof(real));
    const real *a = said(s, s->batch), *b = said(mean, mean->batch);
    for (int i = 0; i < B * CLASSES; i++)
        ck_assert_double_eq_tol((double)a[i], (double)b[i], in_double ? 1e-14 : 1e-6);
    small_close(s), small_close(mean);
}
END_TEST

/* Each of both texts matters, and which is which. */
START_TEST(towers_compare_two_texts)
{
    Small *s = open_classifier(4, 3 + POOL_MEAN);
    const real *before = said(s, s->batch);

    for (int half = 0; half < 2; half++) {
        int *id = &s->batch.id[half * T / 2];

        *id = (*id + 1) % s->model.config.vocab;
        const real *now = said(s, s->batch);
        ck_assert(!same_bits(before, now, CLASSES));
        ck_assert(same_bits(before + CLASSES, now + CLASSES, CLASSES));
        *id = (*id + s->model.config.vocab - 1) % s->model.config.vocab;
    }
    for (int t = 0; t < T / 2; t++) {
        const int u = s->batch.id[t];

        s->batch.id[t] = s->batch.id[t + T / 2], s->batch.id[t + T / 2] = u;
    }
    s->batch.length[0] = T / 2 - 1, s->batch.length[1] = T / 2;
    ck_assert(!same_bits(before, said(s, s->batch), CLASSES));
    small_close(s);
}
END_TEST

/* Everything but the matrices is what the model with the mean has, and the query. */
START_TEST(a_classifier_has_the_parameters_of_its_configuration)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *mean = open_classifier(i, POOL_MEAN);
        const double others = (double)params_count(&mean->model.params) -
                              config_matrix_parameters(&mean->model.config);

        for (int way = 0; way < WAYS; way++) {
            Small *s = open_classifier(i, way);
            const Config *c = &s->model.config;
            const double query = c->pool == POOL_ATTENTION ? c->width : 0;
            const double biases = has_towers(way) && c->bias ? 6 * c->width : 0;

            ck_assert_double_eq((double)params_count(&s->model.params),
                                config_matrix_parameters(c) + others + query + biases);
            small_close(s);
        }
        small_close(mean);
    }
}
END_TEST

START_TEST(options_that_do_not_apply_to_classifiers_are_refused)
{
    Config c = small_variant(0);

    c.pool = POOL_FIRST;
    ck_assert_ptr_nonnull(
        strstr(config_misfit(&c).at, "--pool is for models that predict a class"));
    c.pool = POOL_MEAN, c.pairs = PAIRS_TOWERS;
    ck_assert_ptr_nonnull(
        strstr(config_misfit(&c).at, "--pairs is for models that predict a class"));
    c.task = TASK_CLASSIFY, c.classes = 2, c.tied = false, c.context = 8;
    ck_assert_str_eq(config_misfit(&c).at, "");
    c.context = 7;
    ck_assert_ptr_nonnull(strstr(config_misfit(&c).at, "and 7 is odd"));
}
END_TEST

Suite *suite_classifier(void)
{
    Suite *s = suite_create("classifier");
    TCase *t = group(s, "ends");

    tcase_add_loop_test(t, the_gradient_is_the_slope_of_the_losses_with_every_pool, 0,
                        (VARIANTS + 4) / 5);
    tcase_add_test(t, the_contents_of_padding_have_no_effect);
    tcase_add_test(t, a_row_is_classified_the_same_alone_and_in_a_batch);
    tcase_add_test(t, the_first_position_alone_is_seen_without_blocks);
    tcase_add_test(t, a_query_of_zero_is_the_mean);
    tcase_add_test(t, towers_compare_two_texts);
    tcase_add_test(t, a_classifier_has_the_parameters_of_its_configuration);
    tcase_add_test(t, options_that_do_not_apply_to_classifiers_are_refused);
    return s;
}
