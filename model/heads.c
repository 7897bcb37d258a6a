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
 * of a head may be narrower, or wider, than v. With --n-kv-head G, the heads are divided into G
 * groups, and those of a group have the same k and v (grouped-query attention, arXiv:2305.13245;
 * with one group, multi-query, arXiv:1911.02150); with --share-keys, all heads have the same q and
 * k. Then, before W_o,
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
    const Config *c = m->config;
    const int width = c->width;
    char buffer[PARAM_NAME];

    b->attention_norm = make_norm(m, "attn.norm");
    if (uses_q(c))
        b->q = make_dense(m, "attn.wq", own_columns(c, &s, 'q'), width, 1);
    if (uses_k(c))
        b->k = make_dense(m, "attn.wk", own_columns(c, &s, 'k'), width, 1);
    b->v = make_dense(m, "attn.wv", own_columns(c, &s, 'v'), width, 1);
    b->value_embed = make_value_embed(m, "attn.value_embed");
    b->o = make_dense(m, "attn.wo", width, s.H * s.E, make_add_gain(m));
    make_own(b->own, m, "attn.");
    make_around(&b->around, m, "attn.", "qkv");
    if (setting(&c->set, "out-gate"))
        b->out_gate = make_dense(m, "attn.wg", s.H * s.E, width, 1);
    if (setting_is(&c->set, "out-norm", "all"))
        b->out_norm =
            params_constant(m->params, make_name(m, "attn.out_norm", buffer), 1, s.H * s.E);
    if (has_flag(c, "skip"))
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

/* Operand i, q, k or v, in heads. */
static Tensor *input(Pass *p, const Block *b, Tensor *x, int i)
{
    return pass_input(p, x, b->around.conv[i], own_heads(p->config, &p->size, "qkv"[i]));
}

static Tensor *heads_run(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->attention_norm), *o, *v;
    Mix in = pass_operands(p);

    for (int i = 3; i < OPERANDS_MAX; i++)
        in.x[i] = b->own[i];
    if (b->q.w)
        in.q = input(p, b, pass_dense(p, h, b->q), 0);
    if (b->k.w)
        in.k = input(p, b, pass_dense(p, h, b->k), 1);
    v = pass_dense(p, h, b->v);
    in.v = v = input(p, b, pass_value_embed(p, v, b->value_embed), 2);
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

/* The columns of q, k and v, as far as they are used. */
static double inputs(const Config *c, const MixSize *s)
{
    return (uses_q(c) ? own_columns(c, s, 'q') : 0) + (uses_k(c) ? own_columns(c, s, 'k') : 0) +
           own_columns(c, s, 'v');
}

/* q, k, v and o; the gate. */
static double heads_projections(const Config *c, const MixSize *s)
{
    return c->width * (inputs(c, s) + (setting(&c->set, "out-gate") ? 2.0 : 1.0) * s->H * s->E) +
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
                    (has_flag(c, "skip") ? 2.0 * s->E : 0);
    const double looked_up = c->value_embedding ? 2.0 * own_columns(c, s, 'v') : 0;

    return 3.0 * c->width + inputs(c, s) + looked_up + s->H * (s->E + around) +
           around_kept(c, s, "qkv") + attention_memory(s).kept;
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
                            .groups = true,
                            .make = heads_make,
                            .run = heads_run,
                            .size = heads_size,
                            .projections = heads_projections,
                            .parameters = heads_parameters,
                            .kept = heads_kept,
                            .back = heads_back };
