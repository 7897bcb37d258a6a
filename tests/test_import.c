/*
 * Folders of other people's models, made by the exporter (which test_form.c holds against naive
 * models of their classes): they come back as the same model, and nothing else gets in.
 * tests/import.py does this with transformers itself.
 */
#include "model/form.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "tests/folder.h"
#include "tests/small.h"
#include "tests/suites.h"
#include "tools/common/model_options.h"
#include "tools/import/import.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 3, MODELS = 4 * KINDS, CUT = 7, CONFIG = 1000 };

/* Llama, Arcee and GPT-2: plain; tied; with biases and other numbers; both. GPT-2 has biases. */
static Config config_of(int i)
{
    static const Config with[KINDS] = {
        { .position = POSITION_ROPE, .ffn = FFN_SWIGLU, .norm = NORM_RMS },
        { .position = POSITION_ROPE, .ffn = FFN_GELU, .norm = NORM_RMS },
        { .position = POSITION_LEARNED, .ffn = FFN_GELU, .norm = NORM_LAYER, .bias = true },
    };
    const bool other = i / KINDS / 2;
    Config c = with[i % KINDS];

    c.attention = &attention_softmax, c.set = settings_default(c.attention);
    c.vocab = 256, c.layers = 2, c.heads = 3, c.width = 18, c.context = 9;
    c.tied = i / KINDS % 2, c.bias |= other;
    c.hidden = other ? 21 : 0;
    c.eps = other;
    c.rope_base = other && c.position == POSITION_ROPE ? 500 : 0;
    c.kv_heads = other && c.tied && c.position == POSITION_ROPE;
    return c;
}

/* A model, its tensors in the other form, and its config.json with a change. */
typedef struct {
    Small *small;
    const Form *form;
    FormTensors tensors;
    char *config;
} Made;

static void put_config(FILE *out, void *ctx)
{
    const Made *m = ctx;

    form_config(m->form, &m->small->model.config, "3", out);
}

static Made made(int i)
{
    Made m = { .small = small_open(config_of(i), 1, 4) };
    Text why;
    size_t bytes;

    small_overwrite(m.small, 0.4);
    m.form = form_of_config(&m.small->model.config, &why);
    m.tensors = form_tensors(m.form, &m.small->model, m.small->mem);
    m.config = print_to_memory(put_config, &m, &bytes);
    return m;
}

/* The bytes `from` in config.json become `to`; they need not be there if that is empty. */
static void change(Made *m, const char *from, const char *to)
{
    char *at = strstr(m->config, from), *config;
    const size_t room = strlen(m->config) + strlen(to) + 1;

    ck_assert_msg(at != NULL, "no '%s' in %s", from, m->config);
    config = xmalloc(room);
    snprintf(config, room, "%.*s%s%s", (int)(at - m->config), m->config, to, at + strlen(from));
    free(m->config);
    m->config = config;
}

static Entry *tensor(const Made *m, const char *name)
{
    int i = 0;

    while (i < m->tensors.n && strcmp(m->tensors.entry[i].name, name) != 0)
        i++;
    ck_assert_msg(i < m->tensors.n, "no tensor %s", name);
    return &m->tensors.entry[i];
}

static void write_folder(const Made *m)
{
    put(in_folder("config.json"), m->config, strlen(m->config));
    safetensors_write(in_folder("model.safetensors"),
                      (Contents){ .entry = m->tensors.entry, .entries = m->tensors.n });
}

static void end(Made *m)
{
    free(m->config);
    small_close(m->small);
}

static void import_it(const char *dir)
{
    Import in;
    Model model;

    leaks_are_expected();
    import_open(&in, dir);
    import_fill(&in, &model, 0);
    import_close(&in);
}

/* With the folder as it is now. */
static void check_refused(int code, const char *words)
{
    check_dies(import_it, folder, code, words);
}

static void check_same(const Import *in, const Model *got, const Made *m)
{
    const Text difference = model_difference(&got->config, &m->small->model.config);

    ck_assert_msg(difference.n == 0, "%s", difference.at);
    ck_assert_int_eq(in->filled, got->params.count);
    ck_assert(same_parameters(got, &m->small->model));
}

