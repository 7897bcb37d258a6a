/*
 * A model in the form of other people's classes computes there what it computes here. That our own
 * classes for transformers do so is for tests/export.py, which needs PyTorch.
 */
#include "model/form.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/foreign.h"
#include "tests/small.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3 };

/* What --help says, with every choice of biases and of a head of its own. */
static Config config_of(int i)
{
    static const Config with[CLASSES] = {
        { .position = POSITION_ROPE, .ffn = FFN_SWIGLU, .norm = NORM_RMS },
        { .position = POSITION_ROPE, .ffn = FFN_GELU, .norm = NORM_RMS },
        { .position = POSITION_LEARNED, .ffn = FFN_GELU, .norm = NORM_LAYER },
    };
    Config c = with[i % CLASSES];

    c.attention = &attention_softmax, c.set = settings_default(c.attention);
    c.vocab = 11, c.layers = 2, c.heads = 3, c.width = 18, c.context = 7;
    c.tied = i / CLASSES % 2, c.bias = i / CLASSES / 2;
    c.kv_heads = c.tied && c.bias && c.position == POSITION_ROPE;
    return c;
}

static const char *const class_names[] = { "LlamaForCausalLM", "ArceeForCausalLM",
                                           "GPT2LMHeadModel" };

/* The model's file in its form. */
static Safetensors *exported(const Small *s, const Form *form)
{
    FormTensors all = form_tensors(form, &s->model, s->mem);

    safetensors_write(in_folder("model"), (Contents){ .entry = all.entry, .entries = all.n });
    return safetensors_read(in_folder("model"));
}

START_TEST(the_other_class_computes_the_same_logits)
{
    Config c = config_of(_i);
    Tape tape = tape_open(1);
    Text why;

    if (_i >= CLASSES)
        c.hidden = 21, c.eps = 1, c.rope_base = c.position == POSITION_ROPE ? 500 : 0;
    const Form *form = form_of_config(&c, &why);
    Small *s = small_open(c, 1, c.context);
    small_overwrite(s, 0.4);
    ck_assert_msg(!form->own, "%s", why.at);
    ck_assert_str_eq(form->class_name, class_names[_i % CLASSES]);
    Safetensors *file = exported(s, form);
    const Foreign is = { form->class_name, c.layers,          c.heads,
                         c.width,          config_hidden(&c), c.vocab,
                         c.rope_base,      config_eps(&c),    c.kv_heads };
    const double *want = foreign_logits(s->mem, is, file, s->batch.id, c.context);
    const Tensor *got = model_logits(&tape, &s->model, s->batch.id, 1, c.context, 0);
    check_close(form->name, got->data, want, got->n, forward_tolerance);
    ck_assert_int_eq(safetensors_find(file, "lm_head.weight") == NULL, c.tied);
    safetensors_free(file);
    tape_close(&tape);
    small_close(s);
}
END_TEST

static char *config_text(const Form *form, const Config *c)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    form_config(form, c, NULL, out);
    fclose(out);
    return text;
}

#define TYPE(name) "{\n  \"model_type\": \"" name "\",\n  \"dtype\": "
#define IN(type) "\"" type "\",\n  \"torch_dtype\": \"" type "\",\n"
#define COMMON "  \"bos_token_id\": null,\n  \"eos_token_id\": null,\n  \"tie_word_embeddings\": "

static const char *const llama_text =
    "  \"vocab_size\": 11,\n  \"hidden_size\": 18,\n  \"intermediate_size\": 48,\n"
    "  \"num_hidden_layers\": 2,\n  \"num_attention_heads\": 3,\n  \"num_key_value_heads\": 3,\n"
    "  \"head_dim\": 6,\n  \"max_position_embeddings\": 7,\n  \"rms_norm_eps\": 1e-5,\n"
    "  \"hidden_act\": \"silu\",\n  \"attention_bias\": false,\n  \"mlp_bias\": false,\n"
    "  \"rope_theta\": 10000.0,\n"
    "  \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000.0}\n}\n";

