/*
 * The gated attention unit (Hua et al., 2022, arXiv:2202.10447): attention and
 * feed-forward layer in one. With h = norm(x) and twice the width inside,
 *
 *     u, v, z = silu(h W_u^T), silu(h W_v^T), silu(h W_z^T)
 *     q, k    = gamma_q z + beta_q, gamma_k z + beta_k          FLASH: ql and kl too
 *     y       = x + (u mix(q, k, v)) W_o^T
 *
 * with one head. Two units stand for one layer of attention and one feed-forward
 * layer. silu(a) b is op_swiglu(), so u is never stored. Without the gate, u is 1.
 *
 * z starts with numbers of about 0.3. With gammas of standard deviation 3 the
 * scores q.k / sqrt(s) start near 1 and differ from key to key, so their squares
 * have a slope; with the paper's 0.02 they start at 1e-5 and learn slowly. With all
 * gammas 1, q and k would start equal, and each position would look at itself.
 */
#include "model/layers.h"

#include <stdio.h>

static ScaleWeights make_scale(const Maker *m, const char *of, int n)
{
    char gamma[32], beta[32], buffer[PARAM_NAME];
    ScaleWeights s;

    snprintf(gamma, sizeof gamma, "gamma_%s", of);
    snprintf(beta, sizeof beta, "beta_%s", of);
    s.gamma = params_normal(m->params, make_name(m, gamma, buffer), 3, SHAPE(n));
    s.beta = params_constant(m->params, make_name(m, beta, buffer), 0, n);
    return s;
}

static void make_unit(Unit *u, const Maker *m)
{
    MixSize s = config_mix_size(m->config);
    int width = m->config->width;

    u->norm = make_norm(m, "norm");
    if (!m->config->gateless)
        u->u = make_dense(m, "wu", s.E, width, 1);
    u->v = make_dense(m, "wv", s.E, width, 1);
    u->z = make_dense(m, "wz", s.D, width, 1);
    u->q = make_scale(m, "q", s.D);
    u->k = make_scale(m, "k", s.D);
    u->linear = mix_needs(m->config->attention, m->config->set, MIX_QL);
    if (u->linear) {
        u->ql = make_scale(m, "ql", s.D);
        u->kl = make_scale(m, "kl", s.D);
    }
    u->o = make_dense(m, "wo", width, s.E, make_add_gain(m));
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

/* silu(h W^T) */
static Tensor *activated(Pass *p, Tensor *h, DenseWeights d)
{
    return op_activation(p->tape, pass_heads(p, h, d), &activation_silu);
}

static Tensor *scaled(Pass *p, Tensor *z, ScaleWeights s)
{
    return op_scale_offset(p->tape, z, s.gamma, s.beta);
}

static Tensor *run_unit(Pass *p, const Unit *u, Tensor *x)
{
    Tensor *h = pass_norm(p, x, u->norm), *z = activated(p, h, u->z);
    Mix in = { .q = scaled(p, z, u->q), .k = scaled(p, z, u->k), .v = activated(p, h, u->v) };

    if (u->linear)
        in.ql = scaled(p, z, u->ql), in.kl = scaled(p, z, u->kl);
    Tensor *o = pass_mix(p, in);
    if (u->u.w)
        o = op_swiglu(p->tape, pass_dense(p, h, u->u), o);
    return pass_add(p, x, o, u->o, NULL);
}

static Tensor *gated_run(Pass *p, const Block *b, Tensor *x)
{
    return run_unit(p, &b->unit[1], run_unit(p, &b->unit[0], x));
}

const Layer layer_gated = { gated_make, gated_run, .feed_forward = false };
