/*
 * The classes that are models of ours, as model/form_llama.c and model/form_gpt.c derive, read
 * instead of written; and GPTNeoForCausalLM (Black et al., 2021), which is GPT-2's but for its
 * attention: q, k and v have no biases; scores are not divided by sqrt(D), so our W_q is
 * theirs times sqrt(D); and layers are global or local. A position of a local layer sees the
 * window_size latest positions, itself among them, so that our window is one less.
 */
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "tools/import/import.h"

#include <math.h>
#include <string.h>

enum { LAYERS_MOST = 1000 };

/* Their layer l, and ours, of a name with both. */
typedef struct {
    Import *in;
    const char *prefix; /* "transformer." or nothing */
    int l;
} At;

/* Takes a tensor of the layer, whose names are completed. */
static void take(const At *at, const char *theirs, const char *ours, Taken t)
{
    const Text from = text_format("%s.%d.%s", at->prefix, at->l, theirs);
    const Text to = text_format("blocks.%d.%s", at->l, ours);

    t.theirs = from.at, t.ours = to.at;
    import_take(at->in, &t);
}

/* The weight of a layer, and its bias if it is to have one. */
static void take_dense(const At *at, const char *theirs, const char *ours, bool bias, Taken t)
{
    take(at, text_format("%s.weight", theirs).at, ours, t);
    t.in = 0;
    if (bias)
        take(at, text_format("%s.bias", theirs).at, text_format("%s.bias", ours).at, t);
}

static void take_norm(const At *at, const char *theirs, const char *ours)
{
    const Config *c = &at->in->config;

    take_dense(at, theirs, ours, c->norm == NORM_LAYER, (Taken){ .out = c->width });
}

static void take_outer(Import *in, const char *theirs, const char *ours, int out, int cols)
{
    import_take(in, &(Taken){ .theirs = theirs, .ours = ours, .out = out, .in = cols });
}

static void llama_layer(const At *at, bool attention_bias, bool mlp_bias)
{
    Import *in = at->in;
    const Config *c = &in->config;
    const int C = c->width, F = config_hidden(c), D = C / c->heads;
    const Taken query = { .out = C, .in = C, .D = D };
    const Taken value = { .out = c->kv_heads ? c->kv_heads * D : C, .in = C };
    Taken key = value;

    key.D = D;
    take_norm(at, "input_layernorm", "attn.norm");
    take_dense(at, "self_attn.q_proj", "attn.wq", attention_bias, query);
    take_dense(at, "self_attn.k_proj", "attn.wk", attention_bias, key);
    take_dense(at, "self_attn.v_proj", "attn.wv", attention_bias, value);
    take_dense(at, "self_attn.o_proj", "attn.wo", attention_bias, (Taken){ .out = C, .in = C });
    take_norm(at, "post_attention_layernorm", "ffn.norm");
    if (c->ffn == FFN_SWIGLU)
        take_dense(at, "mlp.gate_proj", "ffn.gate", mlp_bias, (Taken){ .out = F, .in = C });
    take_dense(at, "mlp.up_proj", "ffn.up", mlp_bias, (Taken){ .out = F, .in = C });
    take_dense(at, "mlp.down_proj", "ffn.down", mlp_bias, (Taken){ .out = C, .in = F });
}

static void llama_tensors(Import *in)
{
    const Config *c = &in->config;
    const bool bias[] = { key_flag(in, "attention_bias", false), key_flag(in, "mlp_bias", false) };

    take_outer(in, "model.embed_tokens.weight", "embed", c->vocab, c->width);
    for (int l = 0; l < c->layers; l++)
        llama_layer(&(At){ in, "model.layers", l }, bias[0], bias[1]);
    take_outer(in, "model.norm.weight", "norm", c->width, 0);
    if (!c->tied)
        take_outer(in, "lm_head.weight", "head", c->vocab, c->width);
}

static void rope_config(Import *in)
{
    Config *c = &in->config;
    const int heads = key_number(in, "num_attention_heads", 1, 1 << 14);
    const int keys = key_number_or(in, "num_key_value_heads", 1, 1 << 14, heads);

    c->layers = key_number(in, "num_hidden_layers", 1, LAYERS_MOST);
    c->width = key_number(in, "hidden_size", 1, 1 << 14);
    c->hidden = key_number(in, "intermediate_size", 1, INNER_MOST);
    c->context = key_number(in, "max_position_embeddings", 1, 1 << 24);
    c->heads = heads, c->kv_heads = keys < heads ? keys : 0;
    if (heads % keys != 0 || c->width % heads != 0)
        die(EXIT_DATA, "%.180s: %d heads with %d keys do not divide a width of %d", in->path, heads,
            keys, c->width);
    if (key_number_or(in, "head_dim", 1, 1 << 14, c->width / heads) != c->width / heads)
        die(EXIT_DATA, "%.180s: head_dim is %d; attn.c's models have hidden_size / heads, %d",
            in->path, key_number(in, "head_dim", 1, 1 << 14), c->width / heads);
    key_must_be(in, "sliding_window", "none", NULL);
    key_must_be(in, "rope_interleaved", "false", NULL);
    c->eps = key_eps(in, "rms_norm_eps");
    c->rope_base = key_rope_base(in);
    c->tied = key_flag(in, "tie_word_embeddings", false);
    c->bias = key_flag(in, "attention_bias", false) || key_flag(in, "mlp_bias", false);
    c->position = POSITION_ROPE, c->norm = NORM_RMS;
}

