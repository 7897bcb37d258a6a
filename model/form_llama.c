/*
 * LlamaForCausalLM (Touvron et al., 2023, arXiv:2302.13971) is our model with softmax, RoPE,
 * RMSNorm and SwiGLU, with other names, and with other pairs in RoPE: we rotate neighbours of a
 * head, it rotates x_m with x_(m+D/2),
 *
 *     ours     (x_2m, x_2m+1)    by t * b^(-2m/D)
 *     Llama's  (x_m, x_m+D/2)    by the same
 *
 * q . k does not depend on the order of the entries, if it is the same in both. So the rows of W_q
 * and W_k, and their biases, are permuted within each head, and nothing else changes:
 *
 *     row 2m -> m        row 2m+1 -> D/2 + m
 *
 * With GELU, which has no gate, it is ArceeForCausalLM.
 */
#include "model/form.h"

#include <string.h>

/* Permutes the rows of each head of width D, as above. */
static const Tensor *halves(Arena *mem, const Tensor *x, int D)
{
    Tensor *y = tensor_new(mem, x->ndim, x->dim);
    const int rows = x->dim[0];
    const size_t row = x->n / (size_t)rows;

    for (int i = 0; i < rows; i++) {
        const int d = i % D, to = i - d + d / 2 + d % 2 * (D / 2);

        memcpy(y->data + (size_t)to * row, x->data + (size_t)i * row, row * sizeof(real));
    }
    return y;
}

/* Adds layer l's tensor of that name, and its bias, permuted in heads of width D unless D is 0. */
static void add_dense(FormTensors *to, DenseWeights d, int D, int l, const char *name)
{
    form_add(to, D ? halves(to->mem, d.w, D) : d.w, "model.layers.%d.%s.weight", l, name);
    if (d.b)
        form_add(to, D ? halves(to->mem, d.b, D) : d.b, "model.layers.%d.%s.bias", l, name);
}

static void llama_tensors(const Model *model, FormTensors *to)
{
    const int D = config_mix_size(&model->config).D;

    form_add(to, model->embedding, "model.embed_tokens.weight");
    for (int l = 0; l < model->config.layers; l++) {
        const Block *b = &model->blocks[l];

        form_add(to, b->attention_norm.gain, "model.layers.%d.input_layernorm.weight", l);
        add_dense(to, b->q, D, l, "self_attn.q_proj");
        add_dense(to, b->k, D, l, "self_attn.k_proj");
        add_dense(to, b->v, 0, l, "self_attn.v_proj");
        add_dense(to, b->o, 0, l, "self_attn.o_proj");
        form_add(to, b->ffn_norm.gain, "model.layers.%d.post_attention_layernorm.weight", l);
        if (b->gate.w)
            add_dense(to, b->gate, 0, l, "mlp.gate_proj");
        add_dense(to, b->up, 0, l, "mlp.up_proj");
        add_dense(to, b->down, 0, l, "mlp.down_proj");
    }
    form_add(to, model->norm.gain, "model.norm.weight");
    if (!model->config.tied)
        form_add(to, model->head, "lm_head.weight");
}

/* The base of RoPE under its old name and its name in transformers 5. */
static void llama_config(const Config *c, FILE *out)
{
    const char *bias = c->bias ? "true" : "false";
    const int base = c->rope_base ? c->rope_base : 10000;

    fprintf(out, ",\n  \"hidden_size\": %d,\n  \"intermediate_size\": %d", c->width,
            config_hidden(c));
    fprintf(out, ",\n  \"num_hidden_layers\": %d,\n  \"num_attention_heads\": %d", c->layers,
            c->heads);
    fprintf(out, ",\n  \"num_key_value_heads\": %d,\n  \"head_dim\": %d",
            c->kv_heads ? c->kv_heads : c->heads, config_mix_size(c).D);
    fprintf(out, ",\n  \"max_position_embeddings\": %d,\n  \"rms_norm_eps\": %s", c->context,
            eps_names[c->eps]);
    fprintf(out, ",\n  \"hidden_act\": \"%s\"", c->ffn == FFN_SWIGLU ? "silu" : "gelu_new");
    fprintf(out, ",\n  \"attention_bias\": %s,\n  \"mlp_bias\": %s", bias, bias);
    fprintf(out, ",\n  \"rope_theta\": %d.0", base);
    fprintf(out, ",\n  \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": %d.0}",
            base);
}

const Form form_llama = { .name = "llama",
                          .class_name = "LlamaForCausalLM",
                          .position = POSITION_ROPE,
                          .ffn = FFN_SWIGLU,
                          .norm = NORM_RMS,
                          .groups = true,
                          .config = llama_config,
                          .tensors = llama_tensors };

const Form form_arcee = { .name = "arcee",
                          .class_name = "ArceeForCausalLM",
                          .position = POSITION_ROPE,
                          .ffn = FFN_GELU,
                          .norm = NORM_RMS,
                          .groups = true,
                          .config = llama_config,
                          .tensors = llama_tensors };
