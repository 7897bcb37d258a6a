/*
 * The gated attention unit (Hua et al., 2022, arXiv:2202.10447): attention and
 * feed-forward layer in one. With h = norm(x) and twice the width inside,
 *
 *     u, v, z = silu(h W_u^T), silu(h W_v^T), silu(h W_z^T)
 *     q, k    = gamma_q z + beta_q, gamma_k z + beta_k          FLASH: ql and kl too
 *     y       = x + (u mix(q, k, v)) W_o^T
 *
 * With --conv K, W_v and W_z are followed by a short convolution (model/around.c); with
 * --value-embedding, h W_v^T has the token's row of a table added to it.
 * q, k and v are split into heads, each with gammas and betas of its own; by default there is one.
 * Two units replace one attention layer and one feed-forward layer.
 * silu(a) b is op_swiglu(), so u is never stored. Without the gate, u is 1.
 *
 * z starts with numbers of about 0.3. With gammas of standard deviation 3 (--gamma-init) the scores
 * q.k / sqrt(s) start near 1 and differ from key to key, so their squares have a slope;
 * with the paper's 0.02 they start at 1e-5 and learn slowly. With all gammas 1, as in
 * bert4keras, q and k start equal, and each position attends to itself.
 */
#include "model/layers.h"

#include <stdio.h>
#include <string.h>

enum { KEY_SIZE = 128 }; /* of all heads */

static ScaleWeights make_scale(const Maker *m, const char *of, int n)
{
    const double std = m->config->gamma_init;
    char gamma[32], beta[32], buffer[PARAM_NAME];
    ScaleWeights s;

    snprintf(gamma, sizeof gamma, "gamma_%s", of);
    snprintf(beta, sizeof beta, "beta_%s", of);
    make_name(m, gamma, buffer);
    if (std < 0)
        s.gamma = params_constant(m->params, buffer, 1, n);
    else
        s.gamma = params_normal(m->params, buffer, std > 0 ? std : GAMMA, SHAPE(n));
    s.beta = params_constant(m->params, make_name(m, beta, buffer), 0, n);
    return s;
}

/* The operands computed from z: all that are as wide as q. */
static bool is_of_z(const Operand *o)
{
    return strcmp(o->shape, "BNHd") == 0;
}

static void make_unit(Unit *u, const Maker *m)
{
    const Attention *a = m->config->attention;
    MixSize s = config_mix_size(m->config);
    int width = m->config->width;
    const Operand *o;

    u->norm = make_norm(m, "norm");
    if (setting(&m->config->set, "gate"))
        u->u = make_dense(m, "wu", s.H * s.E, width, 1);
    u->v = make_dense(m, "wv", s.H * s.E, width, 1);
    u->value_embed = make_value_embed(m, "value_embed");
    u->z = make_dense(m, "wz", s.H * s.D, width, 1);
    for (int i = 0; (o = attention_operand(a, i)); i++)
        if (is_of_z(o))
            u->scale[i] = make_scale(m, o->name, s.H * s.D);
    make_own(u->own, m, "");
    make_around(&u->around, m, "", "zv");
    u->o = make_dense(m, "wo", width, s.H * s.E, make_add_gain(m));
}

static void gated_make(Block *b, const Maker *m)
{
    static const char *const name[2] = { "first.", "second." };

    for (int i = 0; i < 2; i++) {
        char block[PARAM_NAME];
        Maker of = *m;

        of.block = make_name(m, name[i], block);
        make_unit(&b->unit[i], &of);
    }
}

/* silu(conv(x)) */
static Tensor *activated(Pass *p, Tensor *x, Tensor *conv)
{
    return op_activation(p->tape, pass_conv(p, x, conv), &activation_silu);
}

/* gamma z + beta, in heads */
static Tensor *scaled(Pass *p, Tensor *z, ScaleWeights s)
{
    return pass_split(p, op_scale_offset(p->tape, z, s.gamma, s.beta));
}

static Tensor *run_unit(Pass *p, const Unit *u, Tensor *x)
{
    Tensor *h = pass_norm(p, x, u->norm);
    Tensor *z = activated(p, pass_dense(p, h, u->z), u->around.conv[0]);
    Tensor *v = pass_value_embed(p, pass_dense(p, h, u->v), u->value_embed);
    Mix in = pass_operands(p);

    for (int i = 0; i < OPERANDS_MAX; i++)
        in.x[i] = u->scale[i].gamma ? scaled(p, z, u->scale[i]) : u->own[i];
    in.v = pass_split(p, activated(p, v, u->around.conv[1]));
    pass_around(p, &u->around, h, &in);
    Tensor *o = pass_mix(p, &in);
    if (u->u.w)
        o = op_swiglu(p->tape, pass_dense(p, h, u->u), o);
    return pass_add(p, x, o, u->o, NULL);
}

static Tensor *gated_run(Pass *p, const Block *b, Tensor *x)
{
    return run_unit(p, &b->unit[1], run_unit(p, &b->unit[0], x));
}

static void gated_size(const Config *c, MixSize *s)
{
    s->H = c->heads;
    s->E = 2 * c->width / c->heads;
    s->D = c->heads < KEY_SIZE / 2 ? KEY_SIZE / 2 / c->heads * 2 : 2; /* even, for RoPE */
}

static double gated_projections(const Config *c, const MixSize *s)
{
    return (double)c->width * s->H * (s->D + (setting(&c->set, "gate") ? 3 : 2) * s->E) +
           around_matrices(c, s);
}

static double gated_parameters(const Config *c, const MixSize *s)
{
    return 2.0 * c->layers * gated_projections(c, s);
}

/* The numbers of all operands that are made of z, per position and head. */
static double of_z(const Config *c, const MixSize *s)
{
    const Operand *o;
    double sum = 0;

    for (int i = 0; (o = attention_operand(c->attention, i)); i++)
        sum += is_of_z(o) ? s->D : 0;
    return sum;
}

/* Per unit: norm, z (two) and its operands, v (two), o, u and the gated o; and one sum. */
static double gated_kept(const Config *c, const MixSize *s)
{
    const double keys = 2 * s->D + of_z(c, s),
                 values = (setting(&c->set, "gate") ? 5.0 : 3.0) * s->E +
                          (c->value_embedding ? 2.0 * s->E : 0);

    return 2 * (c->width + s->H * (keys + values) + around_kept(c, s, "zv") +
                attention_memory(s).kept) +
           c->width;
}

/* The gradients of z and its operands beside those of v, o and u. */
static double gated_back(const Config *c, const MixSize *s)
{
    return s->H * (3.0 * s->E + s->D + of_z(c, s));
}

const Layer layer_gated = { .name = "gated",
                            .mixes = 2,
                            .one_head = true,
                            .gammas = true,
                            .inner = 2,
                            .make = gated_make,
                            .run = gated_run,
                            .size = gated_size,
                            .projections = gated_projections,
                            .parameters = gated_parameters,
                            .kept = gated_kept,
                            .back = gated_back };