static void llama_config(Import *in)
{
    rope_config(in);
    key_must_be(in, "hidden_act", "silu", "swish");
    in->config.ffn = FFN_SWIGLU;
}

/* Its own activation, relu2, is none of ours. */
static void arcee_config(Import *in)
{
    rope_config(in);
    if (!json_find(in->json, "hidden_act"))
        die(EXIT_DATA, "%.180s has no hidden_act", in->path);
    key_must_be(in, "hidden_act", "gelu_new", "gelu_pytorch_tanh");
    in->config.ffn = FFN_GELU;
}

static void gpt_layer(const At *at)
{
    const Config *c = &at->in->config;
    const int C = c->width, F = config_hidden(c);
    Taken third = { .out = C, .in = C, .all = 3 * C };

    take_norm(at, "ln_1", "attn.norm");
    take_dense(at, "attn.c_attn", "attn.wq", true, third);
    third.from = C;
    take_dense(at, "attn.c_attn", "attn.wk", true, third);
    third.from = 2 * C;
    take_dense(at, "attn.c_attn", "attn.wv", true, third);
    take_dense(at, "attn.c_proj", "attn.wo", true, (Taken){ .out = C, .in = C, .all = C });
    take_norm(at, "ln_2", "ffn.norm");
    take_dense(at, "mlp.c_fc", "ffn.up", true, (Taken){ .out = F, .in = C, .all = F });
    take_dense(at, "mlp.c_proj", "ffn.down", true, (Taken){ .out = C, .in = F, .all = C });
}

static void neo_layer(const At *at)
{
    const Config *c = &at->in->config;
    const int C = c->width, F = config_hidden(c);
    const Taken square = { .out = C, .in = C };
    Taken query = square;

    query.times = sqrt((double)C / c->heads);
    take_norm(at, "ln_1", "attn.norm");
    take_dense(at, "attn.attention.q_proj", "attn.wq", false, query);
    take_dense(at, "attn.attention.k_proj", "attn.wk", false, square);
    take_dense(at, "attn.attention.v_proj", "attn.wv", false, square);
    take_dense(at, "attn.attention.out_proj", "attn.wo", true, square);
    take_norm(at, "ln_2", "ffn.norm");
    take_dense(at, "mlp.c_fc", "ffn.up", true, (Taken){ .out = F, .in = C });
    take_dense(at, "mlp.c_proj", "ffn.down", true, (Taken){ .out = C, .in = F });
}

/* GPT2Model saves the names without "transformer.", and so do the first files of GPT-2. */
static void gpt_all(Import *in, void (*layer)(const At *at))
{
    const Config *c = &in->config;
    const bool whole = !import_has_tensor(&in->weights, "wte.weight");
    const char *const outer[][2] = { { "wte.weight", "transformer.wte.weight" },
                                     { "wpe.weight", "transformer.wpe.weight" },
                                     { "ln_f.weight", "transformer.ln_f.weight" },
                                     { "ln_f.bias", "transformer.ln_f.bias" } };

    take_outer(in, outer[0][whole], "embed", c->vocab, c->width);
    take_outer(in, outer[1][whole], "position", c->context, c->width);
    for (int l = 0; l < c->layers; l++)
        layer(&(At){ in, whole ? "transformer.h" : "h", l });
    take_outer(in, outer[2][whole], "norm", c->width, 0);
    take_outer(in, outer[3][whole], "norm.bias", c->width, 0);
    if (!c->tied)
        take_outer(in, "lm_head.weight", "head", c->vocab, c->width);
}

static void gpt_tensors(Import *in)
{
    gpt_all(in, gpt_layer);
}

static void neo_tensors(Import *in)
{
    gpt_all(in, neo_layer);
}

static void gpt_common(Import *in)
{
    Config *c = &in->config;

    key_must_be(in, "activation_function", "gelu_new", "gelu_pytorch_tanh");
    c->eps = key_eps(in, "layer_norm_epsilon");
    c->tied = key_flag(in, "tie_word_embeddings", true);
    c->bias = true;
    c->position = POSITION_LEARNED, c->norm = NORM_LAYER, c->ffn = FFN_GELU;
}

static void gpt_config(Import *in)
{
    Config *c = &in->config;

    c->layers = key_number(in, "n_layer", 1, LAYERS_MOST);
    c->heads = key_number(in, "n_head", 1, 1 << 14);
    c->width = key_number(in, "n_embd", 1, 1 << 14);
    c->context = key_number(in, "n_positions", 1, 1 << 24);
    c->hidden = key_number_or(in, "n_inner", 1, INNER_MOST, 0);
    key_must_be(in, "scale_attn_weights", "true", NULL);
    key_must_be(in, "scale_attn_by_inverse_layer_idx", "false", NULL);
    key_must_be(in, "add_cross_attention", "false", NULL);
    gpt_common(in);
}

