#include "model/config.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

const char *const position_names[] = { "rope", "learned", "sinusoidal", "none", NULL };
const char *const ffn_names[] = { "gelu", "swiglu", "relu2", "none", NULL };
const char *const norm_names[] = { "rms", "layer", NULL };
const char *const eps_names[] = { "1e-5", "1e-6", "1e-8", "1e-12", NULL };
const char *const out_names[] = { "scaled", "zero", NULL };
const char *const task_names[] = { "causal", "mlm", "classify", NULL };
const char *const pool_names[] = { "mean", "attention", "first", NULL };
const char *const pairs_names[] = { "joined", "towers", NULL };

int position_default(const Attention *a)
{
    int i = a->traits & CAN_ROPE ? POSITION_ROPE : POSITION_LEARNED;

    if (a->position)
        for (i = 0; strcmp(position_names[i], a->position) != 0; i++)
            ;
    return i;
}

#define NUMBER(key, field, min, max)                                                               \
    {                                                                                              \
        { .name = key, .least = min, .most = max }, offsetof(Config, field)                        \
    }
#define FLAG(key, field)                                                                           \
    {                                                                                              \
        { .name = key, .kind = SETTING_FLAG }, offsetof(Config, field)                             \
    }
#define CHOICE(key, field, names)                                                                  \
    {                                                                                              \
        { .name = key, .kind = SETTING_CHOICE, .choices = names }, offsetof(Config, field)         \
    }

/* A required number has a default of 0, which is below its minimum. */
static const struct {
    Setting key;
    size_t at;
} own[] = {
    CHOICE("position", position, position_names),
    CHOICE("ffn", ffn, ffn_names),
    CHOICE("layer_norm", norm, norm_names),
    CHOICE("task", task, task_names),
    NUMBER("vocab", vocab, 1, 1 << 24),
    NUMBER("n_layer", layers, 1, 1000),
    NUMBER("n_head", heads, 1, 1 << 14),
    NUMBER("n_embd", width, 1, 1 << 14),
    NUMBER("block_size", context, 1, 1 << 24),
    FLAG("tied", tied),
    FLAG("bias", bias),
    FLAG("no_residual", no_residual),
    NUMBER("classes", classes, 0, 1 << 16),
    CHOICE("pool", pool, pool_names),
    CHOICE("pairs", pairs, pairs_names),
    NUMBER("n_inner", hidden, 0, INNER_MOST),
    NUMBER("rope_base", rope_base, 0, ROPE_BASE_MOST),
    CHOICE("norm_eps", eps, eps_names),
    FLAG("shortcut", shortcut),
    NUMBER("logit_cap", logit_cap, 0, LOGIT_CAP_MOST),
    FLAG("from_last", from_last),
    FLAG("value_embedding", value_embedding),
    NUMBER("n_kv_head", kv_heads, 0, 1 << 14),
};
enum { OWN = sizeof own / sizeof *own };

const Setting *config_key(int i)
{
    return i < OWN ? &own[i].key : settings_at(i - OWN);
}

int *config_value(Config *c, int i)
{
    return i < OWN ? (int *)(void *)((char *)c + own[i].at) : &c->set.at[i - OWN];
}

bool config_has(const Config *c, int i)
{
    const char *const *choices = config_key(i)->choices;

    if (choices == pool_names || choices == pairs_names)
        return c->task == TASK_CLASSIFY;
    return i < OWN || (!c->listed && attention_takes(c->attention, config_key(i)->name));
}

bool config_needs(int i)
{
    return i < OWN && own[i].key.least > 0;
}