static const char *const arcee_text =
    "  \"vocab_size\": 11,\n  \"hidden_size\": 18,\n  \"intermediate_size\": 72,\n"
    "  \"num_hidden_layers\": 2,\n  \"num_attention_heads\": 3,\n  \"num_key_value_heads\": 1,\n"
    "  \"head_dim\": 6,\n  \"max_position_embeddings\": 7,\n  \"rms_norm_eps\": 1e-5,\n"
    "  \"hidden_act\": \"gelu_new\",\n  \"attention_bias\": true,\n  \"mlp_bias\": true,\n"
    "  \"rope_theta\": 10000.0,\n"
    "  \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000.0}\n}\n";

static const char *const gpt_text =
    "  \"vocab_size\": 11,\n  \"n_positions\": 7,\n  \"n_embd\": 18,\n  \"n_layer\": 2,\n"
    "  \"n_head\": 3,\n  \"n_inner\": 72,\n  \"activation_function\": \"gelu_new\",\n"
    "  \"layer_norm_epsilon\": 1e-5,\n  \"scale_attn_weights\": true,\n"
    "  \"resid_pdrop\": 0.0,\n  \"embd_pdrop\": 0.0,\n  \"attn_pdrop\": 0.0\n}\n";

static const char *const auto_text =
    "  \"vocab_size\": 11,\n  \"auto_map\": {\n"
    "    \"AutoConfig\": \"configuration_attnc.AttncConfig\",\n"
    "    \"AutoModel\": \"modeling_attnc.AttncModel\",\n"
    "    \"AutoModelForMaskedLM\": \"modeling_attnc.AttncForMaskedLM\"\n  }";

static const char *const own_text =
    ",\n  \"position\": \"sinusoidal\",\n  \"ffn\": \"gelu\",\n"
    "  \"layer_norm\": \"layer\",\n  \"task\": \"mlm\",\n  \"n_layer\": 2,\n"
    "  \"n_head\": 3,\n  \"n_embd\": 18,\n  \"block_size\": 7,\n"
    "  \"bias\": 1,\n  \"no_residual\": 0,\n  \"classes\": 0,\n  \"n_inner\": 0,\n"
    "  \"rope_base\": 0,\n  \"norm_eps\": \"1e-5\",\n  \"n_kv_head\": 0";

/* Each setting at a value that is no default, and its line. */
static void change(const Setting *s, int *value, Text *line)
{
    Text name = setting_key(s);

    *value = 3;
    if (s->kind == SETTING_FLAG || s->kind == SETTING_CHOICE)
        *value = !s->value;
    if (s->kind == SETTING_CHOICE)
        text_add(line, ",\n  \"%s\": \"%s\"", name.at, s->choices[*value]);
    else if (s->kind != SETTING_SET)
        text_add(line, ",\n  \"%s\": %d", name.at, *value);
    for (int i = 0; s->kind == SETTING_SET && s->choices[i]; i++)
        text_add(line, ",\n  \"%s_%s\": %d", name.at, s->choices[i], i < 2);
}

START_TEST(the_configuration_uses_the_keys_of_the_class)
{
    const Form *const form[] = { &form_llama, &form_arcee, &form_gpt };
    const char *const type[] = { TYPE("llama"), TYPE("arcee"), TYPE("gpt2") };
    const char *const rest[] = { llama_text, arcee_text, gpt_text };

    for (int i = 0; i < CLASSES; i++) {
        const Config c = config_of(i + (i == 1 ? 3 * CLASSES : 0));
        char *text = config_text(form[i], &c), want[2000];

        snprintf(want, sizeof want, "%s%s  \"architectures\": [\"%s\"],\n%s%s,\n%s", type[i],
                 in_double ? IN("float64") : IN("float32"), class_names[i], COMMON,
                 c.tied ? "true" : "false", rest[i]);
        ck_assert_str_eq(text, want);
        free(text);
    }
}
END_TEST

/* With the settings of its attention, and no others. */
START_TEST(without_a_class_the_configuration_uses_our_keys)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Config c = config_of(0);
        Text lines = { 0 };
        char want[2000];

        c.attention = *a, c.bias = true;
        c.position = POSITION_SINUSOIDAL, c.ffn = FFN_GELU, c.norm = NORM_LAYER, c.task = TASK_MLM;
        for (int i = 0; settings_at(i); i++)
            if (attention_takes(*a, settings_at(i)->name))
                change(settings_at(i), &c.set.at[i], &lines);
        snprintf(want, sizeof want,
                 "%s%s  \"architectures\": [\"%s\"],\n%s%s,\n%s,\n%s%s\"%s%s\n}\n", TYPE("attnc"),
                 in_double ? IN("float64") : IN("float32"), "AttncForMaskedLM", COMMON, "false",
                 auto_text, "  \"attn\": \"", (*a)->name, own_text, lines.at);
        char *text = config_text(&form_own[TASK_MLM], &c);
        ck_assert_str_eq(text, want);
        free(text);
    }
}
END_TEST

