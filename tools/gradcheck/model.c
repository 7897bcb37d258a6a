/* Every parameter of a small model. */
#include "model/model.h"
#include "tools/gradcheck/gradcheck.h"

enum { B = 2, V = 7 };

typedef struct {
    Model model;
    Batch batch;
} ModelCase;

static Tensor *apply_model(Tape *tape, void *ctx)
{
    const ModelCase *c = ctx;

    return model_losses(tape, &c->model, c->batch, 0);
}

/* What a model of one block can leave out, or have besides; and the size of its numbers. */
static const struct {
    const char *name;
    double size;
    int ffn, no_residual, logit_cap, shortcut, from_last, value_embedding, kv_heads;
} kinds[] = { { .name = "in a model", .size = 0.5 },
              { .name = "without residual", .size = 0.6, .no_residual = true },
              { .name = "without ffn", .size = 0.5, .ffn = FFN_NONE },
              { .name = "without either", .size = 0.6, .ffn = FFN_NONE, .no_residual = true },
              { .name = "with relu2 and cap", .size = 0.5, .ffn = FFN_RELU2, .logit_cap = 3 },
              { .name = "with a shortcut", .size = 0.5, .shortcut = true },
              { .name = "with value embeddings", .size = 0.8, .value_embedding = true },
              { .name = "from the last position", .size = 0.5, .from_last = true },
              { .name = "with shared k and v", .size = 0.5, .kv_heads = 1 } };
enum { KINDS = sizeof kinds / sizeof *kinds };

/*
 * Every parameter of a model of one block, gains too, large enough that each of them
 * matters. No biases: the derivative of one that is added to every logit of a row is 0,
 * and only rounding would be compared.
 */
static void check_kind(Report *r, const Attention *a, int kind)
{
    enum { LENGTH = 6, CONTEXT = 7 };
    Config config = { .attention = a, .vocab = V, .layers = 1, .width = 8, .context = CONTEXT };
    int id[B * LENGTH], target[B * LENGTH];
    ModelCase m = { .batch = { .B = B, .T = LENGTH, .id = id, .target = target } };
    Case c = { .name = a->name, .f = apply_model, .ctx = &m };
    uint64_t seed = 300;

    snprintf(c.set, sizeof c.set, "%s", kinds[kind].name);
    config.task = a->traits & BIDIRECTIONAL_ONLY ? TASK_MLM : TASK_CAUSAL;
    config.heads = layer_of(a)->one_head ? 1 : 2;
    config.position = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;
    config.set = settings_default(a);
    config.ffn = kinds[kind].ffn, config.no_residual = kinds[kind].no_residual;
    config.shortcut = kinds[kind].shortcut, config.from_last = kinds[kind].from_last;
    config.value_embedding = kinds[kind].value_embedding;
    config.logit_cap = kinds[kind].logit_cap, config.kv_heads = kinds[kind].kv_heads;
    config_check(&config);
    for (int i = 0; i < B * LENGTH; i++)
        id[i] = i * i % V, target[i] = (3 * i + 1) % V;
    model_init(&m.model, config, r->mem, 1);
    for (const Param *p = m.model.params.first; p; p = p->next) {
        fill(p->tensor->data, p->tensor->n, seed++, kinds[kind].size);
        if (!p->fixed)
            put_operand(&c, p->name, p->tensor);
    }
    check(r, &c);
    sum_up(r, a->name, text_format(" %s", kinds[kind].name).at);
}

/*
 * A gated unit has no feed-forward layer; its gradients behind a share of x, or behind the last
 * position alone, are so small that differences would be of rounding. In some mechanisms heads
 * cannot share k and v.
 */
static bool can_check(const Attention *a, int kind)
{
    const Config c = { .attention = a, .set = settings_default(a) };

    if (kinds[kind].kv_heads)
        return layer_of(a)->groups && !has_flag(&c, "share-keys");
    return layer_of(a)->feed_forward ||
           (kinds[kind].ffn == FFN_GELU && !kinds[kind].shortcut && !kinds[kind].from_last);
}

void check_model(Report *r, const Attention *a)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (can_check(a, kind))
            check_kind(r, a, kind);
}
