#include "ops/attention/engine/linear.h"

#include <stddef.h>
#include <string.h>

const char *const scale_names[] = { "sqrt", "entropy", "logn", NULL };
const char *const gau_norm_names[] = {
    "n", "fixed", "n2", "sum", "softmax", "entropy", "logn", NULL
};
const char *const interaction_names[] = { "mul", "add", "concat", NULL };

const Attention *const attentions[] = {
    &attention_softmax,
    &attention_relu,
    &attention_elu,
    &attention_exp,
    &attention_cosformer,
    &attention_performer,
    &attention_efficient,
    &attention_identity,
    &attention_leaky,
    &attention_fastformer,
    &attention_gau,
    &attention_flash,
    NULL,
};

const Attention *attention_find(const char *name)
{
    for (const Attention *const *a = attentions; *a; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}

const char *const mix_operand_names[] = {
    [MIX_Q] = "q",           [MIX_K] = "k",           [MIX_V] = "v",
    [MIX_OMEGA] = "omega",   [MIX_POOL_Q] = "pool_q", [MIX_POOL_K] = "pool_k",
    [MIX_CONCAT] = "concat", [MIX_QL] = "ql",         [MIX_KL] = "kl",
    [MIX_OPERANDS] = NULL,
};

Tensor **mix_operand(Mix *in, MixOperand operand)
{
    Tensor **const at[] = {
        [MIX_Q] = &in->q,           [MIX_K] = &in->k,           [MIX_V] = &in->v,
        [MIX_OMEGA] = &in->omega,   [MIX_POOL_Q] = &in->pool_q, [MIX_POOL_K] = &in->pool_k,
        [MIX_CONCAT] = &in->concat, [MIX_QL] = &in->ql,         [MIX_KL] = &in->kl,
    };

    return at[operand];
}

bool mix_needs(const Attention *a, Settings set, MixOperand operand)
{
    if (operand == MIX_CONCAT && set.interaction != INTERACTION_CONCAT)
        return false;
    return operand <= MIX_V || (a->needs >> operand & 1);
}

Tensor *attention_mix(const Attention *a, Tape *tape, Mix in)
{
    return a->map ? linear_mix(tape, in, a->map) : a->mix(tape, in);
}

double attention_cost(const Attention *a, MixSize size)
{
    return a->map ? linear_cost(size, a->map) : a->cost(size);
}

MixMemory attention_memory(const Attention *a, MixSize size)
{
    if (a->map)
        return linear_memory(size, a->map);
    return a->memory ? a->memory(size) : (MixMemory){ 0, 0 };
}

size_t attention_state(const Attention *a, MixSize size)
{
    return a->map ? linear_state(size, a->map) : a->state(size);
}

void attention_step(const Attention *a, Step s)
{
    if (a->map)
        linear_step(s, a->map);
    else
        a->step(s);
}
