/* What follows from a configuration: parameters, operations, what does not fit together. */
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tools/common/model_options.h"
#include "tools/common/settings.h"
#include "training/optimiser.h"

#include <string.h>

enum { B = 2, T = 5 };

/* Biases of q, k, v and o, and the pooling vectors. */
static int pooled_vectors(const Config *c)
{
    const Values *set = &c->set;
    const int width = c->width, one = width / c->heads;
    const bool heads = setting_is(set, "share", "heads");
    const int biases = width + (setting_is(set, "share", "qv") ? 2 : 3) * (heads ? one : width);

    return (c->bias ? biases : 0) + 2 * (heads || setting_is(set, "share", "pools") ? one : width);
}

/* Of one mix: convolutions of inputs with that many columns, and gains of q and k. */
static int vectors_around(const Config *c, int columns)
{
    const MixSize size = config_mix_size(c);

    return setting(&c->set, "conv") * columns +
           (setting_is(&c->set, "qk-norm", "rms") ? 2 * size.D : 0);
}

/* Biases and rates of operands that have a number for each head; gains, and numbers that skip. */
static int vectors_of_heads(const Config *c)
{
    const bool rms_of_all = setting_is(&c->set, "out-norm", "all");
    int n = rms_of_all ? c->width : 0;

    const Operand *o;

    for (int i = 0; (o = attention_operand(c->attention, i)); i++)
        if (o->from && attention_needs(c->attention, &c->set, i))
            n += c->heads * (o->from->rate ? 2 : 1);
    if (attention_takes(c->attention, "skip"))
        n += setting(&c->set, "skip") ? c->heads : 0;
    return n;
}

/* Biases, gammas and betas of two units; or biases and pooling vectors of attention, of one block.
 */
static int vectors_of_mixes(const Config *c)
{
    const MixSize size = config_mix_size(c);
    const int width = c->width, gate = setting(&c->set, "gate");
    const bool one = attention_takes(c->attention, "share-keys") && setting(&c->set, "share-keys");
    const int keys = (one ? 1 : size.H) * size.D, own = c->kv_heads ? c->kv_heads : size.H;
    const int inputs = keys + (one ? keys : own * size.D) + own * size.E;
    int pairs = 2; /* q, k, and what else is made of z */

    for (const Operand *o = c->attention->operands; o && o->name; o++)
        pairs += strcmp(o->shape, "BNHd") == 0;
    if (layer_of(c->attention) == &layer_gated)
        return 2 * (vectors_around(c, keys + 2 * width) +
                    (2 * pairs + (setting(&c->set, "rel-bias") ? 2 : 0)) * keys +
                    (c->bias ? (gate ? 5 : 3) * width + keys : 0));
    if (layer_of(c->attention) == &layer_pooled)
        return vectors_around(c, 3 * width) + pooled_vectors(c);
    return vectors_of_heads(c) + vectors_around(c, inputs) +
           (c->bias ? inputs + (setting(&c->set, "out-gate") ? 2 : 1) * width : 0);
}

static double vectors_of_layers(const Config *c)
{
    return (setting_is(&c->set, "share", "layers") ? 1.0 : c->layers) * vectors_of_mixes(c);
}

/* Everything that is neither matrix nor table: gains, biases, vectors. */
static double other_parameters(const Config *c)
{
    bool gated = layer_of(c->attention) == &layer_gated;
    bool bare = c->ffn == FFN_NONE;
    double norms = ((bare ? 1 : 2) * c->layers + 1) * c->width * (c->norm == NORM_LAYER ? 2 : 1);
    double ffn = c->width + config_hidden(c) * (c->ffn == FFN_SWIGLU ? 2 : 1);

    return norms + (c->shortcut ? 2 * c->layers : 0) + config_sum(c, vectors_of_layers) +
           (c->bias && !gated && !bare ? c->layers * ffn : 0);
}

START_TEST(a_model_has_the_parameters_of_its_configuration)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_open(small_variant(i), B, T);
        const Config *c = &s->model.config;

        ck_assert_double_eq((double)params_count(&s->model.params),
                            config_parameters(c) + other_parameters(c));
        small_close(s);
    }
}
END_TEST

static bool is_matrix(const Param *p)
{
    return p->tensor->ndim >= 2 && !p->fixed && strcmp(p->name, "embed") != 0 &&
           !strstr(p->name, ".pool_");
}

