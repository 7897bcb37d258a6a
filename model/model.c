#include "model/model.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/decoding.h"

#include <stdio.h>
#include <string.h>

/* The scale of the embedding and the head: small, so that predictions start nearly uniform. */
static const double TABLE = 0.02;

/* After the layer, which may copy the block of another. */
static void make_shortcut(Block *b, const Maker *m)
{
    char buffer[PARAM_NAME];

    if (!m->config->shortcut)
        return;
    b->from_x = params_constant(m->params, make_name(m, "from_x", buffer), 1, 1);
    b->from_x0 = params_constant(m->params, make_name(m, "from_x0", buffer), 0, 1);
}

static void make_feed_forward(Block *b, const Maker *m)
{
    const Config *c = m->config;
    int width = c->width, hidden = config_hidden(c);

    b->ffn_norm = make_norm(m, "ffn.norm");
    b->up = make_dense(m, "ffn.up", hidden, width, 1);
    if (c->ffn == FFN_SWIGLU)
        b->gate = make_dense(m, "ffn.gate", hidden, width, 1);
    b->down = make_dense(m, "ffn.down", width, hidden, make_add_gain(m));
}

static void make_block(Block *b, const Maker *m)
{
    layer_of(m->config->attention)->make(b, m);
    make_shortcut(b, m);
    if (config_feeds(m->config))
        make_feed_forward(b, m);
}

/* Vaswani et al., 2017: sines and cosines of t / 10000^(2m/C), at the scale of the embedding, of n
 * positions t. */
static real *make_sinusoids(Arena *mem, int from, int n, int width, double scale)
{
    real *at = arena_take(mem, (size_t)n * (size_t)width * sizeof(real));

    for (int t = 0; t < n; t++)
        for (int c = 0; c < width; c++) {
            double w = (from + t) * pow(10000.0, -(double)(c / 2 * 2) / width);

            at[(size_t)t * (size_t)width + (size_t)c] = R(scale * (c % 2 ? cos(w) : sin(w)));
        }
    return at;
}

/* The first block with the mechanism of block l, or NULL if that is it. */
static const Block *first_of(const Model *model, int l)
{
    const int first = config_first_layer(&model->config, l);

    return first < l ? &model->blocks[first] : NULL;
}

static void make(Model *model, Arena *mem)
{
    const Config *c = &model->config;

    model->embedding = params_normal(&model->params, "embed", TABLE, SHAPE(c->vocab, c->width));
    if (c->position == POSITION_LEARNED)
        model->position =
            params_normal(&model->params, "position", TABLE, SHAPE(c->context, c->width));
    if (c->position == POSITION_SINUSOIDAL)
        model->sinusoids = make_sinusoids(mem, 0, c->context, c->width, TABLE);
    model->blocks = arena_zeros(mem, (size_t)c->layers * sizeof *model->blocks);
    for (int l = 0; l < c->layers; l++) {
        const Config layer = config_layer(c, l);
        char name[32];

        snprintf(name, sizeof name, "blocks.%d.", l);
        make_block(&model->blocks[l], &(Maker){ &model->params, &layer, name, first_of(model, l) });
    }
    model->norm = make_norm(&(Maker){ &model->params, c, "", NULL }, "norm");
    if (c->from_last)
        make_feed_forward(&model->last, &(Maker){ &model->params, c, "last.", NULL });
    classifier_make(&model->classifier, &(Maker){ &model->params, c, "", NULL });
    model->head = c->tied ? model->embedding
                          : params_normal(&model->params, "head", TABLE,
                                          SHAPE(config_outputs(c), config_head_width(c)));
}

void model_init(Model *model, Config config, Arena *mem, uint64_t seed)
{
    *model = (Model){ .config = config };
    params_init(&model->params, mem, seed);
    make(model, mem);
}

void model_init_undrawn(Model *model, Config config, Arena *mem)
{
    *model = (Model){ .config = config };
    params_init(&model->params, mem, 0);
    model->params.undrawn = true;
    make(model, mem);
}

void model_redraw(Model *model, uint64_t seed, int update)
{
    const Operand *o;

    for (int l = 0; l < model->config.layers; l++) {
        const Config c = config_layer(&model->config, l);
        const int every = setting(&c.set, "redraw");

        for (int i = 0; every > 0 && update > 0 && update % every == 0 &&
                        (o = attention_operand(c.attention, i));
             i++) {
            const uint64_t of =
                ((uint64_t)update * (uint64_t)c.layers + (uint64_t)l) * OPERANDS_MAX + (uint64_t)i;

            if (o->draw)
                o->draw(model->blocks[l].own[i], random_stream(seed, RANDOM_REDRAW, of));
        }
    }
}

Model model_at(const Model *model, int T, Arena *mem)
{
    Model at = *model;

    if (at.position && T > at.position->dim[0])
        BUG("model: %d positions, but only %d learned", T, at.position->dim[0]);
    at.config.context = T;
    if (at.sinusoids)
        at.sinusoids = make_sinusoids(mem, 0, T, at.config.width, TABLE);
    return at;
}