/* Under the names of modules of PyTorch. */
START_TEST(without_a_class_the_tensors_are_unchanged)
{
    Small *s = small_open(small_variant(_i), 1, 4);
    Safetensors *file = exported(s, &form_own[s->model.config.task]);

    ck_assert_int_eq(file->entries, s->model.params.count);
    for (const Param *p = s->model.params.first; p; p = p->next) {
        const char *dot = strrchr(p->name, '.');
        const bool bias = dot && strcmp(dot, ".bias") == 0;
        Text name = text_format("%s%s%s", strcmp(p->name, "head") ? "model." : "", p->name,
                                bias ? "" : ".weight");
        const Entry *e = safetensors_find(file, name.at);

        ck_assert_msg(e && e->bytes == p->tensor->n * sizeof(real), "%s", name.at);
        ck_assert_mem_eq(e->data, p->tensor->data, e->bytes);
    }
    safetensors_free(file);
    small_close(s);
}
END_TEST

/* The source of our classes, in one text. */
static char *source_read(void)
{
    static const char *const name[] = { "mechanisms", "modeling" };
    char *source = NULL;
    size_t n = 0;

    for (int i = 0; i < 2; i++) {
        size_t bytes;
        unsigned char *file =
            file_read(text_format("tools/export/%s_attnc.py", name[i]).at, &bytes);

        source = xrealloc(source, n + bytes + 1);
        for (size_t j = 0; j < bytes; j++) {
            ck_assert(file[j] == '\n' || (file[j] >= ' ' && file[j] < 127));
            source[n++] = (char)file[j];
        }
        free(file);
    }
    source[n] = '\0';
    return source;
}

static void check_lacks(const Config *c, const char *source, const char *what)
{
    ck_assert_str_eq(form_lacks(c, source).at, what);
}

/* With the words damaged wherever they are. */
static void check_noticed(const Config *c, char *source, const char *words, const char *what)
{
    for (char *at = source; (at = strstr(at, words)); at++)
        at[strlen(words) - 1] ^= 1;
    check_lacks(c, source, what);
}

/* Whether the source's table of mixes has it. */
static bool has_row(const char *source, const Attention *a)
{
    return strstr(source, text_format("    \"%s\": ", a->name).at) != NULL;
}

START_TEST(our_own_class_has_the_mechanisms_of_its_table)
{
    int rows = 0;

    for (const Attention *const *a = attentions; *a; a++) {
        Config c = config_of(0);
        char *source = source_read();

        c.attention = *a, c.set = settings_default(*a);
        if (!has_row(source, *a)) {
            check_lacks(&c, source, text_format("--attn %s", (*a)->name).at);
            free(source);
            continue;
        }
        rows++;
        check_lacks(&c, source, "");
        c.task = TASK_MLM;
        check_lacks(&c, source, "");
        c.task = TASK_CLASSIFY;
        check_lacks(&c, source, "--task classify");
        c.task = TASK_CAUSAL;
        check_noticed(&c, source, text_format("\"%s\":", (*a)->name).at,
                      text_format("--attn %s", (*a)->name).at);
        free(source);
    }
    ck_assert_int_ge(rows, 33);
}
END_TEST

START_TEST(a_value_that_our_own_class_lacks_is_detected)
{
    Config c = config_of(0);
    char *source = source_read();

    c.attention = &attention_softmax, c.set = settings_default(c.attention);
    c.ffn = FFN_RELU2, c.logit_cap = 15;
    check_lacks(&c, source, "--logit-cap 15");
    c.logit_cap = 0, c.shortcut = true;
    check_lacks(&c, source, "--shortcut");
    c.shortcut = false, c.value_embedding = true;
    check_lacks(&c, source, "--value-embedding");
    c.value_embedding = false, c.kv_heads = 1;
    check_noticed(&c, source, "config.n_kv_head", "--n-kv-head 1");
    c.kv_heads = 0, c.from_last = true;
    check_lacks(&c, source, "predictions from the last position");
    c.from_last = false;
    check_lacks(&c, source, "--ffn relu2");
    c.ffn = FFN_GELU;
    setting_parse(attention_takes(c.attention, "weight"), "laplace", setting_at(&c.set, "weight"));
    check_lacks(&c, source, "");
    check_noticed(&c, source, "\"forgetting\"", "");
    setting_parse(attention_takes(c.attention, "weight"), "forgetting",
                  setting_at(&c.set, "weight"));
    check_lacks(&c, source, "--weight forgetting");
    free(source);
}
END_TEST

