#include "model/layers.h"

#include <stdio.h>

const char *make_name(const Maker *m, const char *name, char buffer[PARAM_NAME])
{
    snprintf(buffer, PARAM_NAME, "%s%s", m->block, name);
    return buffer;
}

DenseWeights make_dense(const Maker *m, const char *name, int out, int in, double gain)
{
    char buffer[PARAM_NAME], bias[PARAM_NAME + 8];
    double std = gain / sqrt(3.0 * in);
    DenseWeights d = { NULL, NULL };

    d.w = params_normal(m->params, make_name(m, name, buffer), std, SHAPE(out, in));
    snprintf(bias, sizeof bias, "%s.bias", buffer);
    if (m->config->bias)
        d.b = params_constant(m->params, bias, 0, out);
    return d;
}

NormWeights make_norm(const Maker *m, const char *name)
{
    char buffer[PARAM_NAME], bias[PARAM_NAME + 8];
    NormWeights n = { NULL, NULL };

    n.gain = params_constant(m->params, make_name(m, name, buffer), 1, m->config->width);
    snprintf(bias, sizeof bias, "%s.bias", buffer);
    if (m->config->norm == NORM_LAYER)
        n.bias = params_constant(m->params, bias, 0, m->config->width);
    return n;
}

double make_add_gain(const Maker *m)
{
    return 1 / sqrt(2.0 * m->config->layers);
}

Tensor *pass_norm(Pass *p, Tensor *x, NormWeights n)
{
    return n.bias ? op_layernorm(p->tape, x, n.gain, n.bias) : op_rmsnorm(p->tape, x, n.gain);
}

Tensor *pass_dense(Pass *p, Tensor *x, DenseWeights d)
{
    return op_dense(p->tape, (Dense){ .x = x, .w = d.w, .b = d.b });
}

Tensor *pass_heads(Pass *p, Tensor *x, DenseWeights d)
{
    Tensor *y = pass_dense(p, x, d);

    return tensor_reshape(y, SHAPE(x->dim[0], x->dim[1], p->size.H, y->dim[2] / p->size.H));
}

Tensor *pass_drop(Pass *p, Tensor *x)
{
    uint64_t mask = p->step * 4096 + (uint64_t)p->drops++;

    if (p->config->dropout == 0 || p->tape->forward_only)
        return x;
    return op_dropout(p->tape, x, p->config->dropout, random_stream(0, RANDOM_DROPOUT, mask));
}

Tensor *pass_mix(Pass *p, Mix in)
{
    in.causal = p->size.causal;
    in.set = p->size.set;
    in.length = p->length;
    if (p->watch.see)
        p->watch.see(p->watch.ctx, &in);
    Tensor *o = p->decoder ? decoder_mix(p->decoder, &in)
                           : attention_mix(p->config->attention, p->tape, in);

    return tensor_reshape(o, SHAPE(o->dim[0], o->dim[1], o->dim[2] * o->dim[3]));
}

Tensor *pass_add(Pass *p, Tensor *x, Tensor *h, DenseWeights d, const Activation *f)
{
    Dense in = { .x = h, .w = d.w, .b = d.b, .f = f };

    if (p->config->dropout > 0 && !p->tape->forward_only)
        return op_add(p->tape, x, pass_drop(p, op_dense(p->tape, in)));
    in.r = x;
    return op_dense(p->tape, in);
}