/* Inputs that a mechanism does not use have none, and those that heads share have one. */
START_TEST(every_mechanism_has_the_matrices_of_its_configuration)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Config c = small_variant(0);
        double matrices = 0;

        c.attention = *a, c.set = settings_default(*a), c.position = POSITION_NONE;
        Small *s = small_open(c, B, T);
        for (const Param *p = s->model.params.first; p; p = p->next)
            matrices += is_matrix(p) ? (double)p->tensor->n : 0;
        ck_assert_msg(matrices == config_matrix_parameters(&c), "%s: %g, not %g", (*a)->name,
                      config_matrix_parameters(&c), matrices);
        small_close(s);
    }
}
END_TEST

START_TEST(weight_decay_applies_to_matrices_and_tables)
{
    for (int i = 0; i < VARIANTS; i++) {
        Small *s = small_open(small_variant(i), B, T);

        for (const Param *p = s->model.params.first; p; p = p->next)
            ck_assert_int_eq(p->decay, !strstr(p->name, "norm") && !strstr(p->name, "bias") &&
                                           !strstr(p->name, "gamma_") &&
                                           !strstr(p->name, "beta_") && !strstr(p->name, "conv_") &&
                                           !strstr(p->name, ".g.b") && !strstr(p->name, ".g.A") &&
                                           !strstr(p->name, ".skip") &&
                                           !strstr(p->name, "from_x") &&
                                           !(strstr(p->name, "omega") && p->fixed));
        small_close(s);
    }
}
END_TEST

/* The smallest of Radford et al., 2019: 124,439,808 parameters. */
static Config gpt2(void)
{
    Config c = {
        .attention = &attention_softmax,
        .vocab = 50257,
        .layers = 12,
        .heads = 12,
        .width = 768,
        .context = 1024,
        .position = POSITION_LEARNED,
        .norm = NORM_LAYER,
        .tied = true,
        .bias = true,
    };

    c.set = settings_default(c.attention);
    return c;
}

START_TEST(gpt2_has_its_parameters_and_operations)
{
    const Config c = gpt2();

    ck_assert_double_eq(config_matrix_parameters(&c), 123532032);
    ck_assert_double_eq(config_parameters(&c) + other_parameters(&c), 124439808);
    /* a token is multiplied with 512 keys and 512 values of 768 numbers, in 12 layers */
    ck_assert_double_eq(config_flops(&c, 1), 6 * (123532032.0 + 12 * 2 * 512 * 768));
    ck_assert_double_eq(config_flops(&c, 1) - config_flops(&c, 0.25), 6 * 0.75 * 768 * c.vocab);
}
END_TEST

/* One more feed-forward layer, with biases and a norm, and no text is continued. */
START_TEST(predictions_from_the_last_position_cost_a_layer)
{
    Config c = gpt2();
    const double before = config_matrix_parameters(&c), flops = config_flops(&c, 1);

    c.from_last = true;
    ck_assert_double_eq(config_matrix_parameters(&c) - before, 2 * 768 * 3072);
    ck_assert_double_eq(config_flops(&c, 1) - flops, 6 * 2 * 768 * 3072);
    ck_assert(!config_decodes(&c));
    c = small_variant(0);
    for (c.ffn = FFN_GELU; c.ffn <= FFN_NONE; c.ffn++) {
        Config each = c;

        each.from_last = true;
        Small *s = small_open(each, B, T), *without = small_open(c, B, T);
        ck_assert_double_eq(
            (double)params_count(&s->model.params) - (double)params_count(&without->model.params),
            config_matrix_parameters(&each) - config_matrix_parameters(&c) + c.width +
                c.bias * (c.width + config_hidden(&c) * (c.ffn == FFN_SWIGLU ? 2 : 1)));
        small_close(s);
        small_close(without);
    }
}
END_TEST

START_TEST(bidirectional_attention_costs_twice_the_causal_one)
{
    Config c = gpt2();

    c.task = TASK_MLM;
    ck_assert_double_eq(config_flops(&c, 1), 6 * (123532032.0 + 12 * 2 * 1024 * 768));
}
END_TEST

START_TEST(swiglu_has_about_as_many_parameters_as_gelu)
{
    for (int width = 64; width <= 2048; width += 64) {
        Config gelu = { .width = width, .ffn = FFN_GELU }, swiglu = gelu;

        swiglu.ffn = FFN_SWIGLU;
        ck_assert_int_eq(config_hidden(&gelu), 4 * width);
        ck_assert_int_eq(config_hidden(&swiglu) % 16, 0);
        ck_assert_int_ge(3 * config_hidden(&swiglu), 2 * config_hidden(&gelu));
        ck_assert_int_lt(3 * config_hidden(&swiglu), 2 * config_hidden(&gelu) + 48);
    }
}
END_TEST