START_TEST(each_mechanism_of_a_list_is_checked)
{
    Config c = config_of(0);
    char *source = source_read();

    c.layers = 1; /* fewer than the list has */
    ck_assert_str_eq(config_read_mechanisms(&c, "relu,softmax:window=64,softmax").at, "");
    check_lacks(&c, source, "");
    check_noticed(&c, source, "config.window", "--window");
    check_noticed(&c, source, "\"softmax\":", "--attn softmax");
    check_noticed(&c, source, "\"relu\":", "--attn relu");
    free(source);
}
END_TEST

START_TEST(a_setting_of_a_list_comes_once)
{
    Config c = config_of(0);

    ck_assert_str_eq(config_read_mechanisms(&c, "softmax:window=3:base=4:window=5").at,
                     "window=5 is given twice in softmax");
    ck_assert_str_eq(config_read_mechanisms(&c, "softmax:window=3:").at,
                     "a ':' in softmax has no setting after it");
}
END_TEST

START_TEST(a_list_is_written_with_all_settings)
{
    static const char
        *const want = "  \"attn\": \"synthesizer+efficient\",\n  \"position\"",
               *const list =
                   "  \"norm_eps\": \"1e-5\",\n  \"n_kv_head\": 0,\n  \"mechanisms\": [\n"
                   "    { \"attn\": \"synthesizer\", \"kind\": \"random\", \"out_norm\": \"none\", "
                   "\"out_gate\": 1 },\n"
                   "    { \"attn\": \"efficient\", \"rope_at\": \"before\", \"window\": 64, "
                   "\"key_size\": 0, \"out_norm\": \"none\", \"out_gate\": 0, \"conv\": 3, "
                   "\"conv_silu\": 0, \"qk_norm\": \"l2\" }\n  ]\n}\n";
    Config c = config_of(0);

    ck_assert_str_eq(config_read_mechanisms(&c,
                                            "synthesizer:kind=random:out-gate,"
                                            "efficient:window=64:conv=3:conv-silu=off:qk-norm=l2")
                         .at,
                     "");
    char *text = config_text(&form_own[TASK_CAUSAL], &c);
    ck_assert_ptr_nonnull(strstr(text, want));
    ck_assert_ptr_nonnull(strstr(text, list));
    free(text);
}
END_TEST

/* A value that is not the default. */
static int another(const Setting *s, int value)
{
    return s->kind == SETTING_NUMBER ? value + 5 : s->kind == SETTING_SET ? value ^ 2 : !value;
}

START_TEST(a_setting_that_our_own_class_lacks_is_detected)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (const Setting *s = (*a)->settings; s && s->name; s++) {
            const char *choice = s->kind == SETTING_SET ? s->choices[1] : "";
            Text key = text_format("%s%s%s", setting_key(s).at, *choice ? "_" : "", choice);
            Text words = text_format("config.%s", key.at),
                 quoted = text_format("getattr(config, \"%s\")", key.at);
            Config c = config_of(0);
            char *source = source_read();

            c.attention = *a, c.set = settings_default(*a);
            *setting_at(&c.set, s->name) = another(s, setting(&c.set, s->name));
            const bool is_quoted = strstr(source, quoted.at), is_known = has_row(source, *a);
            const Text lacks =
                text_format(is_known ? "--%s" : "--attn %s", is_known ? s->name : (*a)->name);
            const bool is_read = is_known && (is_quoted || strstr(source, words.at));

            check_lacks(&c, source, is_read ? "" : lacks.at);
            check_noticed(&c, source, words.at, is_read && is_quoted ? "" : lacks.at);
            check_noticed(&c, source, quoted.at, lacks.at);
            free(source);
        }
}
END_TEST

