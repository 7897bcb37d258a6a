#include "tests/small.h"

#include "training/saved.h"

#include <string.h>

/* What a frame's variants have beside the common. */
typedef struct {
    const char *name;
    Position position;
    Config with;
} Framed;

static const Framed framed[VARIANTS - PLAIN_VARIANTS] = {
    { "softmax",
      POSITION_ROPE,
      { .key_size = 4, .set = { .scale = SCALE_ENTROPY, .base = 8 }, .bias = true } },
    { "softmax", POSITION_LEARNED, { .key_size = 9, .set = { .window = 4 }, .ffn = FFN_SWIGLU } },
    { "gau",
      POSITION_ROPE,
      { .key_size = 6, .set = { .norm = GAU_SOFTMAX }, .bias = true, .norm = NORM_LAYER } },
    { "gau", POSITION_LEARNED, { .key_size = 6, .tied = true } },
    { "gau", POSITION_NONE, { .key_size = 8, .gateless = true, .set = { .norm = GAU_SUM } } },
    { "gau", POSITION_ROPE, { .set = { .norm = GAU_ENTROPY, .base = 4 } } },
    { "flash", POSITION_ROPE, { .key_size = 6, .set = { .chunk = 3 }, .tied = true } },
    { "flash", POSITION_SINUSOIDAL, { .key_size = 4, .gateless = true } },
    { "fastformer", POSITION_LEARNED, { .bias = true } },
    { "fastformer", POSITION_LEARNED, { .share = SHARE_QV, .tied = true } },
    { "fastformer", POSITION_SINUSOIDAL, { .share = SHARE_LAYERS, .norm = NORM_LAYER } },
    { "fastformer", POSITION_LEARNED, { .share = SHARE_HEADS, .ffn = FFN_SWIGLU } },
    { "fastformer",
      POSITION_LEARNED,
      { .share = SHARE_QV | SHARE_LAYERS | SHARE_HEADS, .bias = true } },
    { "fastformer", POSITION_LEARNED, { .set = { .interaction = INTERACTION_CONCAT } } },
    { "performer", POSITION_ROPE, { .features = 10, .key_size = 4 } },
    { "performer", POSITION_LEARNED, { .norm = NORM_LAYER } },
};

static Config framed_variant(const Framed *f)
{
    Config c = f->with;

    c.attention = attention_find(f->name);
    c.vocab = 11, c.layers = 2, c.width = 12, c.context = 8, c.position = f->position;
    c.heads = c.attention->frame == FRAME_GATED ? 1 : 2;
    return c;
}

bool small_drops_key_bias(const Config *c)
{
    return c->attention == &attention_softmax && c->position != POSITION_ROPE;
}

Config small_variant(int i)
{
    int position = i % 4, ffn = i / 4 % 2, norm = i / 8;

    if (i >= PLAIN_VARIANTS)
        return framed_variant(&framed[i - PLAIN_VARIANTS]);

    return (Config){
        .attention = &attention_softmax,
        .vocab = 11,
        .layers = 2,
        .heads = 2,
        .width = 12,
        .context = 8,
        .position = (Position)position,
        .ffn = (Ffn)ffn,
        .norm = (NormKind)norm,
        .tied = (position + ffn + norm) % 2,
        .bias = (position / 2 + norm) % 2,
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

void small_close(Small *s)
{
    arena_free(s->mem);
}

void small_leave_out(Small *s, const char *name)
{
    const Tensor *t = params_find(&s->model.params, name);
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
    Tokenizer *t = tokenizer_learn("byte", (Bytes){ NULL, 0 });
    const Origin origin = { .task = task_names[model->config.task], .tokenizer = t };
    const Progress progress = { .step = step, .best = 2.5, .best_step = step, .loss = 2.5 };

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
