#include "tests/small.h"

#include "model/checkpoint.h"
#include "model/layer.h"
#include "model/mechanisms.h"
#include "training/saved.h"

#include <string.h>

/* A model of another attention: what it has beside the common, and its settings. */
typedef struct {
    const char *attention; /* or a list */
    Config with;
    struct {
        const char *name, *value;
    } set[4];
} Other;

static const Other others[VARIANTS - PLAIN_VARIANTS] = {
    { "softmax",
      { .position = POSITION_ROPE, .bias = true, .hidden = 19, .rope_base = 500, .eps = 1 },
      { { "key-size", "4" }, { "scale", "entropy" }, { "base", "8" } } },
    { "softmax",
      { .position = POSITION_LEARNED, .ffn = FFN_SWIGLU },
      { { "key-size", "9" }, { "window", "4" } } },
    { "gau",
      { .position = POSITION_ROPE, .bias = true, .norm = NORM_LAYER },
      { { "key-size", "6" }, { "norm", "softmax" } } },
    { "gau", { .position = POSITION_LEARNED, .tied = true }, { { "key-size", "6" } } },
    { "gau",
      { .position = POSITION_NONE },
      { { "key-size", "8" }, { "gate", "0" }, { "norm", "sum" } } },
    { "gau", { .position = POSITION_ROPE }, { { "norm", "entropy" }, { "base", "4" } } },
    { "flash-gau",
      { .position = POSITION_ROPE, .tied = true },
      { { "key-size", "6" }, { "chunk", "3" } } },
    { "flash-gau", { .position = POSITION_SINUSOIDAL }, { { "key-size", "4" }, { "gate", "0" } } },
    { "fastformer", { .position = POSITION_LEARNED, .bias = true }, { { 0 } } },
    { "fastformer", { .position = POSITION_LEARNED, .tied = true }, { { "share", "qv" } } },
    { "fastformer",
      { .position = POSITION_SINUSOIDAL, .norm = NORM_LAYER },
      { { "share", "layers" } } },
    { "fastformer", { .position = POSITION_LEARNED, .ffn = FFN_SWIGLU }, { { "share", "pools" } } },
    { "fastformer",
      { .position = POSITION_LEARNED, .bias = true },
      { { "share", "qv" }, { "share", "layers" }, { "share", "pools" } } },
    { "fastformer",
      { .position = POSITION_LEARNED, .bias = true },
      { { "share", "qv" }, { "share", "heads" } } },
    { "fastformer", { .position = POSITION_LEARNED }, { { "interaction", "concat" } } },
    { "fastformer",
      { .position = POSITION_LEARNED },
      { { "interaction", "concat" }, { "share", "heads" } } },
    { "fastformer",
      { .position = POSITION_LEARNED },
      { { "interaction", "add" }, { "share", "layers" } } },
    { "fastformer",
      { .position = POSITION_LEARNED },
      { { "interaction", "concat" }, { "products", "first" }, { "share", "pools" } } },
    { "softmax", { .position = POSITION_ROPE, .ffn = FFN_NONE, .bias = true }, { { 0 } } },
    { "softmax",
      { .position = POSITION_LEARNED, .ffn = FFN_SWIGLU, .no_residual = true },
      { { 0 } } },
    { "elu",
      { .position = POSITION_LEARNED, .ffn = FFN_NONE, .no_residual = true, .tied = true },
      { { 0 } } },
    { "gau", { .position = POSITION_LEARNED, .no_residual = true }, { { "key-size", "6" } } },
    { "fastformer", { .position = POSITION_LEARNED, .no_residual = true }, { { 0 } } },
    { "elu",
      { .position = POSITION_NONE },
      { { "key-size", "4" }, { "out-norm", "rms" }, { "out-gate", "1" } } },
    { "softmax", { .position = POSITION_ROPE, .bias = true }, { { "out-gate", "1" } } },
    { "performer", { .position = POSITION_ROPE }, { { "learn-omega", "1" }, { "key-size", "4" } } },
    { "performer",
      { .position = POSITION_LEARNED, .bias = true },
      { { "kernel", "relu" }, { "learn-omega", "1" }, { "features", "7" } } },
    { "gau",
      { .position = POSITION_ROPE, .heads = 2, .bias = true },
      { { "key-size", "4" }, { "norm", "n2" } } },
    { "flash-gau",
      { .position = POSITION_ROPE, .heads = 3 },
      { { "key-size", "2" }, { "chunk", "3" }, { "rel-bias", "rope" } } },
    { "gau",
      { .position = POSITION_ROPE, .heads = 2 },
      { { "key-size", "4" }, { "conv", "2" }, { "qk-norm", "rms" } } },
    { "softmax",
      { .position = POSITION_ROPE, .bias = true },
      { { "conv", "4" }, { "qk-norm", "rms" } } },
    { "elu",
      { .position = POSITION_NONE },
      { { "conv", "3" }, { "conv-silu", "0" }, { "qk-norm", "l2" } } },
    { "fastformer",
      { .position = POSITION_LEARNED, .tied = true },
      { { "share", "qv" }, { "conv", "3" }, { "qk-norm", "l2" } } },
    { "retnet,fastformer:share=qv+pools", { .position = POSITION_ROPE, .layers = 3 }, { { 0 } } },
    { "elu,softmax:window=3:out-gate=on:scale=logn:base=2",
      { .position = POSITION_ROPE, .bias = true },
      { { 0 } } },
    { "softmax", { .position = POSITION_ROPE }, { { "out-norm", "all" } } },
    { "mamba2", { .position = POSITION_NONE, .bias = true }, { { "key-size", "4" } } },
    { "mamba2",
      { .position = POSITION_LEARNED },
      { { "share-keys", "0" }, { "conv", "3" }, { "out-norm", "rms" }, { "qk-norm", "rms" } } },
    { "mamba2",
      { .position = POSITION_NONE, .ffn = FFN_NONE },
      { { "skip", "0" }, { "out-gate", "0" }, { "conv", "0" }, { "qk-norm", "l2" } } },
    { "softmax", { .position = POSITION_ROPE, .ffn = FFN_RELU2, .bias = true }, { { 0 } } },
    { "relu", { .position = POSITION_ROPE, .ffn = FFN_RELU2, .logit_cap = 9 }, { { 0 } } },
    { "elu,softmax:window=3", { .position = POSITION_ROPE, .shortcut = true }, { { 0 } } },
    { "gau",
      { .position = POSITION_LEARNED, .shortcut = true, .logit_cap = 20 },
      { { "key-size", "6" } } },
    { "fastformer",
      { .position = POSITION_SINUSOIDAL, .shortcut = true },
      { { "share", "layers" } } },
    { "retnet,softmax:conv=3", { .position = POSITION_ROPE, .value_embedding = true }, { { 0 } } },
    { "gau", { .position = POSITION_NONE, .value_embedding = true }, { { "conv", "2" } } },
    { "fastformer",
      { .position = POSITION_LEARNED, .value_embedding = true },
      { { "share", "qv" } } },
    { "fastformer",
      { .position = POSITION_LEARNED, .value_embedding = true },
      { { "share", "layers" } } },
    { "softmax",
      { .position = POSITION_ROPE, .heads = 4, .kv_heads = 2, .bias = true },
      { { "conv", "3" }, { "qk-norm", "rms" }, { "key-size", "4" } } },
    { "softmax",
      { .position = POSITION_LEARNED, .heads = 4, .kv_heads = 2 },
      { { "weight", "sigmoid" }, { "window", "5" } } },
    { "relu",
      { .position = POSITION_LEARNED, .kv_heads = 1, .bias = true, .value_embedding = true },
      { { "key-size", "4" }, { "out-gate", "1" } } },
    { "mamba2",
      { .position = POSITION_NONE, .heads = 4, .kv_heads = 1 },
      { { "share-keys", "0" }, { "conv", "2" } } },
    { "retnet,longformer:reach=4", { .position = POSITION_ROPE, .kv_heads = 1 }, { { 0 } } },
    { "exp", { .position = POSITION_NONE, .heads = 4, .kv_heads = 2 }, { { 0 } } },
    { "gau",
      { .position = POSITION_NONE },
      { { "key-size", "7" }, { "rel-bias", "rope" }, { "norm", "fixed" }, { "base", "3" } } },
    { "performer", { .position = POSITION_ROPE }, { { "features", "10" }, { "key-size", "4" } } },
    { "performer", { .position = POSITION_LEARNED, .norm = NORM_LAYER }, { { 0 } } },
};