static void check_reason(Config c, const char *reason)
{
    Text why;

    ck_assert_ptr_eq(form_of_config(&c, &why), &form_own[c.task]);
    ck_assert_str_eq(why.at, reason);
}

START_TEST(another_task_or_attention_has_no_form_and_a_reason)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (int form = 0; form < CLASSES; form++) {
            Config c = config_of(form);
            Text why = { 0 };

            c.attention = *a, c.set = settings_default(*a);
            text_add(&why, "its attention is %s, not softmax", (*a)->name);
            if (*a != &attention_softmax)
                check_reason(c, why.at);
            c.task = TASK_MLM;
            check_reason(c, "its task is mlm, not causal");
        }
}
END_TEST

/* What is neither a size nor a length, which alone do nothing. */
START_TEST(a_setting_has_no_form_and_a_reason)
{
    for (const Setting *s = attention_softmax.settings; s->name; s++)
        for (int form = 0; form < CLASSES; form++) {
            Config c = config_of(form);
            Text why = { 0 };

            *setting_at(&c.set, s->name) = s->kind != SETTING_NUMBER ? !s->value
                                           : s->tries[0] || s->size  ? s->tries[0]
                                                                     : 3;
            text_add(&why, "its %s is %s, not %s", s->name,
                     setting_print(s, setting(&c.set, s->name)).at, setting_print(s, s->value).at);
            if (s->length == NO_LENGTH && !s->size)
                check_reason(c, why.at);
            else
                ck_assert(!form_of_config(&c, &why)->own);
        }
}
END_TEST

/* A width of keys that is that of the values, and was asked for, changes nothing. */
START_TEST(keys_as_wide_as_values_have_a_class_and_others_a_reason)
{
    Config c = config_of(0);
    Text why;

    *setting_at(&c.set, "key-size") = 6;
    ck_assert_ptr_eq(form_of_config(&c, &why), &form_llama);
    *setting_at(&c.set, "key-size") = 4;
    check_reason(c, "its keys are 4 wide and its values 6");
}
END_TEST

START_TEST(shared_keys_and_values_have_the_classes_of_llama)
{
    Config c = config_of(2);

    c.kv_heads = 1;
    check_reason(c, "no class combines position learned, ffn gelu, layer-norm layer and n-kv-head");
}
END_TEST

START_TEST(only_three_ways_of_building_a_block_have_a_class)
{
    int forms = 0;

    for (int i = 0; i < PLAIN_VARIANTS; i++) {
        const Config c = small_variant(i);
        Text why;

        if (!form_of_config(&c, &why)->own)
            forms++;
        else
            ck_assert_msg(strstr(why.at, position_names[c.position]) &&
                              strstr(why.at, "no class combines"),
                          "%s", why.at);
    }
    ck_assert_int_eq(forms, CLASSES);
}
END_TEST

Suite *suite_form(void)
{
    Suite *s = suite_create("form");
    TCase *t = with_folder(s, "forms");

    tcase_add_loop_test(t, the_other_class_computes_the_same_logits, 0, 4 * CLASSES);
    tcase_add_test(t, the_configuration_uses_the_keys_of_the_class);
    tcase_add_test(t, without_a_class_the_configuration_uses_our_keys);
    tcase_add_loop_test(t, without_a_class_the_tensors_are_unchanged, 0, VARIANTS);
    tcase_add_test(t, a_value_that_our_own_class_lacks_is_detected);
    tcase_add_test(t, each_mechanism_of_a_list_is_checked);
    tcase_add_test(t, a_setting_of_a_list_comes_once);
    tcase_add_test(t, a_list_is_written_with_all_settings);
    tcase_add_test(t, our_own_class_has_the_mechanisms_of_its_table);
    tcase_add_test(t, a_setting_that_our_own_class_lacks_is_detected);
    tcase_add_test(t, another_task_or_attention_has_no_form_and_a_reason);
    tcase_add_test(t, a_setting_has_no_form_and_a_reason);
    tcase_add_test(t, keys_as_wide_as_values_have_a_class_and_others_a_reason);
    tcase_add_test(t, shared_keys_and_values_have_the_classes_of_llama);
    tcase_add_test(t, only_three_ways_of_building_a_block_have_a_class);
    return s;
}
