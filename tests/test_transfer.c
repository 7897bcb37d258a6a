/* The weights of one model as the start of another one, and tensors that are not trained. */
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tests/tests.h"
#include "training/optimiser.h"
#include "training/transfer.h"

#include <math.h>
#include <string.h>

/* Softmax, two layers of width 12, two heads, 11 tokens, 8 learned positions. */
static Config plain(void)
{
    Config c = small_variant(0);

    c.position = POSITION_LEARNED;
    c.task = TASK_CAUSAL;
    c.ffn = FFN_GELU;
    c.norm = NORM_RMS;
    c.tied = c.bias = 0;
    return c;
}

static struct {
    Arena *mem;
    Model from, to, fresh; /* fresh: `to` as it was initialised */
    Transfer result;
} t;

static void move(Config from, Config to, bool same_tokens)
{
    t.mem = arena_new();
    model_init(&t.from, from, t.mem, 1);
    model_init(&t.to, to, t.mem, 2);
    model_init(&t.fresh, to, t.mem, 2);
    t.result = transfer_weights(&t.to, &t.from, same_tokens);
}

/* The first rows are those of the other model's tensor, the others as initialised. */
static void check_rows(const char *name, const char *source, int rows)
{
    const Tensor *to = param_named(&t.to.params, name), *fresh = param_named(&t.fresh.params, name);
    const size_t n = to->n / (size_t)to->dim[0] * (size_t)rows;

    if (rows > 0)
        ck_assert_msg(same_bits(to->data, param_named(&t.from.params, source)->data, n),
                      "%s is not copied", name);
    ck_assert_msg(same_bits(to->data + n, fresh->data + n, to->n - n), "%s is not as initialised",
                  name);
}

static void check_lists(const char *initialised, const char *left)
{
    ck_assert_str_eq(t.result.initialised.at, initialised);
    ck_assert_str_eq(t.result.left.at, left);
    arena_free(t.mem);
}

START_TEST(a_model_of_the_same_form_has_the_same_weights)
{
    move(plain(), plain(), true);
    ck_assert(same_parameters(&t.to, &t.from));
    ck_assert_int_eq(t.result.copied, t.from.params.count);
    check_lists("", "");
}
END_TEST

START_TEST(another_context_copies_the_positions_that_both_have)
{
    Config longer = plain();

    longer.context = 11;
    move(plain(), longer, true);
    check_rows("position", "position", 8);
    check_lists("position from row 8 on", "");
    move(longer, plain(), true);
    check_rows("position", "position", 8);
    check_lists("", "");
}
END_TEST

START_TEST(adding_or_removing_a_mask_token_keeps_the_others)
{
    Config masked = plain();

    masked.task = TASK_MLM;
    masked.vocab++;
    move(plain(), masked, true);
    check_rows("embed", "embed", 11);
    check_rows("head", "head", 11);
    check_lists("embed from row 11 on, head from row 11 on", "");
    move(masked, plain(), true);
    check_rows("embed", "embed", 11);
    check_lists("", "");
}
END_TEST

START_TEST(different_tokens_have_different_embeddings)
{
    move(plain(), plain(), false);
    check_rows("embed", "embed", 0);
    check_rows("head", "head", 0);
    check_rows("position", "position", 8);
    check_lists("embed, head", "embed, head");
}
END_TEST

START_TEST(value_embeddings_are_rows_of_tokens_as_well)
{
    static const char table[] = "blocks.1.attn.value_embed";
    Config from = plain(), to;

    from.value_embedding = true;
    to = from;
    to.vocab += 2;
    move(from, to, true);
    check_rows(table, table, 11);
    check_lists("embed from row 11 on, blocks.0.attn.value_embed from row 11 on, "
                "blocks.1.attn.value_embed from row 11 on, head from row 11 on",
                "");
    move(from, from, false);
    check_rows(table, table, 0);
    check_lists("embed, blocks.*.attn.value_embed, head", "embed, blocks.*.attn.value_embed, head");
}
END_TEST

START_TEST(a_tied_head_is_the_embedding)
{
    Config tied = plain();

    tied.tied = 1;
    move(tied, plain(), true);
    check_rows("head", "embed", 11);
    check_lists("", "");
    move(plain(), tied, true);
    check_rows("embed", "embed", 11);
    check_lists("", "head");
}
END_TEST

START_TEST(a_class_head_is_copied_only_if_the_number_of_classes_agrees)
{
    Config of_three = plain(), of_four;

    of_three.task = TASK_CLASSIFY;
    of_three.classes = 3;
    of_four = of_three;
    of_four.classes = 4;
    move(plain(), of_three, true);
    check_rows("head", "head", 0);
    check_rows("embed", "embed", 11);
    check_lists("head", "head");
    move(of_three, of_four, true);
    check_rows("head", "head", 0);
    check_lists("head", "head");
    move(of_three, of_three, false);
    check_rows("head", "head", 3);
    check_lists("embed", "embed");
    of_three.tied = 0, of_four = plain(), of_four.tied = 1;
    move(of_four, of_three, true); /* whose embedding is no head of classes */
    check_rows("head", "head", 0);
    check_lists("head", "");
}
END_TEST