void small_set(Config *c, const char *name, const char *value)
{
    const Setting *s = attention_takes(c->attention, name);
    int *to = setting_at(&c->set, name), bit = 0;

    ck_assert_msg(s != NULL, "%s does not take %s", c->attention->name, name);
    if (s->kind != SETTING_SET) {
        ck_assert_msg(setting_parse(s, value, to), "%s is never %s", name, value);
        return;
    }
    while (s->choices[bit] && strcmp(s->choices[bit], value) != 0)
        bit++;
    ck_assert_msg(s->choices[bit] != NULL, "%s is never %s", name, value);
    *to |= 1 << bit;
}

static Config small_other(const Other *o)
{
    Config c = o->with;

    const Text wrong = config_read_mechanisms(&c, o->attention);
    ck_assert_msg(!wrong.n, "%s: %s", o->attention, wrong.at);
    if (!c.listed)
        c.set = settings_default(c.attention);
    c.vocab = 11, c.layers = c.layers ? c.layers : 2, c.width = 12, c.context = 8;
    c.heads = c.heads ? c.heads : layer_of(c.attention)->one_head ? 1 : 2;
    for (int i = 0; i < COUNT(o->set) && o->set[i].name; i++)
        small_set(&c, o->set[i].name, o->set[i].value);
    return c;
}

