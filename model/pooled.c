/*
 * The layer of Fastformer (Wu et al., 2021, arXiv:2108.09084): as with heads, but
 * that q is added to what comes out.
 *
 *     y = x + (mix(q, k, v) W_o^T + q)
 *
 * What may be shared (section 3.2): W_q is W_v too; all blocks have the weights
 * of block 0; all heads of a block have one pooling vector for q and one for k.
 */
#include "model/layers.h"

static Tensor *make_tensor(const Maker *m, const char *name, double std, int ndim, const int *dim)
{
    char buffer[PARAM_NAME];

    return params_normal(m->params, make_name(m, name, buffer), std, ndim, dim);
}

static void make_weights(Block *b, const Maker *m)
{
    MixSize s = config_mix_size(m->config);
    unsigned share = m->config->share;
    int width = m->config->width, vectors = share & SHARE_HEADS ? 1 : s.H;
    double std = 1 / sqrt(s.D);

    b->q = make_dense(m, "attn.wq", width, width, 1);
    b->k = make_dense(m, "attn.wk", width, width, 1);
    b->v = share & SHARE_QV ? b->q : make_dense(m, "attn.wv", width, width, 1);
    b->o = make_dense(m, "attn.wo", width, width, make_add_gain(m));
    b->pool_q = make_tensor(m, "attn.pool_q", std, SHAPE(vectors, s.D));
    b->pool_k = make_tensor(m, "attn.pool_k", std, SHAPE(vectors, s.D));
    if (mix_needs(m->config->attention, m->config->set, MIX_CONCAT))
        b->concat = make_tensor(m, "attn.concat", 1 / sqrt(2.0 * s.D), SHAPE(s.H, s.D, 2 * s.D));
}

static void pooled_make(Block *b, const Maker *m)
{
    if (m->first && (m->config->share & SHARE_LAYERS))
        *b = (Block){ .q = m->first->q,
                      .k = m->first->k,
                      .v = m->first->v,
                      .o = m->first->o,
                      .pool_q = m->first->pool_q,
                      .pool_k = m->first->pool_k,
                      .concat = m->first->concat };
    b->attention_norm = make_norm(m, "attn.norm");
    if (!b->q.w)
        make_weights(b, m);
}

static Tensor *for_all_heads(Pass *p, Tensor *vector)
{
    return vector->dim[0] == p->size.H ? vector : op_repeat(p->tape, vector, p->size.H);
}

static Tensor *pooled_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm), *q = pass_heads(p, h, b->q);
    Mix in = { .q = q,
               .k = pass_heads(p, h, b->k),
               .v = pass_heads(p, h, b->v),
               .pool_q = for_all_heads(p, b->pool_q),
               .pool_k = for_all_heads(p, b->pool_k),
               .concat = b->concat };
    Dense out = { .x = pass_mix(p, in), .w = b->o.w, .b = b->o.b, .r = q };

    return op_add(p->tape, x, pass_drop(p, op_dense(p->tape, out)));
}

const Layer layer_pooled = { pooled_make, pooled_run, .feed_forward = true };