START_TEST(an_exported_model_is_imported_bit_for_bit)
{
    Made m = made(_i);
    Import in;
    Model got;

    write_folder(&m);
    import_open(&in, folder);
    import_fill(&in, &got, 0);
    ck_assert_str_eq(in.class->class_name, m.form->class_name);
    ck_assert_int_eq(in.end, 3);
    check_same(&in, &got, &m);
    import_close(&in), end(&m);
}
END_TEST

START_TEST(the_end_of_text_is_a_token_of_the_vocabulary_or_there_is_none)
{
    static const struct {
        const char *value;
        int end;
    } of[] = { { "0", 0 },      { "[5, 7]", 5 }, { "null", -1 }, { "[]", -1 },
               { "50256", -1 }, { "-1", -1 },    { "\"3\"", -1 } };

    for (int i = 0; i < COUNT(of); i++) {
        Made m = made(0);
        Import in;

        change(&m, "\"eos_token_id\": 3", text_format("\"eos_token_id\": %s", of[i].value).at);
        write_folder(&m);
        import_open(&in, folder);
        ck_assert_msg(in.end == of[i].end, "%s is %d", of[i].value, in.end);
        import_close(&in), end(&m);
    }
}
END_TEST

/* GPT-2's first files; and buffers that hold no parameters. */
START_TEST(old_files_have_other_names_and_buffers)
{
    static const float mask[4];
    Made m = made(2);
    Import in;
    Model got;
    Entry more[200];

    for (int i = 0; i < m.tensors.n; i++) {
        more[i] = m.tensors.entry[i];
        if (strncmp(more[i].name, "transformer.", 12) == 0)
            more[i].name += 12;
    }
    more[m.tensors.n++] = (Entry){ "h.0.attn.bias", DTYPE_BOOL, 1, { 16 }, mask, 16 };
    more[m.tensors.n++] = (Entry){ "h.1.attn.masked_bias", DTYPE_F32, 0, { 0 }, mask, 4 };
    m.tensors.entry = more;
    write_folder(&m);
    import_open(&in, folder);
    import_fill(&in, &got, 0);
    check_same(&in, &got, &m);
    import_close(&in), end(&m);
}
END_TEST

START_TEST(a_shorter_context_cuts_the_learned_positions)
{
    Made m = made(2);
    Import in;
    Model got;

    write_folder(&m);
    import_open(&in, folder);
    import_fill(&in, &got, CUT);
    ck_assert_int_eq(got.config.context, CUT);
    ck_assert(got.position->dim[0] == CUT && got.position->n == CUT * 18);
    ck_assert_mem_eq(got.position->data, m.small->model.position->data,
                     got.position->n * sizeof(real));
    import_close(&in), end(&m);
}
END_TEST

START_TEST(heads_that_share_a_key_and_a_value_still_do)
{
    Made m = made(9);
    Import in;
    Model got;

    write_folder(&m);
    import_open(&in, folder);
    import_fill(&in, &got, 0);
    ck_assert_int_eq(got.config.kv_heads, 1);
    ck_assert_int_eq(got.blocks[0].k.w->dim[0], 6);
    check_same(&in, &got, &m);
    change(&m, "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 2");
    write_folder(&m);
    check_refused(EXIT_DATA, "3 heads with 2 keys do not divide");
    import_close(&in), end(&m);
}
END_TEST

/* The attention has none. */
START_TEST(biases_that_are_missing_are_zeros)
{
    Made m = made(6);
    int n = 0;
    Import in;
    Model got;

    for (int i = 0; i < m.tensors.n; i++)
        if (!strstr(m.tensors.entry[i].name, "proj.bias") ||
            !strstr(m.tensors.entry[i].name, "self_attn"))
            m.tensors.entry[n++] = m.tensors.entry[i];
    m.tensors.n = n;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < 4; i++) {
            const Block *b = &m.small->model.blocks[l];
            Tensor *t = (const DenseWeights *[]){ &b->q, &b->k, &b->v, &b->o }[i]->b;

            memset(t->data, 0, t->n * sizeof(real));
        }
    change(&m, "\"attention_bias\": true", "\"attention_bias\": false");
    write_folder(&m);
    import_open(&in, folder);
    import_fill(&in, &got, 0);
    ck_assert(same_parameters(&got, &m.small->model));
    import_close(&in), end(&m);
}
END_TEST