bool small_drops_key_bias(const Config *c)
{
    return attention_traits(c->attention, &c->set) & AVERAGES && c->position != POSITION_ROPE;
}

Config small_variant(int i)
{
    int position = i % 4, ffn = i / 4 % 2, norm = i / 8;

    if (i >= PLAIN_VARIANTS)
        return small_other(&others[i - PLAIN_VARIANTS]);

    return (Config){
        .attention = &attention_softmax,
        .vocab = 11,
        .layers = 2,
        .heads = 2,
        .width = 12,
        .context = 8,
        .position = position,
        .ffn = ffn,
        .norm = norm,
        .tied = (position + ffn + norm) % 2,
        .bias = (position / 2 + norm) % 2,
        .set = settings_default(&attention_softmax),
    };
}

static Tensor *losses(Tape *tape, void *small)
{
    const Small *s = small;

    return model_losses(tape, &s->model, s->batch, s->mask);
}

static int *tokens(Arena *mem, int n, int vocab, uint64_t seed)
{
    int *id = arena_take(mem, (size_t)n * sizeof *id);
    Random r = random_stream(seed, RANDOM_TEST, 2);

    for (int i = 0; i < n; i++)
        id[i] = (int)random_below(r, (uint64_t)i, (uint64_t)vocab);
    return id;
}

Small *small_open(Config c, int B, int T)
{
    Arena *mem = arena_new();
    Small *s = arena_zeros(mem, sizeof *s);
    Tensor **x;

    s->mem = mem, s->mask = MASK;
    model_init(&s->model, c, mem, 1);
    s->batch = (Batch){ .B = B,
                        .T = T,
                        .id = tokens(mem, B * T, c.vocab, 1),
                        .target = tokens(mem, B * T, c.vocab, 2) };
    x = arena_take(mem, (size_t)s->model.params.count * sizeof(Tensor *));
    s->subject = (Subject){ .name = "model", .f = losses, .ctx = s, .x = x };
    ck_assert_int_le(s->model.params.count, OPERANDS);
    for (const Param *p = s->model.params.first; p; p = p->next)
        if (!p->fixed)
            x[s->subject.n++] = p->tensor;
    return s;
}