/* Of layer l by attention_types, such as [[["global", "local"], 4]]; NULL: it does not say. */
static const char *kind_of_layer(const Json *types, int l)
{
    for (const Json *part = types ? types->first : NULL; part; part = part->next) {
        const Json *kind = part->first, *times = kind ? kind->next : NULL;

        if (!times || !times->digits || kind->count == 0)
            return NULL;
        const double layers = times->number * kind->count;
        if (l >= layers) {
            l -= (int)layers;
            continue;
        }
        const int turn = l % kind->count;
        kind = kind->first;
        for (int i = 0; i < turn; i++)
            kind = kind->next;
        return kind->string;
    }
    return NULL;
}

/* Whether each layer is local. */
static void read_kinds(const Import *in, bool *local)
{
    const Json *types = json_find(in->json, "attention_types");
    const int layers = in->config.layers;
    bool all = !kind_of_layer(types, layers);

    for (int l = 0; l < layers; l++) {
        const char *kind = kind_of_layer(types, l);

        local[l] = kind && strcmp(kind, "local") == 0;
        all = all && (local[l] || (kind && strcmp(kind, "global") == 0));
    }
    if (!all)
        die(EXIT_DATA,
            "%.180s: attention_types must say of each of the %d layers whether it is global or "
            "local",
            in->path, layers);
}

static bool repeats_after(int n, const bool *local, int layers)
{
    for (int l = n; l < layers; l++)
        if (local[l] != local[l - n])
            return false;
    return true;
}

static void neo_windows(Import *in)
{
    Config *c = &in->config;
    Mechanism list[MECHANISMS_MOST];
    bool local[LAYERS_MOST] = { false };
    int n = 1;
    const int window = key_number_or(in, "window_size", 2, 1 << 24, 256) - 1;

    read_kinds(in, local);
    while (!repeats_after(n, local, c->layers))
        n++;
    if (n > MECHANISMS_MOST)
        die(EXIT_DATA,
            "%.180s: attention_types repeats after %d layers; attn.c's models do after %d at most",
            in->path, n, MECHANISMS_MOST);
    for (int i = 0; i < n; i++) {
        list[i] = (Mechanism){ c->attention, c->set };
        if (local[i])
            *setting_at(&list[i].set, "window") = window;
    }
    config_arrange(c, list, n);
}

static void neo_config(Import *in)
{
    Config *c = &in->config;

    c->layers = key_number(in, "num_layers", 1, LAYERS_MOST);
    c->heads = key_number(in, "num_heads", 1, 1 << 14);
    c->width = key_number(in, "hidden_size", 1, 1 << 14);
    c->context = key_number(in, "max_position_embeddings", 1, 1 << 24);
    c->hidden = key_number_or(in, "intermediate_size", 1, INNER_MOST, 0);
    gpt_common(in);
    neo_windows(in);
}

static const Class class_llama = { "llama", "LlamaForCausalLM", "LlamaForCausalLM", llama_config,
                                   llama_tensors };
static const Class class_arcee = { "arcee", "ArceeForCausalLM", "ArceeForCausalLM", arcee_config,
                                   llama_tensors };
static const Class class_gpt2 = { "gpt2", "GPT2LMHeadModel", "GPT2Model", gpt_config, gpt_tensors };
static const Class class_neo = { "gpt_neo", "GPTNeoForCausalLM", "GPTNeoModel", neo_config,
                                 neo_tensors };

static const Class *const classes[] = { &class_llama, &class_arcee, &class_gpt2, &class_neo, NULL };

const Class *import_class(const Import *in)
{
    const char *type = json_string(in->json, "model_type");
    const Json *names = json_find(in->json, "architectures");
    const char *name =
        names && names->kind == JSON_ARRAY && names->first ? names->first->string : NULL;

    if (!type)
        die(EXIT_DATA, "%.180s has no model_type%s", in->path,
            json_find(in->json, "attn") ? ": it is that of a run, which needs no import" : "");
    if (strcmp(type, "attnc") == 0)
        die(EXIT_USAGE, "%.180s is a model that ./export wrote with its own class: use its run",
            in->dir);
    for (int i = 0; classes[i]; i++)
        if (strcmp(classes[i]->type, type) == 0) {
            if (name && strcmp(name, classes[i]->class_name) != 0 &&
                strcmp(name, classes[i]->also) != 0)
                die(EXIT_DATA, "%.180s: architectures is %.60s; %s can be imported", in->path, name,
                    classes[i]->class_name);
            return classes[i];
        }
    die(EXIT_DATA, "%.180s: model_type is %.60s; llama, gpt2, gpt_neo and arcee can be imported",
        in->path, type);
}
