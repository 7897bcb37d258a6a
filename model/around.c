/*
 * What surrounds a mix: a short convolution and a norm of its inputs, and operands such as the rate
 * at which a state fades, which a layer computes from its normed input h.
 *
 *     x <- silu(conv(x))                   --conv K, of q, k and v, column by column; ops/conv.c
 *     q, k <- silu(q), silu(k)             SILU_QK
 *     q, k <- q / |q|, k / |k|             --qk-norm l2, in each head
 *     q, k <- rmsnorm(q), rmsnorm(k)       --qk-norm rms, with gains that all heads share
 *     q <- q / sqrt(D)                     QUERIES_SCALED
 *     g <- s f(h W^T + b)                  Operand.from; ops/gate.c; of length 1, or times another
 *     v <- f(h W^T + b) v                  Projection.step; ops/scale_rows.c
 *
 * With --n-kv-head, k and v have the columns of fewer heads until they are repeated for the heads
 * of each group; with --share-keys, q and k have those of one.
 */
#include "model/layers.h"

#include <stdio.h>
#include <string.h>

#define L2_EPS 1e-6

/* A parameter of a name in two parts: a matrix, or without columns zeros. */
static Tensor *make(const Maker *m, Text name, double std, int rows, int columns)
{
    char buffer[PARAM_NAME];

    make_name(m, name.at, buffer);
    return columns ? params_normal(m->params, buffer, std, SHAPE(rows, columns))
                   : params_constant(m->params, buffer, 0, rows);
}

static Tensor *make_vector(const Maker *m, Text name, int n, void (*draw)(Tensor *b, Random random))
{
    char buffer[PARAM_NAME];
    Random random;

    if (!draw)
        return make(m, name, 0, n, 0);
    Tensor *x = params_drawn(m->params, make_name(m, name.at, buffer), &random, SHAPE(n));
    draw(x, random);
    return x;
}

/* The columns of an operand with positions. */
static int columns_of(const MixSize *s, const Operand *o)
{
    int n = 1;

    for (const char *letter = o->shape + 2; *letter; letter++)
        n *= operand_dimension(s, *letter);
    return n;
}

/* Operand i, if the layer computes it; or NULL. */
static const Operand *computed_operand(const Config *c, int i)
{
    const Operand *o = attention_operand(c->attention, i);

    return o->from && attention_needs(c->attention, &c->set, i) ? o : NULL;
}

static Computed make_computed(const Maker *m, const char *prefix, const Operand *o, int columns)
{
    const Projection *from = o->from;
    const int width = m->config->width, inputs = from->rank ? from->rank : width;
    const Text name = text_format("%s%s", prefix, o->name);
    Computed c = { 0 };

    if (from->rank)
        c.w1 = make(m, text_format("%s.w1", name.at), 1 / sqrt(3.0 * width), from->rank, width);
    c.w = make(m, text_format(from->rank ? "%s.w2" : "%s.w", name.at), 1 / sqrt(3.0 * inputs),
               columns, inputs);
    c.b = make_vector(m, text_format("%s.b", name.at), columns, from->draw);
    if (from->rate)
        c.A = make_vector(m, text_format("%s.A", name.at), columns, from->draw_rate);
    return c;
}

/* A weight of a convolution starts with variance 1 / (3 K), like that of a dense layer. */
void make_around(Around *a, const Maker *m, const char *prefix, const char *conv)
{
    const Config *c = m->config;
    const MixSize s = config_mix_size(c);
    const int K = setting(&c->set, "conv");
    const Operand *o;
    char buffer[PARAM_NAME];

    for (int i = 0; K && conv[i]; i++)
        a->conv[i] = params_normal(
            m->params, make_name(m, text_format("%sconv_%c", prefix, conv[i]).at, buffer),
            1 / sqrt(3.0 * K), SHAPE(K * own_columns(c, &s, conv[i])));
    for (int i = 0; setting_is(&c->set, "qk-norm", "rms") && i < 2; i++)
        a->gain[i] = params_constant(
            m->params, make_name(m, text_format("%s%c_norm", prefix, "qk"[i]).at, buffer), 1, s.D);
    for (int i = 0; attention_operand(c->attention, i); i++)
        if ((o = computed_operand(c, i)))
            a->computed[i] = make_computed(m, prefix, o, columns_of(&s, o));
}

double around_matrices(const Config *c, const MixSize *s)
{
    const Operand *o;
    double sum = 0;

    for (int i = 0; attention_operand(c->attention, i); i++)
        if ((o = computed_operand(c, i))) {
            const double n = columns_of(s, o), rank = o->from->rank;

            sum += rank > 0 ? rank * (c->width + n) : c->width * n;
        }
    return sum;
}

/* A convolution and silu of it; what is repeated; q and k normed, with a number per row, and q
 * scaled; operands. */
