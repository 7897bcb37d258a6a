/*
 * The layer of Vaswani et al., 2017: each head has its part of q, k and v.
 *
 *     q, k, v = h W_q^T, h W_k^T, h W_v^T,   h = norm(x)
 *     y       = x + mix(q, k, v) W_o^T
 *
 * With --value-embedding, v = h W_v^T + E[token]: each layer looks the token up again, in a table
 * of its own, so that the residual stream need not carry it there. E starts at zero.
 *
 * Between these, model/around.c has what may surround any mix, such as a short convolution.
 * Where a mechanism does not use k, or q and k, q or v takes their place, without a matrix. q and k
 * of a head may be narrower, or wider, than v, and with --share-keys those of all heads are the
 * same. Then, before W_o,
 *
 *     o <- o + s_h v            --skip, in head h; v as it was before steps multiplied it
 *     o <- o / rms(o)           --out-norm rms, in each head
 *     o <- silu(h W_g^T) o      --out-gate, element by element
 *     o <- rmsnorm(o)           --out-norm all, of all heads together, with a gain
 */
#include "model/layers.h"

static bool uses_q(const Config *c)
{
    return !(attention_traits(c->attention, &c->set) & QUERYLESS);
}

static bool uses_k(const Config *c)
{
    return !(attention_traits(c->attention, &c->set) & KEYLESS);
}

static void heads_make(Block *b, const Maker *m)
{
    MixSize s = config_mix_size(m->config);
    const int width = m->config->width, keys = key_columns(m->config, &s);
    char buffer[PARAM_NAME];

    b->attention_norm = make_norm(m, "attn.norm");
    if (uses_q(m->config))
        b->q = make_dense(m, "attn.wq", keys, width, 1);
    if (uses_k(m->config))
        b->k = make_dense(m, "attn.wk", keys, width, 1);
    b->v = make_dense(m, "attn.wv", s.H * s.E, width, 1);
    b->value_embed = make_value_embed(m, "attn.value_embed");
    b->o = make_dense(m, "attn.wo", width, s.H * s.E, make_add_gain(m));
    make_own(b->own, m, "attn.");
    make_around(&b->around, m, "attn.", "qkv");
    if (setting(&m->config->set, "out-gate"))
        b->out_gate = make_dense(m, "attn.wg", s.H * s.E, width, 1);
    if (setting_is(&m->config->set, "out-norm", "all"))
        b->out_norm =
            params_constant(m->params, make_name(m, "attn.out_norm", buffer), 1, s.H * s.E);
    if (has_flag(m->config, "skip"))
        b->skip = params_constant(m->params, make_name(m, "attn.skip", buffer), 1, s.H);
}

/* Each head's rows of o (B, T, H E), normed. */
static Tensor *normed(Pass *p, Tensor *o)
{
    int B = o->dim[0], T = o->dim[1], H = p->size.H, E = p->size.E;
    Tensor *y = op_rmsnorm(p->tape, tensor_reshape(o, SHAPE(B, T, H, E)), NULL, NORM_EPS);

    return tensor_reshape(y, SHAPE(B, T, H * E));
}

/* o + s_h v in head h. */
static Tensor *skipped(Pass *p, Tensor *o, Tensor *v, Tensor *s)
{
    Tensor *y = op_scale_rows(p->tape, v, s);

    return op_add(p->tape, o, tensor_reshape(y, 3, o->dim));
}

/* What happens to the output of the mix before W_o. */
static Tensor *finished(Pass *p, const Block *b, Tensor *o, Tensor *h)
{
    if (setting_is(&p->size.set, "out-norm", "rms"))
        o = normed(p, o);
    if (b->out_gate.w)
        o = op_swiglu(p->tape, pass_dense(p, h, b->out_gate), o);
    return b->out_norm ? op_rmsnorm(p->tape, o, b->out_norm, NORM_EPS) : o;
}

static Tensor *heads_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm), *o, *v;
    Mix in = pass_operands(p);

    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = b->own[i];
    if (b->q.w)
        in.q = pass_keys(p, pass_dense(p, h, b->q), b->around.conv[0]);
    if (b->k.w)
        in.k = pass_keys(p, pass_dense(p, h, b->k), b->around.conv[1]);
    v = pass_dense(p, h, b->v);
    in.v = v = pass_input(p, pass_value_embed(p, v, b->value_embed), b->around.conv[2]);
    in.q = in.q ? in.q : in.v;
    in.k = in.k ? in.k : in.q;
    pass_around(p, &b->around, h, &in);
    o = pass_mix(p, &in);
    if (b->skip)
        o = skipped(p, o, v, b->skip);
    return pass_add(p, x, finished(p, b, o, h), b->o, NULL);
}

static void heads_size(const Config *c, MixSize *s)
{
    s->H = c->heads;
    s->D = s->E = c->width / c->heads;
}

/* The columns of q and k, as far as they are used. */
static double keys(const Config *c, const MixSize *s)
{
    return (uses_q(c) + uses_k(c)) * (double)key_columns(c, s);
}

/* q, k, v and o; the gate. */
static double heads_projections(const Config *c, const MixSize *s)
{
    return c->width *
               (keys(c, s) + s->H * (2.0 * s->E + (setting(&c->set, "out-gate") ? s->E : 0))) +
           around_matrices(c, s);
}

static double heads_parameters(const Config *c, const MixSize *s)
{
    return c->layers * (heads_projections(c, s) + own_matrices(c));
}

/* Two norms, q, k, v, o, and a sum; o normed, with its scale; the gate, and o times it; what skips
 * the mix, and o with it; the rows of the table, and v with them. */
static double heads_kept(const Config *c, const MixSize *s)
{
    double around = (setting(&c->set, "out-norm") ? s->E + 2.0 : 0) +
                    (setting(&c->set, "out-gate") ? 2.0 * s->E : 0) +
                    (has_flag(c, "skip") ? 2.0 * s->E : 0) + (c->value_embedding ? 2.0 * s->E : 0);

    return 3.0 * c->width + keys(c, s) + s->H * (2.0 * s->E + around) + around_kept(c, s, "qkv") +
           attention_memory(s).kept;
}

static double heads_back(const Config *c, const MixSize *s)
{
    (void)c, (void)s;
    return 0;
}

const Layer layer_heads = { .name = "heads",
                            .mixes = 1,
                            .inner = 1,
                            .feed_forward = true,
                            .make = heads_make,
                            .run = heads_run,
                            .size = heads_size,
                            .projections = heads_projections,
                            .parameters = heads_parameters,
                            .kept = heads_kept,
                            .back = heads_back };
