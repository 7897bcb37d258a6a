#include "model/model.h"

#include "ops/error.h"
#include "ops/ops.h"

#include <stdio.h>

/*
 * Matrices start with variance 1 / (3 inputs), so that a norm's output of size 1
 * comes out near 1; the two that add to the residual stream start smaller, by the
 * square root of how many add to it, so that the stream's size does not grow with
 * the depth. The head starts near zero: the first guess is the uniform one.
 */
typedef struct {
    Params *params;
    const char *block; /* "blocks.3." */
    bool bias;
} Maker;

static const char *full_name(const Maker *m, const char *name, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s", m->block, name);
    return buffer;
}

static DenseWeights make_dense(const Maker *m, const char *name, int out, int in, double gain)
{
    char buffer[96], bias[104];
    double std = gain / sqrt(3.0 * in);
    DenseWeights d = { NULL, NULL };

    full_name(m, name, buffer, sizeof buffer);
    d.w = params_normal(m->params, buffer, std, SHAPE(out, in));
    snprintf(bias, sizeof bias, "%s.bias", buffer);
    if (m->bias)
        d.b = params_constant(m->params, bias, 0, out);
    return d;
}

static NormWeights make_norm(const Maker *m, const char *name, NormKind kind, int width)
{
    char buffer[96], bias[104];
    NormWeights n = { NULL, NULL };

    full_name(m, name, buffer, sizeof buffer);
    n.gain = params_constant(m->params, buffer, 1, width);
    snprintf(bias, sizeof bias, "%s.bias", buffer);
    if (kind == NORM_LAYER)
        n.bias = params_constant(m->params, bias, 0, width);
    return n;
}

static void make_block(Block *b, const Maker *m, const Config *c)
{
    int width = c->width, hidden = config_hidden(c);
    double add = 1 / sqrt(2.0 * c->layers);

    b->attention_norm = make_norm(m, "attn.norm", c->norm, width);
    b->q = make_dense(m, "attn.wq", width, width, 1);
    b->k = make_dense(m, "attn.wk", width, width, 1);
    b->v = make_dense(m, "attn.wv", width, width, 1);
    b->o = make_dense(m, "attn.wo", width, width, add);
    b->ffn_norm = make_norm(m, "ffn.norm", c->norm, width);
    b->up = make_dense(m, "ffn.up", hidden, width, 1);
    if (c->ffn == FFN_SWIGLU)
        b->gate = make_dense(m, "ffn.gate", hidden, width, 1);
    b->down = make_dense(m, "ffn.down", width, hidden, add);
}

/* Vaswani et al., 2017: sines and cosines of t / 10000^(2m/C), at the scale of the embedding. */
static real *make_sinusoids(Arena *mem, int context, int width, double scale)
{
    real *at = arena_take(mem, (size_t)context * (size_t)width * sizeof(real));

    for (int t = 0; t < context; t++)
        for (int c = 0; c < width; c++) {
            double w = t * pow(10000.0, -(double)(c / 2 * 2) / width);

            at[(size_t)t * (size_t)width + (size_t)c] = R(scale * (c % 2 ? cos(w) : sin(w)));
        }
    return at;
}

void model_init(Model *model, Config config, Arena *mem, uint64_t seed)
{
    const double table = 0.02; /* of the embedding, which may be the head as well */
    const Config *c = &config;

    *model = (Model){ .config = config };
    params_init(&model->params, mem, seed);
    model->embedding = params_normal(&model->params, "embed", table, SHAPE(c->vocab, c->width));
    if (c->position == POSITION_LEARNED)
        model->position =
            params_normal(&model->params, "position", table, SHAPE(c->context, c->width));
    if (c->position == POSITION_SINUSOIDAL)
        model->sinusoids = make_sinusoids(mem, c->context, c->width, table);
    model->blocks = arena_zeros(mem, (size_t)c->layers * sizeof *model->blocks);
    for (int l = 0; l < c->layers; l++) {
        char name[32];

        snprintf(name, sizeof name, "blocks.%d.", l);
        make_block(&model->blocks[l], &(Maker){ &model->params, name, c->bias }, c);
    }
    model->norm = make_norm(&(Maker){ &model->params, "", false }, "norm", c->norm, c->width);
    model->head = c->tied ? model->embedding
                          : params_normal(&model->params, "head", table, SHAPE(c->vocab, c->width));
}