double around_kept(const Config *c, const MixSize *s, const char *conv)
{
    const Operand *o;
    double sum = 0;

    for (int i = 0; setting(&c->set, "conv") && conv[i]; i++)
        sum += (has_flag(c, "conv-silu") ? 2.0 : 1.0) * own_columns(c, s, conv[i]);
    for (int i = 0; conv[i]; i++)
        if (own_heads(c, s, conv[i]) < s->H)
            sum += s->H * (conv[i] == 'v' ? s->E : s->D);
    if (setting(&c->set, "qk-norm"))
        sum += 2.0 * s->H * (s->D + 2);
    if (attention_traits(c->attention, &c->set) & SILU_QK)
        sum += 2.0 * s->H * s->D;
    if (attention_traits(c->attention, &c->set) & QUERIES_SCALED)
        sum += s->H * s->D;
    for (int i = 0; attention_operand(c->attention, i); i++)
        if ((o = computed_operand(c, i)))
            sum += o->from->rank + (o->unit ? 3 : 2) * (double)columns_of(s, o) +
                   (o->unit ? s->H : 0) + (o->from->step ? columns_of(s, o) + s->H * s->E : 0);
    return sum;
}

Tensor *pass_conv(Pass *p, Tensor *x, Tensor *w)
{
    return w ? op_conv(p->tape, (Conv){ .x = x,
                                        .w = w,
                                        .K = setting(&p->size.set, "conv"),
                                        .length = p->length,
                                        .causal = p->size.causal })
             : x;
}

static Tensor *filtered(Pass *p, Tensor *x, Tensor *w)
{
    x = pass_conv(p, x, w);
    if (w && setting(&p->size.set, "conv-silu"))
        x = op_activation(p->tape, x, &activation_silu);
    return x;
}

Tensor *pass_input(Pass *p, Tensor *x, Tensor *w, int heads)
{
    const int B = x->dim[0], T = x->dim[1], H = p->size.H, D = x->dim[2] / heads;

    x = filtered(p, x, w);
    if (heads < H)
        x = op_repeat(p->tape, tensor_reshape(x, SHAPE(B, T, heads, D)), 1, H / heads);
    return tensor_reshape(x, SHAPE(B, T, H, D));
}

static Tensor *normed(Pass *p, Tensor *x, Tensor *gain)
{
    return gain ? op_rmsnorm(p->tape, x, gain, NORM_EPS) : op_l2norm(p->tape, x, L2_EPS);
}

/* s f(x); f(x) may multiply v, which then is a node of its own. */
static Tensor *gated(Pass *p, const Computed *c, Tensor *x, const Projection *from, Mix *in)
{
    const double by = from->by == 0 ? 1 : from->by;
    Gate gate = { .x = x, .A = c->A, .f = from->f };

    if (from->step) {
        gate.x = op_activation(p->tape, x, from->f), gate.f = NULL;
        in->v = op_scale_rows(p->tape, in->v, gate.x);
    }
    gate.by = from->twice && setting(&p->size.set, from->twice) ? 2 * by : by;
    return op_gate(p->tape, gate);
}

static Tensor *compute(Pass *p, const Computed *c, Tensor *h, const Operand *o, Mix *in)
{
    const Projection *from = o->from;
    int dim[4] = { h->dim[0], h->dim[1] }, ndim = (int)strlen(o->shape);

    if (c->w1)
        h = op_dense(p->tape, (Dense){ .x = h, .w = c->w1 });
    Tensor *x = op_dense(p->tape, (Dense){ .x = h, .w = c->w, .b = c->b });
    x = gated(p, c, x, from, in);
    for (int d = 2; d < ndim; d++)
        dim[d] = operand_dimension(&p->size, o->shape[d]);
    x = tensor_reshape(x, ndim, dim);
    if (from->times)
        return op_multiply(p->tape, x, mix_tensor(in, from->times));
    return o->unit ? normed(p, x, NULL) : x;
}

/* Unless it has been applied after a convolution. */
static bool applies_silu(const Pass *p, const Around *a)
{
    const bool done = a->conv[0] && setting(&p->size.set, "conv-silu");

    return attention_traits(p->size.attention, &p->size.set) & SILU_QK && !done;
}

void pass_around(Pass *p, const Around *a, Tensor *h, Mix *in)
{
    if (applies_silu(p, a)) {
        in->q = op_activation(p->tape, in->q, &activation_silu);
        in->k = op_activation(p->tape, in->k, &activation_silu);
    }
    if (setting(&p->size.set, "qk-norm")) {
        in->q = normed(p, in->q, a->gain[0]);
        in->k = normed(p, in->k, a->gain[1]);
    }
    if (attention_traits(in->attention, &in->set) & QUERIES_SCALED)
        in->q = op_gate(p->tape, (Gate){ .x = in->q, .by = 1 / sqrt((double)p->size.D) });
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (a->computed[i].w)
            in->x[i] = compute(p, &a->computed[i], h, attention_operand(in->attention, i), in);
}
