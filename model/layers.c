#include "model/layers.h"

#include <stdio.h>
#include <string.h>

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
    const Config *c = m->config;
    if (c->init_out == OUT_ZERO)
        return 0;
    return c->no_residual ? 1 : 1 / sqrt((double)config_additions(c));
}

Tensor *make_value_embed(const Maker *m, const char *name)
{
    const MixSize s = config_mix_size(m->config);
    char buffer[PARAM_NAME];

    if (!m->config->value_embedding)
        return NULL;
    return params_table(m->params, make_name(m, name, buffer), 0, m->config->vocab,
                        own_columns(m->config, &s, 'v'));
}

/* An operand shared by all heads exists once: the vectors, or all. */
static int shape_of(const Config *c, const Operand *o, int dim[4])
{
    const MixSize s = config_mix_size(c);
    const bool shared = attention_takes(c->attention, "share") &&
                        (setting_is(&c->set, "share", "heads") ||
                         (strlen(o->shape) < 3 && setting_is(&c->set, "share", "pools")));

    for (int d = 0; o->shape[d]; d++)
        dim[d] = operand_dimension(&s, o->shape[d]);
    dim[0] = shared ? 1 : dim[0];
    return (int)strlen(o->shape);
}

static Tensor *make_operand(const Maker *m, const Operand *o, const char *prefix)
{
    char own[PARAM_NAME], name[PARAM_NAME];
    int dim[4], ndim = shape_of(m->config, o, dim);
    Random random;

    snprintf(own, sizeof own, "%s%s", prefix, o->name);
    make_name(m, own, name);
    const double std = 1 / sqrt((double)dim[ndim - 1]);
    if (!o->draw)
        return ndim == 2 ? params_table(m->params, name, std, dim[0], dim[1])
                         : params_normal(m->params, name, std, ndim, dim);
    Tensor *x = (operand_learned(o, &m->config->set) ? params_drawn : params_fixed)(
        m->params, name, &random, ndim, dim);
    o->draw(x, random);
    return x;
}

void make_own(Tensor *own[OPERANDS_MAX], const Maker *m, const char *prefix)
{
    const Config *c = m->config;
    const Operand *o;

    for (int i = 0; (o = attention_operand(c->attention, i)); i++)
        if (*o->shape != 'B' && attention_needs(c->attention, &c->set, i))
            own[i] = make_operand(m, o, prefix);
}

static double matrix_numbers(const Config *c, const Operand *o)
{
    int dim[4], ndim = shape_of(c, o, dim);
    double n = 1;

    for (int d = 0; d < ndim; d++)
        n *= dim[d];
    return n;
}

double own_matrices(const Config *c)
{
    const Operand *o;
    double sum = 0;

    for (int i = 0; (o = attention_operand(c->attention, i)); i++)
        if (*o->shape != 'B' && strlen(o->shape) > 2 && operand_learned(o, &c->set) &&
            attention_needs(c->attention, &c->set, i))
            sum += matrix_numbers(c, o);
    return sum;
}

Tensor *pass_norm(Pass *p, Tensor *x, NormWeights n)
{
    const double eps = config_eps(p->config);

    return n.bias ? op_layernorm(p->tape, x, n.gain, n.bias, eps)
                  : op_rmsnorm(p->tape, x, n.gain, eps);
}

Tensor *pass_dense(Pass *p, Tensor *x, DenseWeights d)
{
    return op_dense(p->tape, (Dense){ .x = x, .w = d.w, .b = d.b });
}

Tensor *pass_value_embed(Pass *p, Tensor *v, Tensor *table)
{
    const Embedding of = { .table = table, .id = p->id, .B = v->dim[0], .T = v->dim[1] };

    return table ? op_add(p->tape, v, op_embedding(p->tape, of)) : v;
}

Tensor *pass_split(Pass *p, Tensor *x)
{
    return tensor_reshape(x, SHAPE(x->dim[0], x->dim[1], p->size.H, x->dim[2] / p->size.H));
}

Tensor *pass_drop(Pass *p, Tensor *x)
{
    uint64_t mask = p->step * 4096 + (uint64_t)p->drops++;

    if (p->config->dropout == 0 || p->tape->forward_only)
        return x;
    return op_dropout(p->tape, x, p->config->dropout, random_stream(0, RANDOM_DROPOUT, mask));
}

Mix pass_operands(const Pass *p)
{
    RopeScale scale = p->config->rope_scale;

    scale.base = p->config->rope_base;
    return (Mix){ .attention = p->config->attention,
                  .causal = p->size.causal,
                  .length = p->length,
                  .rope = p->size.rope,
                  .rope_scale = scale,
                  .group = p->size.group,
                  .layer = p->size.layer,
                  .layers = p->size.layers,
                  .set = p->size.set };
}

Tensor *pass_mix(Pass *p, const Mix *in)
{
    if (p->watch.see)
        p->watch.see(p->watch.ctx, in);
    Tensor *o = attention_mix(p->tape, in);

    return tensor_reshape(o, SHAPE(o->dim[0], o->dim[1], o->dim[2] * o->dim[3]));
}

Tensor *pass_onto(Pass *p, Tensor *x, Tensor *y)
{
    return p->config->no_residual ? y : op_add(p->tape, x, y);
}

Tensor *pass_add(Pass *p, Tensor *x, Tensor *h, DenseWeights d, const Activation *f)
{
    Dense in = { .x = h, .w = d.w, .b = d.b, .f = f };

    if (p->config->dropout > 0 && !p->tape->forward_only)
        return pass_onto(p, x, pass_drop(p, op_dense(p->tape, in)));
    in.r = p->config->no_residual ? NULL : x;
    return op_dense(p->tape, in);
}