static Tensor *feed_forward(Pass *p, const Block *b, Tensor *x)
{
    Tensor *h = pass_norm(p, x, b->ffn_norm), *up = pass_dense(p, h, b->up);

    if (p->config->ffn == FFN_SWIGLU)
        return pass_add(p, x, op_swiglu(p->tape, pass_dense(p, h, b->gate), up), b->down, NULL);
    return pass_add(p, x, up, b->down,
                    p->config->ffn == FFN_RELU2 ? &activation_relu2 : &activation_gelu);
}

static Pass pass_of(Tape *tape, const Model *model)
{
    return (Pass){ .tape = tape, .config = &model->config };
}

/* When decoding, the number of positions is unknown: lengths cover at least the context. */
static MixSize size_of(const Tape *tape, const Config *c)
{
    MixSize s = config_mix_size(c);

    if (tape->decoding)
        settings_fit_context(&s.set, c->attention, CONTEXT_AT_LEAST, c->context);
    return s;
}

/* A block of a pass, which may run again in the backward pass. */
typedef struct {
    Pass before;
    const Block *block;
    int drops; /* masks drawn up to its end */
} BlockRun;

static Tensor *run_block(Tape *tape, void *ctx, Tensor *x)
{
    BlockRun *r = ctx;
    Pass p = r->before;

    p.tape = tape;
    x = layer_of(p.config->attention)->run(&p, r->block, x);
    if (config_feeds(p.config))
        x = feed_forward(&p, r->block, x);
    r->drops = p.drops;
    return x;
}

/* The input of a block, a x + b x0, where x0 are the embeddings: with b, a deep layer need not get
 * them through all layers before it. */
static Tensor *shortcut(const Pass *p, const Block *b, Tensor *x, Tensor *x0)
{
    if (!b->from_x)
        return x;
    return op_add(p->tape, op_scale_rows(p->tape, x, b->from_x),
                  op_scale_rows(p->tape, x0, b->from_x0));
}

static void show_layer(const Pass *p, int layer, const Tensor *x)
{
    if (p->watch.layer)
        p->watch.layer(p->watch.ctx, layer, x);
}

/* The configurations that the layers take in turn. */
static const Config *layer_configs(Arena *mem, const Config *c)
{
    Config *of = c->listed ? arena_take(mem, (size_t)c->listed * sizeof *of) : NULL;

    for (int i = 0; i < c->listed; i++)
        of[i] = config_layer(c, i);
    return of ? of : c;
}

/*
 * The last vector of each sequence is all that its T predictions see of it; as rows of a table,
 * each is looked up T times, and a position is added.
 */
static Tensor *from_last(Pass *p, const Model *model, Tensor *x)
{
    const int B = x->dim[0], T = x->dim[1], C = x->dim[2];
    Arena *mem = p->tape->mem;
    int *last = arena_take(mem, (size_t)B * sizeof *last);
    int *of = arena_take(mem, (size_t)(B * T) * sizeof *of);

    for (int b = 0; b < B; b++)
        last[b] = b * T + T - 1;
    for (int i = 0; i < B * T; i++)
        of[i] = i / T;
    const Embedding in = { .table = op_pick(p->tape, x, last, B),
                           .fixed = make_sinusoids(mem, 0, T, C, 1),
                           .id = of,
                           .B = B,
                           .T = T };
    return feed_forward(p, &model->last, op_embedding(p->tape, in));
}

/* All blocks and the last norm: (B, T, C), the input of the head. */
static Tensor *run(Pass *p, const Model *model, Embedding in)
{
    const Config *c = &model->config;

    if (in.T > c->context)
        BUG("model: %d positions, but a context of %d", in.T, c->context);
    p->id = in.id;
    in.table = model->embedding;
    in.position = model->position;
    in.fixed = model->sinusoids;
    in.from = p->tape->decoding ? p->tape->decoding->t : 0;
    if (in.fixed && in.from + in.T > c->context) {
        in.fixed = make_sinusoids(p->tape->mem, in.from, in.T, c->width, TABLE);
        in.from = 0;
    }
    const Config *of = layer_configs(p->tape->mem, c);
    Tensor *x = op_embedding(p->tape, in);
    x = pass_drop(p, x);
    Tensor *const x0 = x;
    show_layer(p, 0, x);
    for (int l = 0; l < c->layers; l++) {
        BlockRun *r = arena_take(p->tape->mem, sizeof *r);

        *r = (BlockRun){ .before = *p, .block = &model->blocks[l] };
        r->before.config = &of[l % config_parts(c)];
        r->before.size = size_of(p->tape, r->before.config);
        r->before.size.layer = l;
        x = tape_part(p->tape, run_block, r, shortcut(p, r->block, x, x0));
        p->drops = r->drops;
        show_layer(p, l + 1, x);
    }
    x = pass_norm(p, x, model->norm);
    return c->from_last ? from_last(p, model, x) : x;
}