START_TEST(a_difference_names_the_first_option_that_differs)
{
    const Setting *key;
    Config none = gpt2(), other = none;

    ck_assert_int_eq(model_difference(&none, &none).n, 0);
    other.attention = &attention_relu;
    ck_assert_str_eq(model_difference(&none, &other).at, "--attn softmax, not relu");
    other = none;
    other.width += 16;
    ck_assert_str_eq(model_difference(&other, &none).at, "--n-embd 784, not 768");
    other.vocab = 65;
    ck_assert_str_eq(model_difference(&none, &other).at, "vocab 50257, not 65");
    for (int i = 0; (key = config_key(i)); i++)
        *config_value(&none, i) = 0;
    for (int i = 0; (key = config_key(i)); i++) {
        const KeyOption zero = model_option_of(key, 0), one = model_option_of(key, 1);
        Config c = none;
        const int *value = config_value(&c, i);
        const char *dashes = model_has_option(&c, value) ? "--" : "",
                   *before = zero.value.n ? zero.value.at : "nothing";

        *config_value(&c, i) = 1;
        ck_assert_str_eq(
            model_difference(&none, &c).at,
            text_format("%s%s %s, not %s", dashes, zero.name.at, before, one.value.at).at);
    }
}
END_TEST

static SettingsOptions settings;
static Option options[] = { SETTINGS_HERE, { 0 } };
static Program program = { .options = options };

static void check_option_takes(const Setting *s, int value)
{
    const KeyOption o = model_option_of(s, value);

    ck_assert_msg(options_restore(&program, o.name.at, o.value.at), "--%s %s", o.name.at,
                  o.value.at);
    ck_assert_str_eq(options_value(options_find(&program, o.name.at)).at, o.value.at);
}

START_TEST(an_option_takes_the_values_of_its_setting)
{
    const Setting *s;
    int names;

    settings_add(&program, &settings, true);
    for (int i = 0; (s = settings_at(i)); i++) {
        for (names = 0; s->choices && s->choices[names]; names++)
            check_option_takes(s, s->kind == SETTING_SET ? 1 << names : names);
        if (s->kind == SETTING_SET)
            check_option_takes(s, (1 << names) - 1);
        for (int value = 0; s->kind == SETTING_FLAG && value < 2; value++)
            check_option_takes(s, value);
        if (s->kind == SETTING_NUMBER)
            check_option_takes(s, s->tries[0] ? s->tries[0] : s->value);
    }
}
END_TEST

START_TEST(heads_that_do_not_divide_the_width_are_refused)
{
    Config c = gpt2();

    c.heads = 11;
    config_check(&c);
}
END_TEST

static void check_misfit(Config c, const char *words)
{
    const Text why = config_misfit(&c);

    ck_assert_msg(strstr(why.at, words) != NULL, "no '%s' in: %s", words, why.at);
}

START_TEST(heads_of_odd_width_cannot_be_rotated)
{
    Config c = gpt2();

    c.heads = 256;
    ck_assert_str_eq(config_misfit(&c).at, "");
    c.position = POSITION_ROPE;
    check_misfit(c, "rotates pairs of numbers, and a head has 3");
}
END_TEST

START_TEST(matrices_too_large_to_index_are_refused)
{
    Config c = gpt2();

    c.width = 23170, c.heads = 10;
    ck_assert_str_eq(config_misfit(&c).at, "");
    c.width += 10;
    check_misfit(c, "a matrix would have");
}
END_TEST

START_TEST(settings_without_effect_are_refused)
{
    Config c = gpt2();

    ck_assert_double_eq(config_eps(&c), NORM_EPS);
    c.eps = 1, c.hidden = 77;
    ck_assert_double_eq(config_eps(&c), 1e-6);
    ck_assert_int_eq(config_hidden(&c), 77);
    config_check(&c);
    c.rope_base = 500;
    check_misfit(c, "--rope-base does not apply to --position learned");
    c.position = POSITION_ROPE;
    config_check(&c);
    c.attention = &attention_gau, c.set = settings_default(c.attention), c.heads = 1;
    check_misfit(c, "--n-inner does not apply to --attn gau");
    c = gpt2();
    c.width = 16384, c.heads = 1, c.hidden = INNER_MOST - 1;
    config_check(&c);
    c.hidden = INNER_MOST;
    check_misfit(c, "a matrix would have 2147483648 numbers");
}
END_TEST