/* Scores are not divided by sqrt(D) = 2; q, k and v have no biases, so ours become 0. */
static void add_neo_layer(FormTensors *to, const Block *b, int l)
{
    static const char *const names[] = { "attn.attention.q_proj",
                                         "attn.attention.k_proj",
                                         "attn.attention.v_proj",
                                         "attn.attention.out_proj",
                                         "mlp.c_fc",
                                         "mlp.c_proj" };
    const DenseWeights dense[] = { b->q, b->k, b->v, b->o, b->up, b->down };
    const NormWeights norm[] = { b->attention_norm, b->ffn_norm };
    Tensor *q = tensor_new(to->mem, SHAPE(16, 16));

    for (int i = 0; i < 16 * 16; i++)
        q->data[i] = b->q.w->data[i] / 2;
    for (int i = 0; i < COUNT(names); i++) {
        form_add(to, i == 0 ? q : dense[i].w, "transformer.h.%d.%s.weight", l, names[i]);
        if (i < 3)
            memset(dense[i].b->data, 0, dense[i].b->n * sizeof(real));
        else
            form_add(to, dense[i].b, "transformer.h.%d.%s.bias", l, names[i]);
    }
    for (int i = 0; i < COUNT(norm); i++) {
        form_add(to, norm[i].gain, "transformer.h.%d.ln_%d.weight", l, i + 1);
        form_add(to, norm[i].bias, "transformer.h.%d.ln_%d.bias", l, i + 1);
    }
}

/* A model of ours as GPTNeoForCausalLM, with these attention_types and windows of 4 positions. */
static Made made_neo(const char *list, const char *types)
{
    Config c = config_of(5);

    c.layers = 4, c.heads = 4, c.width = 16;
    ck_assert_int_eq(config_read_mechanisms(&c, list).n, 0);
    Made m = { .small = small_open(c, 1, 4) };
    const Model *model = &m.small->model;
    FormTensors *to = &m.tensors;

    if (!strstr(types, "global"))
        config_set(&m.small->model.config, "window", 3);
    *to = (FormTensors){ m.small->mem, arena_take(m.small->mem, 100 * sizeof(Entry)), 0, 100 };
    small_overwrite(m.small, 0.4);
    form_add(to, model->embedding, "transformer.wte.weight");
    form_add(to, model->position, "transformer.wpe.weight");
    form_add(to, model->norm.gain, "transformer.ln_f.weight");
    form_add(to, model->norm.bias, "transformer.ln_f.bias");
    for (int l = 0; l < 4; l++)
        add_neo_layer(to, &model->blocks[l], l);
    m.config = xmalloc(CONFIG);
    snprintf(m.config, CONFIG,
             "{'model_type':'gpt_neo','vocab_size':256,'num_layers':4,'num_heads':4,"
             "'hidden_size':16,'intermediate_size':null,'max_position_embeddings':9,"
             "'window_size':4,'activation_function':'gelu_new','layer_norm_epsilon':1e-5,"
             "'attention_types':%s}",
             types);
    for (char *s = m.config; (s = strchr(s, '\''));)
        *s = '"';
    return m;
}

/* A window of 4 positions includes the position itself; ours counts those before it. */
START_TEST(layers_of_gpt_neo_are_global_or_local)
{
    static const struct {
        const char *types, *list;
    } of[] = {
        { "[[['global','local'],2]]", "softmax,softmax:window=3" },
        { "[[['local','global'],1],[['local'],1],[['global'],1]]", "softmax:window=3,softmax" },
        { "[[['local','global','global'],1],[['local'],1]]", "softmax:window=3,softmax,softmax" },
        { "[[['global'],3],[['local'],1]]", "softmax,softmax,softmax,softmax:window=3" },
        { "[[['local'],4]]", "softmax" },
        { "[[['global'],4]]", "softmax" }
    };

    for (int i = 0; i < COUNT(of); i++) {
        Made m = made_neo(of[i].list, of[i].types);
        Import in;
        Model got;

        write_folder(&m);
        import_open(&in, folder);
        import_fill(&in, &got, 0);
        const Text difference = model_difference(&got.config, &m.small->model.config);
        ck_assert_msg(difference.n == 0, "%s: %s", of[i].types, difference.at);
        ck_assert(same_parameters(&got, &m.small->model));
        import_close(&in), end(&m);
    }
}
END_TEST

