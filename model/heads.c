/*
 * The layer of Vaswani et al., 2017: heads side by side, each with its part of
 * q, k and v.
 *
 *     q, k, v = h W_q^T, h W_k^T, h W_v^T,   h = norm(x)
 *     y       = x + mix(q, k, v) W_o^T
 *
 * q and k of a head may be narrower, or wider, than v.
 */
#include "model/directions.h"
#include "model/layers.h"

static void heads_make(Block *b, const Maker *m)
{
    MixSize s = config_mix_size(m->config);
    int width = m->config->width;
    char name[PARAM_NAME];
    Random random;

    b->attention_norm = make_norm(m, "attn.norm");
    b->q = make_dense(m, "attn.wq", s.H * s.D, width, 1);
    b->k = make_dense(m, "attn.wk", s.H * s.D, width, 1);
    b->v = make_dense(m, "attn.wv", s.H * s.E, width, 1);
    b->o = make_dense(m, "attn.wo", width, s.H * s.E, make_add_gain(m));
    if (s.features) {
        b->omega = params_fixed(m->params, make_name(m, "attn.omega", name), &random,
                                SHAPE(s.H, s.features, s.D));
        directions_draw(b->omega, random);
    }
}

static Tensor *heads_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm);
    Mix in = { .q = pass_heads(p, h, b->q), .k = pass_heads(p, h, b->k), .omega = b->omega };

    in.v = pass_heads(p, h, b->v);
    return pass_add(p, x, pass_mix(p, in), b->o, NULL);
}

const Layer layer_heads = { heads_make, heads_run, .feed_forward = true };
