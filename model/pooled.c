/*
 * The layer of Fastformer (Wu et al., 2021, arXiv:2108.09084): heads, with q added to the output.
 *
 *     q, k, v = h W_q^T, h W_k^T, h W_v^T,   h = norm(x)
 *     y       = x + (mix(q, k, v) W_o^T + q)
 *
 * Weights that may be shared (section 3.2): W_q and W_v; those of all blocks; and the two pooling
 * vectors of all heads of a block.
 */
#include "model/layers.h"

static bool shares(const Config *c, const char *what)
{
    return setting_is(&c->set, "share", what);
}

static void make_weights(Block *b, const Maker *m)
{
    int width = m->config->width;

    b->q = make_dense(m, "attn.wq", width, width, 1);
    b->k = make_dense(m, "attn.wk", width, width, 1);
    b->v = shares(m->config, "qv") ? b->q : make_dense(m, "attn.wv", width, width, 1);
    b->o = make_dense(m, "attn.wo", width, width, make_add_gain(m));
    make_own(b, m);
}

static void pooled_make(Block *b, const Maker *m)
{
    const bool again = m->first && shares(m->config, "layers");

    if (again)
        *b = *m->first;
    b->attention_norm = make_norm(m, "attn.norm");
    if (!again)
        make_weights(b, m);
}

/* Repeats a vector that all heads share. */
static Tensor *for_all_heads(Pass *p, Tensor *x)
{
    return !x || x->dim[0] == p->size.H ? x : op_repeat(p->tape, x, p->size.H);
}

static Tensor *pooled_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm);
    Mix in = pass_operands(p);

    in.q = pass_heads(p, h, b->q);
    in.k = pass_heads(p, h, b->k);
    in.v = pass_heads(p, h, b->v);
    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = for_all_heads(p, b->own[i]);
    Dense out = { .x = pass_mix(p, &in), .w = b->o.w, .b = b->o.b, .r = in.q };

    return op_add(p->tape, x, pass_drop(p, op_dense(p->tape, out)));
}

static void pooled_size(const Config *c, MixSize *s)
{
    s->H = c->heads;
    s->D = s->E = c->width / c->heads;
}

static double pooled_projections(const Config *c, const MixSize *s)
{
    (void)s;
    return 4.0 * c->width * c->width;
}

static double pooled_parameters(const Config *c, const MixSize *s)
{
    double width = c->width;
    double once = pooled_projections(c, s) - (shares(c, "qv") ? width * width : 0);

    return (once + own_matrices(c, s)) * (shares(c, "layers") ? 1 : c->layers);
}

/* Two norms, q, k, v, o, a sum, and o with q. */
static double pooled_kept(const Config *c, const MixSize *s)
{
    return 8.0 * c->width + attention_memory(s).kept;
}

static double pooled_back(const Config *c, const MixSize *s)
{
    (void)c, (void)s;
    return 0;
}

const Layer layer_pooled = { .name = "pooled",
                             .mixes = 1,
                             .feed_forward = true,
                             .make = pooled_make,
                             .run = pooled_run,
                             .size = pooled_size,
                             .projections = pooled_projections,
                             .parameters = pooled_parameters,
                             .kept = pooled_kept,
                             .back = pooled_back };