static Tensor *normalise(Tape *tape, Tensor *x, NormWeights n)
{
    return n.bias ? op_layernorm(tape, x, n.gain, n.bias) : op_rmsnorm(tape, x, n.gain);
}

static Tensor *dense(Tape *tape, Tensor *x, DenseWeights d)
{
    return op_dense(tape, (Dense){ .x = x, .w = d.w, .b = d.b });
}

typedef struct {
    Tape *tape;
    const Config *config;
    uint64_t step; /* of dropout */
    int drops;     /* masks drawn so far */
} Pass;

static Tensor *drop(Pass *p, Tensor *x)
{
    uint64_t mask = p->step * 4096 + (uint64_t)p->drops++;

    if (p->config->dropout == 0 || p->tape->forward_only)
        return x;
    return op_dropout(p->tape, x, p->config->dropout, random_stream(0, RANDOM_DROPOUT, mask));
}

/* x + f(h) W^T + b: what closes both halves of a block. */
static Tensor *add_to_stream(Pass *p, Tensor *x, Tensor *h, DenseWeights d, const Activation *f)
{
    Dense in = { .x = h, .w = d.w, .b = d.b, .f = f };

    if (p->config->dropout > 0 && !p->tape->forward_only)
        return op_add(p->tape, x, drop(p, op_dense(p->tape, in)));
    in.r = x;
    return op_dense(p->tape, in);
}

static Tensor *heads_of(Pass *p, Tensor *x, DenseWeights d)
{
    int H = p->config->heads, B = x->dim[0], T = x->dim[1], D = x->dim[2] / H;

    return tensor_reshape(dense(p->tape, x, d), SHAPE(B, T, H, D));
}

static Tensor *attend(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = normalise(p->tape, x, b->attention_norm);
    Mix in = { .q = heads_of(p, h, b->q), .k = heads_of(p, h, b->k) };

    in.causal = p->config->task == TASK_CAUSAL;
    in.v = heads_of(p, h, b->v);
    in.set.rope = p->config->position == POSITION_ROPE;
    Tensor *o = p->config->attention->mix(p->tape, in);

    tensor_reshape(o, SHAPE(x->dim[0], x->dim[1], x->dim[2]));
    return add_to_stream(p, x, o, b->o, NULL);
}

static Tensor *feed_forward(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = normalise(p->tape, x, b->ffn_norm), *up = dense(p->tape, h, b->up);

    if (p->config->ffn == FFN_GELU)
        return add_to_stream(p, x, up, b->down, &activation_gelu);
    return add_to_stream(p, x, op_swiglu(p->tape, dense(p->tape, h, b->gate), up), b->down, NULL);
}

Tensor *model_logits(Tape *tape, const Model *model, const int *id, int B, int T, uint64_t dropout)
{
    const Config *c = &model->config;
    Pass p = { tape, c, dropout, 0 };

    if (T > c->context)
        BUG("model: %d positions, the context is %d", T, c->context);
    Tensor *x = op_embedding(tape, (Embedding){ .table = model->embedding,
                                                .position = model->position,
                                                .fixed = model->sinusoids,
                                                .id = id,
                                                .B = B,
                                                .T = T });
    x = drop(&p, x);
    for (int l = 0; l < c->layers; l++) {
        x = attend(&p, &model->blocks[l], x);
        x = feed_forward(&p, &model->blocks[l], x);
    }
    return op_dense(tape, (Dense){ .x = normalise(tape, x, model->norm), .w = model->head });
}

Tensor *model_losses(Tape *tape, const Model *model, Batch batch, uint64_t dropout)
{
    Tensor *logits = model_logits(tape, model, batch.id, batch.B, batch.T, dropout);

    return op_cross_entropy(tape, logits, batch.target);
}