START_TEST(kinds_of_layers_are_checked)
{
    static const char types[] =
        "null 4 [] [[[],4]] [[['global'],-4]] [[['global'],0.5]] [[['global']]] [['global',4]] "
        "[[['global',7],2]] [[['global','x'],2]] [[['global','local'],1]] [[['local'],5]]";
    char one[80];

    for (int at = 0, n; sscanf(types + at, "%79s%n", one, &n) == 1; at += n) {
        Made m = made_neo("softmax", one);

        write_folder(&m);
        check_refused(EXIT_DATA, "attention_types must say of each of the 4 layers");
        end(&m);
    }
}
END_TEST

/* Numbers of 16 bits as what they are. */
START_TEST(float16_and_bfloat16_are_converted_exactly)
{
    static const struct {
        uint16_t bits;
        double f16, bf16;
    } numbers[] = { { 0x3c00, 1, 0.0078125 },       { 0xc000, -2, -2 },
                    { 0x0001, 0x1p-24, 0x1p-133 },  { 0x83ff, -1023 * 0x1p-24, -0x1.7fcp-120 },
                    { 0x7bff, 65504, 0x1.dfep120 }, { 0x8000, -0.0, -0.0 },
                    { 0x0400, 0x1p-14, 0x1p-119 } };

    for (int half = 0; half < 2; half++) {
        Made m = made(0);
        Import in;
        Model got;
        uint16_t row[18] = { 0 };
        Entry *e = tensor(&m, "model.norm.weight");

        for (int i = 0; i < COUNT(numbers); i++)
            row[i] = numbers[i].bits;
        e->data = row, e->bytes = sizeof row, e->dtype = half ? DTYPE_BF16 : DTYPE_F16;
        write_folder(&m);
        import_open(&in, folder);
        import_fill(&in, &got, 0);
        for (int i = 0; i < COUNT(numbers); i++) {
            uint32_t bits = (uint32_t)numbers[i].bits << 16;
            float brain;

            memcpy(&brain, &bits, sizeof brain);
            ck_assert_double_eq((double)got.norm.gain->data[i],
                                half ? (double)brain : numbers[i].f16);
        }
        row[17] = half ? 0x7f80 : 0xfc00; /* infinite */
        write_folder(&m);
        check_refused(EXIT_DATA, "number 17 of model.norm.weight is not finite");
        import_close(&in), end(&m);
    }
}
END_TEST

static const char *const halves_of[] = { "a.safetensors", "b.safetensors" };

/* The first half of the tensors in a file, the rest in another, and an index of both. */
static void write_in_two(const Made *m, const char *first, const char *last)
{
    const int n = m->tensors.n, half = n / 2;
    FILE *out = fopen(in_folder("model.safetensors.index.json"), "w");

    fprintf(out, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\"%s\": \"%s\"", i ? ", " : "", m->tensors.entry[i].name,
                i < half ? first : last);
    fprintf(out, "}}");
    fclose(out);
    put(in_folder("config.json"), m->config, strlen(m->config));
    safetensors_write(in_folder(halves_of[0]),
                      (Contents){ .entry = m->tensors.entry, .entries = half });
    safetensors_write(in_folder(halves_of[1]),
                      (Contents){ .entry = m->tensors.entry + half, .entries = n - half });
}

START_TEST(the_tensors_may_be_in_several_files)
{
    Made m = made(3);
    Import in;
    Model got;

    write_in_two(&m, halves_of[0], halves_of[1]);
    import_open(&in, folder);
    import_fill(&in, &got, 0);
    check_same(&in, &got, &m);
    import_close(&in);
    write_in_two(&m, halves_of[1], halves_of[0]);
    check_refused(EXIT_DATA, "should be in");
    write_in_two(&m, halves_of[0], halves_of[0]);
    check_refused(EXIT_DATA, "should be in a.safetensors");
    write_in_two(&m, halves_of[0], "../b.safetensors");
    check_refused(EXIT_DATA, "is not the name of a file");
    write_in_two(&m, halves_of[0], "c.safetensors");
    check_refused(EXIT_IO, "c.safetensors");
    m.tensors.n--;
    write_in_two(&m, halves_of[0], halves_of[1]);
    const int half = m.tensors.n / 2;
    safetensors_write(in_folder(halves_of[1]), (Contents){ .entry = m.tensors.entry + half,
                                                           .entries = m.tensors.n + 1 - half });
    check_refused(EXIT_DATA, "names 19 tensors, but the files have 20");
    put(in_folder("model.safetensors.index.json"), "{}", 2);
    check_refused(EXIT_DATA, "no weight_map");
    end(&m);
}
END_TEST