Small *small_for_decoding(Config c, int tokens)
{
    Small *s = small_open(c, 1, tokens);
    bool heads = layer_of(c.attention) == &layer_heads;

    small_overwrite(s, layer_of(c.attention)->one_head ? 0.7 : 0.3);
    for (Block *b = s->model.blocks; heads && c.bias && b < s->model.blocks + c.layers; b++)
        for (int i = 0; i < 2; i++) {
            Tensor *bias = i ? b->k.b : b->q.b;

            for (size_t j = 0; bias && j < bias->n; j++)
                bias->data[j] += 2;
        }
    return s;
}

void small_close(Small *s)
{
    arena_free(s->mem);
}

Tensor *param_named(const Params *params, const char *name)
{
    for (const Param *p = params->first; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p->tensor;
    return NULL;
}

void small_leave_out(Small *s, const char *name)
{
    const Tensor *t = param_named(&s->model.params, name);
    Tensor **x = (Tensor **)(uintptr_t)s->subject.x;
    int n = 0;

    for (int j = 0; j < s->subject.n; j++)
        if (x[j] != t)
            x[n++] = x[j];
    s->subject.n = n;
}

/* Betas are around 1: most scores of a gated unit are positive then, and none is dead. */
void small_overwrite(Small *s, double scale)
{
    uint64_t seed = 300;

    for (const Param *p = s->model.params.first; p; p = p->next) {
        bool beta = strstr(p->name, "beta_");

        if (!p->fixed)
            fill(p->tensor->data, p->tensor->n, seed++, beta ? scale / 4 : scale);
        for (size_t i = 0; beta && i < p->tensor->n; i++)
            p->tensor->data[i] += 1;
    }
}

real *small_logits(const Small *s, const int *id, int B, int T, int threads)
{
    const int context = s->model.config.context;
    const Model longer = T > context ? model_at(&s->model, T, s->mem) : s->model;
    Tape tape = tape_open(threads);

    tape.forward_only = true;
    const Tensor *y = model_logits(&tape, &longer, id, B, T, MASK);
    real *copy = arena_take(s->mem, y->n * sizeof *copy);
    memcpy(copy, y->data, y->n * sizeof *copy);
    tape_close(&tape);
    return copy;
}

double small_learn(const Small *s, Tape *tape, double by)
{
    Arena *mem = arena_new();

    tape_reset(tape);
    Tensor *loss = model_losses(tape, &s->model, s->batch, s->mask);
    size_t n = loss->n;
    real *dy = arena_take(mem, n * sizeof *dy);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)loss->data[i];
        dy[i] = R(by / (double)n);
    }
    tape_backward(tape, loss, dy);
    arena_free(mem);
    return sum / (double)n;
}

void small_save(const Model *model, const char *path, int step)
{
    small_save_with(model, path, step, NULL);
}

void small_save_with(const Model *model, const char *path, int step, const Meta *option)
{
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    const Origin origin = { .task = task_names[model->config.task],
                            .tokenizer = t,
                            .option = option,
                            .options = option != NULL };
    const Progress progress = { .step = step,
                                .evaluated = step,
                                .best = step ? 2.5 : HUGE_VAL,
                                .best_step = step,
                                .loss = 2.5 };

    saved_write(path, model, NULL, progress, &origin);
    tokenizer_free(t);
}

bool same_parameters(const Model *a, const Model *b)
{
    const Param *p = a->params.first, *q = b->params.first;

    while (p && q && strcmp(p->name, q->name) == 0 && p->tensor->n == q->tensor->n &&
           same_bits(p->tensor->data, q->tensor->data, p->tensor->n))
        p = p->next, q = q->next;
    return !p && !q;
}

Safetensors *load_checkpoint(const char *path, Model *model, Arena *mem)
{
    Safetensors *file = safetensors_read(path);

    checkpoint_model(file, path, model, mem);
    return file;
}

double plain_norm(const Params *params)
{
    double sum = 0;

    for (const Param *p = params->first; p; p = p->next)
        for (size_t i = 0; p->tensor->has_grad && i < p->tensor->n; i++)
            sum += (double)p->tensor->grad[i] * (double)p->tensor->grad[i];
    return sqrt(sum);
}
