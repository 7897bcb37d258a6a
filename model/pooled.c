/*
 * The layer of Fastformer (Wu et al., 2021, arXiv:2108.09084): heads, with q added to the output.
 *
 *     q, k, v = h W_q^T, h W_k^T, h W_v^T,   h = norm(x)
 *     y       = x + (mix(q, k, v) W_o^T + q)
 *
 * Weights that may be shared: W_q and W_v, whose product is then computed once; those of all blocks
 * (both are the paper's default, section 3.2: then attention has 3 (H D)^2 + 2 H D parameters,
 * whatever the number of blocks); the two pooling vectors of all heads of a block; or all
 * parameters of a head, so that W_q, W_k and W_v are (D, width), and all but W_o exist once for all
 * heads.
 */
#include "model/layers.h"

static bool shares(const Config *c, const char *what)
{
    return setting_is(&c->set, "share", what);
}

/* v is q; a model of an older version computes it again, and resumes to the same bits. */
static bool computes_once(const Config *c)
{
    return shares(c, "qv") && setting_is(&c->set, "products", "both");
}

/* The rows of W_q, W_k and W_v: of all heads, or of the one that all share. */
static int rows_of(const Config *c)
{
    return shares(c, "heads") ? c->width / c->heads : c->width;
}

static void make_weights(Block *b, const Maker *m)
{
    int width = m->config->width, rows = rows_of(m->config);

    b->q = make_dense(m, "attn.wq", rows, width, 1);
    b->k = make_dense(m, "attn.wk", rows, width, 1);
    b->v = shares(m->config, "qv") ? b->q : make_dense(m, "attn.wv", rows, width, 1);
    b->value_embed = make_value_embed(m, "attn.value_embed");
    b->o = make_dense(m, "attn.wo", width, width, make_add_gain(m));
    make_own(b->own, m, "attn.");
    make_around(&b->around, m, "attn.", "qkv");
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

/* Repeats an operand that all heads share. */
static Tensor *for_all_heads(Pass *p, Tensor *x)
{
    if (!x || x->dim[0] == p->size.H)
        return x;
    Tensor *y = op_repeat(p->tape, x, tensor_rows(x), p->size.H);
    return x->ndim == 2 ? y : tensor_reshape(y, SHAPE(p->size.H, x->dim[1], x->dim[2]));
}

static DenseWeights of_all_heads(Pass *p, DenseWeights d)
{
    const int H = p->size.H;

    if (!shares(p->config, "heads"))
        return d;
    d.w = op_repeat(p->tape, d.w, d.w->dim[0], H);
    if (d.b)
        d.b = tensor_reshape(op_repeat(p->tape, d.b, 1, H), SHAPE(H * (int)d.b->n));
    return d;
}

static Tensor *pooled_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm);
    Mix in = pass_operands(p);

    Tensor *q = pass_dense(p, h, of_all_heads(p, b->q));
    Tensor *k = pass_dense(p, h, of_all_heads(p, b->k));
    Tensor *v = computes_once(p->config) ? q : pass_dense(p, h, of_all_heads(p, b->v));

    v = pass_value_embed(p, v, b->value_embed);
    in.q = pass_input(p, q, b->around.conv[0], p->size.H);
    in.k = pass_input(p, k, b->around.conv[1], p->size.H);
    in.v = v == q && !b->around.conv[2] ? in.q : pass_input(p, v, b->around.conv[2], p->size.H);
    q = in.q;
    pass_around(p, &b->around, h, &in);
    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = for_all_heads(p, b->own[i]);
    Dense out = { .x = pass_mix(p, &in), .w = b->o.w, .b = b->o.b, .r = q };

    return pass_onto(p, x, pass_drop(p, op_dense(p->tape, out)));
}

static void pooled_size(const Config *c, MixSize *s)
{
    s->H = c->heads;
    s->D = s->E = c->width / c->heads;
}

static double pooled_projections(const Config *c, const MixSize *s)
{
    (void)s;
    return (computes_once(c) ? 3.0 : 4.0) * c->width * c->width;
}

static double pooled_parameters(const Config *c, const MixSize *s)
{
    (void)s;
    const double of_heads = (shares(c, "qv") ? 2.0 : 3.0) * rows_of(c);

    return ((of_heads + c->width) * c->width + own_matrices(c)) *
           (shares(c, "layers") ? 1 : c->layers);
}

/* Two norms, q, k, v unless it is q, o, a sum, and o with q; rows of a table, and v with them. */
static double pooled_kept(const Config *c, const MixSize *s)
{
    return (computes_once(c) ? 7.0 : 8.0) * c->width + (c->value_embedding ? 2.0 * c->width : 0) +
           around_kept(c, s, "qkv") + attention_memory(s).kept;
}

static double pooled_back(const Config *c, const MixSize *s)
{
    (void)c, (void)s;
    return 0;
}

const Layer layer_pooled = { .name = "pooled",
                             .mixes = 1,
                             .inner = 1,
                             .feed_forward = true,
                             .make = pooled_make,
                             .run = pooled_run,
                             .size = pooled_size,
                             .projections = pooled_projections,
                             .parameters = pooled_parameters,
                             .kept = pooled_kept,
                             .back = pooled_back };
