/*
 * The layer of Vaswani et al., 2017: heads side by side, each with its part of q, k and v.
 *
 *     q, k, v = h W_q^T, h W_k^T, h W_v^T,   h = norm(x)
 *     y       = x + mix(q, k, v) W_o^T
 *
 * q and k of a head may be narrower, or wider, than v.
 */
#include "model/layers.h"

static void heads_make(Block *b, const Maker *m)
{
    MixSize s = config_mix_size(m->config);
    int width = m->config->width;

    b->attention_norm = make_norm(m, "attn.norm");
    b->q = make_dense(m, "attn.wq", s.H * s.D, width, 1);
    b->k = make_dense(m, "attn.wk", s.H * s.D, width, 1);
    b->v = make_dense(m, "attn.wv", s.H * s.E, width, 1);
    b->o = make_dense(m, "attn.wo", width, s.H * s.E, make_add_gain(m));
    make_own(b, m);
}

static Tensor *heads_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm);
    Mix in = pass_operands(p);

    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = b->own[i];
    in.q = pass_heads(p, h, b->q);
    in.k = pass_heads(p, h, b->k);
    in.v = pass_heads(p, h, b->v);
    return pass_add(p, x, pass_mix(p, &in), b->o, NULL);
}

static void heads_size(const Config *c, MixSize *s)
{
    s->H = c->heads;
    s->D = s->E = c->width / c->heads;
}

static double heads_projections(const Config *c, const MixSize *s)
{
    return 2.0 * c->width * s->H * (s->D + s->E);
}

static double heads_parameters(const Config *c, const MixSize *s)
{
    return c->layers * (heads_projections(c, s) + own_matrices(c, s));
}

/* Two norms, q, k, v, o, and a sum. */
static double heads_kept(const Config *c, const MixSize *s)
{
    return 3.0 * c->width + 2.0 * s->H * (s->D + s->E) + attention_memory(s).kept;
}

static double heads_back(const Config *c, const MixSize *s)
{
    (void)c, (void)s;
    return 0;
}

const Layer layer_heads = { .name = "heads",
                            .mixes = 1,
                            .feed_forward = true,
                            .make = heads_make,
                            .run = heads_run,
                            .size = heads_size,
                            .projections = heads_projections,
                            .parameters = heads_parameters,
                            .kept = heads_kept,
                            .back = heads_back };
