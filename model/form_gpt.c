/*
 * GPT2LMHeadModel (Radford et al., 2019) is our model with softmax, learned positions, LayerNorm
 * and GELU. It has biases everywhere; a model without them gets zeros. Its layers are y = x W + b,
 * with W (in, out) instead of (out, in), and q, k and v are one layer, concatenated:
 *
 *     c_attn.weight = ( W_q^T | W_k^T | W_v^T )        c_attn.bias = ( b_q | b_k | b_v )
 *
 * Its head h has columns h D to h D + D - 1 of each of the three, like ours.
 */
#include "model/form.h"

/* Concatenates n layers with equal outputs: the weights, and the biases or zeros. */
static void add_beside(FormTensors *to, const DenseWeights *d, int n, int l, const char *name)
{
    const int out = d->w->dim[0], in = d->w->dim[1], all = n * out;
    Tensor *w = tensor_new(to->mem, SHAPE(in, all)), *b = tensor_new(to->mem, SHAPE(all));

    for (int o = 0; o < all; o++) {
        const DenseWeights *part = &d[o / out];

        for (int i = 0; i < in; i++)
            w->data[(size_t)i * (size_t)all + (size_t)o] =
                part->w->data[(size_t)(o % out) * (size_t)in + (size_t)i];
        b->data[o] = part->b ? part->b->data[o % out] : 0;
    }
    form_add(to, w, "transformer.h.%d.%s.weight", l, name);
    form_add(to, b, "transformer.h.%d.%s.bias", l, name);
}

static void add_norm(FormTensors *to, NormWeights n, int l, const char *name)
{
    form_add(to, n.gain, "transformer.h.%d.%s.weight", l, name);
    form_add(to, n.bias, "transformer.h.%d.%s.bias", l, name);
}

static void gpt_tensors(const Model *model, FormTensors *to)
{
    form_add(to, model->embedding, "transformer.wte.weight");
    form_add(to, model->position, "transformer.wpe.weight");
    for (int l = 0; l < model->config.layers; l++) {
        const Block *b = &model->blocks[l];

        add_norm(to, b->attention_norm, l, "ln_1");
        add_beside(to, (const DenseWeights[]){ b->q, b->k, b->v }, 3, l, "attn.c_attn");
        add_beside(to, &b->o, 1, l, "attn.c_proj");
        add_norm(to, b->ffn_norm, l, "ln_2");
        add_beside(to, &b->up, 1, l, "mlp.c_fc");
        add_beside(to, &b->down, 1, l, "mlp.c_proj");
    }
    form_add(to, model->norm.gain, "transformer.ln_f.weight");
    form_add(to, model->norm.bias, "transformer.ln_f.bias");
    if (!model->config.tied)
        form_add(to, model->head, "lm_head.weight");
}

/* gelu_new is the tanh form. */
static void gpt_config(const Config *c, FILE *out)
{
    fprintf(out, ",\n  \"n_positions\": %d,\n  \"n_embd\": %d", c->context, c->width);
    fprintf(out, ",\n  \"n_layer\": %d,\n  \"n_head\": %d", c->layers, c->heads);
    fprintf(out, ",\n  \"n_inner\": %d,\n  \"activation_function\": \"gelu_new\"",
            config_hidden(c));
    fprintf(out, ",\n  \"layer_norm_epsilon\": %s,\n  \"scale_attn_weights\": true",
            eps_names[c->eps]);
    fprintf(out, ",\n  \"resid_pdrop\": 0.0,\n  \"embd_pdrop\": 0.0,\n  \"attn_pdrop\": 0.0");
}

const Form form_gpt = { .name = "gpt2",
                        .class_name = "GPT2LMHeadModel",
                        .position = POSITION_LEARNED,
                        .ffn = FFN_GELU,
                        .norm = NORM_LAYER,
                        .config = gpt_config,
                        .tensors = gpt_tensors };