static Tensor *head(Pass *p, const Model *model, Tensor *x)
{
    const Activation *f = classifier_activation(p->config);

    Tensor *y = op_dense(p->tape, (Dense){ .x = x, .w = model->head, .f = f });
    return p->config->logit_cap ? op_cap(p->tape, y, p->config->logit_cap) : y;
}

/* The input of the head: a row per position, or per sequence. */
static Tensor *run_batch(Pass *p, const Model *model, Batch batch, uint64_t dropout)
{
    p->length = batch.length;
    p->step = dropout;
    const int n = batch.paired ? 2 : 1;
    Tensor *x = run(p, model, (Embedding){ .id = batch.id, .B = n * batch.B, .T = batch.T / n });
    return model->config.task == TASK_CLASSIFY ? classifier_run(p, &model->classifier, x) : x;
}

Tensor *model_outputs(Tape *tape, const Model *model, Batch batch, uint64_t dropout)
{
    Pass p = pass_of(tape, model);
    Tensor *x = run_batch(&p, model, batch, dropout);

    return head(&p, model, x);
}

/*
 * Gathering pays where the head is most of a step: at vocabularies of bytes it saves next to
 * nothing. It regroups the sum over rows in the gradient of the head, so the rule is part of a
 * run's bits.
 */
#ifdef PROOF
enum { MANY_OUTPUTS = 8 };
#else
enum { MANY_OUTPUTS = 1024 };
#endif

static bool gathers(const Model *model, int n, int rows)
{
    return config_outputs(&model->config) >= MANY_OUTPUTS && n > 0 && n <= rows / 2;
}

Asked model_asked(Tape *tape, const Model *model, Batch batch)
{
    Asked asked = { .rows = batch.B * batch_targets(batch) };
    int *at = arena_take(tape->mem, (size_t)asked.rows * sizeof *at);
    int *target = arena_take(tape->mem, (size_t)asked.rows * sizeof *target);

    for (int i = 0; i < asked.rows; i++)
        if (batch.target[i] >= 0)
            at[asked.n] = i, target[asked.n++] = batch.target[i];
    if (!gathers(model, asked.n, asked.rows)) {
        asked.n = asked.rows;
        for (int i = 0; i < asked.rows; i++)
            at[i] = i, target[i] = batch.target[i];
    }
    asked.at = at, asked.target = target;
    return asked;
}

/*
 * Batches differ in their number of targets: leaves room for the most that are gathered, so that
 * the memory of the first step is enough for all. A row has some more numbers besides its logits
 * and its input, and each of its arrays is rounded up. The room is not touched.
 */
static void leave_room(Tape *tape, const Model *model, Asked asked)
{
    const Config *c = &model->config;
    const int logits = (c->logit_cap ? 2 : 1) * config_outputs(c);
    const size_t row = (size_t)(logits + 2 * c->width + 128);
    const size_t bytes = (size_t)(asked.rows / 2 - asked.n + 1) * row * sizeof(real);

    arena_give(tape->mem, arena_take(tape->mem, bytes), bytes);
}

Tensor *model_answers(Tape *tape, const Model *model, Batch batch, Asked asked, uint64_t dropout)
{
    Pass p = pass_of(tape, model);
    Tensor *x = run_batch(&p, model, batch, dropout);

    if (asked.n == asked.rows)
        return head(&p, model, x);
    leave_room(tape, model, asked);
    return head(&p, model, op_pick(tape, x, asked.at, asked.n));
}

static Tensor *logits(Pass *p, const Model *model, const int *id, int B, int T)
{
    return head(p, model, run(p, model, (Embedding){ .id = id, .B = B, .T = T }));
}

Tensor *model_logits(Tape *tape, const Model *model, const int *id, int B, int T, uint64_t dropout)
{
    Pass p = pass_of(tape, model);

    p.step = dropout;
    return logits(&p, model, id, B, T);
}

Tensor *model_next(Tape *tape, const Model *model, const int *id, int n)
{
    Pass p = pass_of(tape, model);
    Tensor *x = run(&p, model, (Embedding){ .id = id, .B = 1, .T = n });
    const int last = n - 1;

    return head(&p, model, op_pick(tape, x, &last, 1));
}

Tensor *model_watch(Tape *tape, const Model *model, const int *id, int T, Watch watch)
{
    Pass p = pass_of(tape, model);

    p.watch = watch;
    Tensor *x = run(&p, model, (Embedding){ .id = id, .B = 1, .T = T });
    return model->config.task == TASK_CLASSIFY ? x : head(&p, model, x);
}

Tensor *model_losses(Tape *tape, const Model *model, Batch batch, uint64_t dropout)
{
    const Asked asked = model_asked(tape, model, batch);
    Tensor *x = model_answers(tape, model, batch, asked, dropout);
    Tensor *loss = op_cross_entropy(tape, x, asked.target);

    if (asked.n == asked.rows)
        return loss;
    loss = op_place(tape, tensor_reshape(loss, SHAPE(asked.n, 1)), asked.at, asked.rows);
    return tensor_reshape(loss, SHAPE(asked.rows));
}