START_TEST(blocks_and_norms_are_named_once)
{
    Config more = plain();

    more.layers = 4;
    more.norm = NORM_LAYER;
    move(plain(), more, true);
    check_rows("blocks.1.attn.wq", "blocks.1.attn.wq", 12);
    check_rows("blocks.2.attn.wq", NULL, 0);
    check_lists("blocks.*.attn.norm.bias, blocks.*.ffn.norm.bias, blocks.2, blocks.3, norm.bias",
                "");
    move(more, plain(), true);
    check_lists("", "blocks.*.attn.norm.bias, blocks.*.ffn.norm.bias, blocks.2, blocks.3, "
                    "norm.bias");
    more.layers = 9;
    move(plain(), more, true);
    check_lists("blocks.*.attn.norm.bias, blocks.*.ffn.norm.bias, blocks.2, blocks.3, blocks.4, "
                "blocks.5 and more",
                "");
}
END_TEST

static Config misfit;

static void move_to_misfit(const char *unused)
{
    (void)unused;
    move(plain(), misfit, true);
}

START_TEST(tensors_of_another_shape_are_refused)
{
    misfit = plain();
    misfit.width = 24;
    check_dies(move_to_misfit, NULL, EXIT_USAGE, "--n-embd 12 and --n-head 2, not 24 and 2");
    misfit = plain();
    misfit.heads = 3;
    check_dies(move_to_misfit, NULL, EXIT_USAGE, "--n-embd 12 and --n-head 2, not 12 and 3");
    misfit = plain();
    misfit.ffn = FFN_SWIGLU;
    check_dies(move_to_misfit, NULL, EXIT_USAGE, "blocks.0.ffn.up is ");
}
END_TEST

START_TEST(another_mechanism_copies_tensors_with_the_same_name)
{
    Config c = plain();

    c.attention = attention_find("relu");
    c.set = settings_default(c.attention);
    move(plain(), c, true);
    check_rows("blocks.1.attn.wv", "blocks.1.attn.wv", 12);
    check_lists("", "");
}
END_TEST

START_TEST(patterns_match_names_and_their_beginnings)
{
    static const struct {
        const char *pattern;
        int n;
    } rows[] = { { "embed", 1 }, { "emb", 0 }, { "norm", 1 }, { "blocks.1.attn.w?", 4 },
                 { "*.up", 2 },  { "", 0 },    { "b*", 16 },  { "blocks.*.ffn", 6 } };

    for (int i = 0; i < COUNT(rows); i++) {
        Arena *mem = arena_new();
        Model model;

        model_init(&model, plain(), mem, 1);
        const size_t all = params_count(&model.params);
        ck_assert_msg(params_freeze(&model.params, rows[i].pattern) == rows[i].n, "'%s' matches %d",
                      rows[i].pattern, params_freeze(&model.params, rows[i].pattern));
        ck_assert((params_count(&model.params) < all) == (rows[i].n > 0));
        arena_free(mem);
    }
}
END_TEST

/* Neither the gradient of a frozen tensor nor the decay moves it, and clipping does not see it. */
START_TEST(frozen_tensors_stay_while_the_others_move)
{
    for (const OptimiserKind *const *kind = optimisers; *kind; kind++) {
        Small *s = small_open(plain(), 2, 7);
        Params *params = &s->model.params;
        Optimiser o = { .kind = *kind, .hyper = (*kind)->defaults };
        Tape tape = tape_open(1);
        Model before;

        model_init(&before, plain(), s->mem, 1);
        transfer_weights(&before, &s->model, true);
        ck_assert_int_eq(params_freeze(params, "embed") + params_freeze(params, "blocks.0"), 9);
        optimiser_init(&o, params, s->mem);
        for (int step = 0; step < 2; step++) {
            small_learn(s, &tape, 1);
            for (Param *p = params->first; p; p = p->next)
                if (p->fixed)
                    p->tensor->grad[0] = R(NAN);
            ck_assert(isfinite(gradient_norm(tape.pool, tape.mem, params)));
            optimiser_step(&o, tape.pool, 0.1, 1);
            params_zero_grad(params);
        }
        for (const Param *p = params->first; p; p = p->next) {
            const Tensor *was = param_named(&before.params, p->name);

            ck_assert_msg(same_bits(was->data, p->tensor->data, was->n) == p->fixed, "%s: %s",
                          (*kind)->name, p->name);
        }
        tape_close(&tape);
        small_close(s);
    }
}
END_TEST

Suite *suite_transfer(void)
{
    Suite *s = suite_create("transfer");
    TCase *one = group(s, "transfer"), *other = group(s, "freezing");

    tcase_add_test(one, a_model_of_the_same_form_has_the_same_weights);
    tcase_add_test(one, another_context_copies_the_positions_that_both_have);
    tcase_add_test(one, adding_or_removing_a_mask_token_keeps_the_others);
    tcase_add_test(one, different_tokens_have_different_embeddings);
    tcase_add_test(one, value_embeddings_are_rows_of_tokens_as_well);
    tcase_add_test(one, a_tied_head_is_the_embedding);
    tcase_add_test(one, a_class_head_is_copied_only_if_the_number_of_classes_agrees);
    tcase_add_test(one, blocks_and_norms_are_named_once);
    tcase_add_test(one, tensors_of_another_shape_are_refused);
    tcase_add_test(one, another_mechanism_copies_tensors_with_the_same_name);
    tcase_add_test(other, patterns_match_names_and_their_beginnings);
    tcase_add_test(other, frozen_tensors_stay_while_the_others_move);
    return s;
}