/* The options of a model, as of one command line: words with a blank between them. */
static void settle(const char *words)
{
    static ModelOptions model = MODEL_OPTIONS_DEFAULT;
    static Config c = { CONFIG_DEFAULT };
    static Option rows[] = { { "attn", OPTION_SEQUENCE, &model.mechanism.layers,
                               .choice = settings_attention },
                             MODEL_OPTIONS(model, c),
                             { 0 } };
    static Program with_model = { .options = rows };
    Text text = text_format("%s", words);
    char *argv[9] = { (char *)(uintptr_t) "./train" };
    int n = 1;

    for (char *word = strtok(text.at, " "); word; word = strtok(NULL, " "))
        argv[n++] = word;
    model_options_add(&with_model, &model);
    options_parse(&with_model, n, argv);
    model_options_settle(&with_model, &model, NULL, &c);
}

START_TEST(a_setting_that_no_layer_uses_causes_a_warning)
{
    static const struct {
        const char *words, *says;
    } line[] = {
        { "--attn softmax --base 300",
          "--base changes nothing: it is for --scale entropy, logn\n" },
        { "--attn gau --base 300",
          "--base changes nothing: it is for --norm fixed, entropy, logn\n" },
        { "--attn retnet,softmax --base 300",
          "--base changes nothing: it is for --scale entropy, logn\n" },
        { "--attn retnet:decay=3 --decay 4",
          "--decay changes nothing: --attn retnet has its own\n" },
        { "--attn retnet:decay=3,retnet --decay 4", "" },
        { "--attn softmax --scale logn --base 300", "" },
        { "--attn relu --gate", "" }, /* which means --out-gate there */
        { "--attn softmax --window 1000", "" },
        { "--attn softmax", "" },
    };

    for (int i = 0; i < COUNT(line); i++) {
        ck_assert_int_eq(exit_code_of(settle, line[i].words), 0);
        ck_assert_str_eq(said,
                         !*line[i].says ? "" : text_format("attn.c: warning: %s", line[i].says).at);
    }
}
END_TEST

START_TEST(gated_units_share_no_list_with_other_layers)
{
    Config c = gpt2();

    c.heads = 1;
    ck_assert_str_eq(config_read_mechanisms(&c, "relu,softmax").at, "");
    config_check(&c);
    ck_assert_str_eq(config_read_mechanisms(&c, "gau,softmax").at, "");
    check_misfit(c, "--attn gau,softmax: a gated unit replaces an attention and a feed-forward");
    ck_assert_str_eq(config_read_mechanisms(&c, "softmax,gau").at, "");
    check_misfit(c, "--attn softmax,gau: a gated unit replaces an attention and a feed-forward");
}
END_TEST

START_TEST(valid_combinations_are_accepted)
{
    const Config c = gpt2();

    config_check(&c);
    for (int i = 0; i < VARIANTS; i++)
        config_check(&(Config[]){ small_variant(i) }[0]);
}
END_TEST

Suite *suite_config(void)
{
    Suite *s = suite_create("config");
    TCase *t = group(s, "configuration");

    tcase_add_test(t, a_model_has_the_parameters_of_its_configuration);
    tcase_add_test(t, every_mechanism_has_the_matrices_of_its_configuration);
    tcase_add_test(t, weight_decay_applies_to_matrices_and_tables);
    tcase_add_test(t, predictions_from_the_last_position_cost_a_layer);
    tcase_add_test(t, gpt2_has_its_parameters_and_operations);
    tcase_add_test(t, bidirectional_attention_costs_twice_the_causal_one);
    tcase_add_test(t, swiglu_has_about_as_many_parameters_as_gelu);
    tcase_add_test(t, a_difference_names_the_first_option_that_differs);
    tcase_add_test(t, an_option_takes_the_values_of_its_setting);
    tcase_add_exit_test(t, heads_that_do_not_divide_the_width_are_refused, EXIT_USAGE);
    tcase_add_test(t, heads_of_odd_width_cannot_be_rotated);
    tcase_add_test(t, matrices_too_large_to_index_are_refused);
    tcase_add_test(t, settings_without_effect_are_refused);
    tcase_add_test(t, a_setting_that_no_layer_uses_causes_a_warning);
    tcase_add_test(t, gated_units_share_no_list_with_other_layers);
    tcase_add_test(t, valid_combinations_are_accepted);
    return s;
}