/* What is changed in config.json of a model, and what the message must say. */
static const struct {
    int model;
    const char *from, *to, *words;
} faults[] = {
    { 0, "\"silu\"", "\"gelu\"", "hidden_act is gelu; attn.c's models have silu" },
    { 1, "\"gelu_new\"", "\"relu2\"", "hidden_act is relu2" },
    { 1, "\"hidden_act\"", "\"x\"", "has no hidden_act" },
    { 2, "\"gelu_new\"", "\"gelu\"", "activation_function is gelu" },
    { 0, "1e-5", "1e-3", "rms_norm_eps is 0.001; attn.c's models have one of 1e-5" },
    { 2, "1e-5", "\"1e-5\"", "layer_norm_epsilon is 1e-5;" },
    { 0, "\"rms_norm_eps\"", "\"x\"", "has no rms_norm_eps" },
    { 0, "\"default\"", "\"llama3\"", "rope_parameters has the type llama3" },
    { 0, "\"rope_theta\": 10000.0,", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2},",
      "rope_scaling has the type linear" },
    { 0, "\"rope_theta\": 10000.0,", "\"rope_scaling\": {\"factor\": 2},", "rope_scaling has" },
    { 0, "\"rope_theta\": 10000.0,", "\"rope_scaling\": 2,", "rope_scaling is 2" },
    { 0, "\"rope_theta\": 10000.0,", "\"rope_theta\": 500,", "rope_theta is 500, but 10000" },
    { 0,
      "\"rope_theta\": 10000.0,\n  \"rope_parameters\": {\"rope_type\": \"default\", "
      "\"rope_theta\": 10000.0}",
      "\"rope_theta\": 0", "rope_theta is 0, but must be a whole number from 1" },
    { 0, "10000.0}", "10000.0, \"partial_rotary_factor\": 0.5}", "partial_rotary_factor is 0.5" },
    { 0, "\"rope_theta\": 10000.0,", "\"partial_rotary_factor\": 0.5,",
      "partial_rotary_factor is 0.5" },
    { 0, "\"mlp_bias\"", "\"sliding_window\": 8, \"mlp_bias\"", "sliding_window is 8" },
    { 0, "\"mlp_bias\"", "\"rope_interleaved\": true, \"mlp_bias\"", "rope_interleaved is true" },
    { 0, "\"mlp_bias\": false", "\"mlp_bias\": 1", "mlp_bias is 1, but must be true or false" },
    { 0, "\"mlp_bias\": false", "\"mlp_bias\": true", "has no tensor model.layers.0.mlp.gate" },
    { 0, "\"head_dim\": 6", "\"head_dim\": 8", "head_dim is 8" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": 65537", "vocab_size is 65537" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": 257", "is [256,18], but by config.json it" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": -1", "vocab_size is -1, but must be" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": 1e300", "vocab_size is 1e+300, but" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": 256.5", "must be a whole number" },
    { 0, "\"vocab_size\": 256", "\"vocab_size\": null", "has no vocab_size" },
    { 0, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "a tensor model.layers.1" },
    { 0, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "no tensor model.layers.2" },
    { 0, "\"num_attention_heads\": 3", "\"num_attention_heads\": 0", "num_attention_heads is 0" },
    { 0, "\"num_attention_heads\": 3", "\"num_attention_heads\": 4", "do not divide a width" },
    { 2, "\"n_head\": 3", "\"n_head\": 4", "--n-head 4 does not divide" },
    { 2, "\"scale_attn_weights\": true", "\"scale_attn_weights\": false", "scale_attn_weights is" },
    { 2, "\"scale_attn_weights\"", "\"add_cross_attention\": true, \"scale_attn_weights\"",
      "add_cross_attention is true" },
    { 2, "\"scale_attn_weights\"",
      "\"scale_attn_by_inverse_layer_idx\": true, \"scale_attn_weights\"",
      "scale_attn_by_inverse_layer_idx is true" },
    { 2, "\"n_inner\": 72", "\"n_inner\": 71", "must be [18,71]" },
    { 0, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true",
      "is not the embedding" },
    { 3, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", "tensor lm_head" },
    { 0, "\"model_type\": \"llama\"", "\"model_type\": \"bert\"", "model_type is bert" },
    { 0, "\"model_type\": \"llama\"", "\"model_type\": 5", "has no model_type" },
    { 0, "\"LlamaForCausalLM\"", "\"LlamaForSequenceClassification\"", "architectures is Llama" },
    { 0, "\"mlp_bias\"", "\"quantization_config\": {}, \"mlp_bias\"", "quantization_config" },
    { 0, "{", "[", "" },
};

START_TEST(configurations_are_checked)
{
    Made m = made(faults[_i].model);

    change(&m, faults[_i].from, faults[_i].to);
    write_folder(&m);
    check_refused(EXIT_DATA, faults[_i].words);
    end(&m);
}
END_TEST

START_TEST(an_own_model_is_not_imported)
{
    Made m = made(0);

    change(&m, "\"model_type\": \"llama\"", "\"model_type\": \"attnc\"");
    write_folder(&m);
    check_refused(EXIT_USAGE, "use its run");
    end(&m);
}
END_TEST

START_TEST(tensors_are_checked_before_any_is_used)
{
    static const int64_t whole[18];
    static const char *const norm = "model.layers.1.input_layernorm.weight";
    Made m = made(0);
    Entry *e = tensor(&m, norm), was = *e;

    e->name = "model.layers.1.input_layernorm.bias";
    write_folder(&m);
    check_refused(EXIT_DATA, "has no tensor model.layers.1.input_layernorm.weight");
    *e = was, e->ndim = 2, e->dim[0] = 1, e->dim[1] = 18;
    write_folder(&m);
    check_refused(EXIT_DATA, "weight is [1,18], but by config.json it must be [18]");
    *e = (Entry){ norm, DTYPE_I64, 1, { 18 }, whole, sizeof whole };
    write_folder(&m);
    check_refused(EXIT_DATA, "is in I64; it must be F32, F16, BF16 or F64");
    *e = was;
    ((real *)(uintptr_t)e->data)[5] = R(NAN);
    write_folder(&m);
    check_refused(EXIT_DATA, "number 5 of model.layers.1.input_layernorm.weight is not finite");
    end(&m);
}
END_TEST

START_TEST(a_folder_that_lacks_files_is_refused)
{
    Made m = made(0);

    check_refused(EXIT_IO, "has no config.json: it is not a model that transformers saved");
    put(in_folder("config.json"), m.config, strlen(m.config));
    check_refused(EXIT_IO, "has no model.safetensors\n");
    put(in_folder("pytorch_model.bin"), "x", 1);
    check_refused(EXIT_IO, "but a pytorch_model.bin: load it with transformers");
    put(in_folder("model.safetensors"), "<html>", 6);
    check_refused(EXIT_DATA, "is not a safetensors file");
    check_dies(import_it, in_folder("config.json"), EXIT_IO, "is not a folder");
    end(&m);
}
END_TEST

Suite *suite_import(void)
{
    Suite *s = suite_create("import");
    TCase *t = with_folder(s, "what is imported");

    tcase_add_loop_test(t, an_exported_model_is_imported_bit_for_bit, 0, MODELS);
    tcase_add_test(t, the_end_of_text_is_a_token_of_the_vocabulary_or_there_is_none);
    tcase_add_test(t, old_files_have_other_names_and_buffers);
    tcase_add_test(t, a_shorter_context_cuts_the_learned_positions);
    tcase_add_test(t, heads_that_share_a_key_and_a_value_still_do);
    tcase_add_test(t, biases_that_are_missing_are_zeros);
    tcase_add_test(t, layers_of_gpt_neo_are_global_or_local);
    tcase_add_test(t, float16_and_bfloat16_are_converted_exactly);
    tcase_add_test(t, the_tensors_may_be_in_several_files);
    t = with_folder(s, "what is not");
    tcase_add_loop_test(t, configurations_are_checked, 0, COUNT(faults));
    tcase_add_test(t, kinds_of_layers_are_checked);
    tcase_add_test(t, an_own_model_is_not_imported);
    tcase_add_test(t, tensors_are_checked_before_any_is_used);
    tcase_add_test(t, a_folder_that_lacks_files_is_refused);
    return s;
}
