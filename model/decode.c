#include "model/decode.h"

#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/decoding.h"

#include <limits.h>
#include <stdlib.h>

struct Decoder {
    const Model *model;
    Tape tape;
};

/* The state of a layer with this mechanism. */
static size_t state_of(const Config *part, int positions)
{
    MixSize size = config_mix_size(part);

    size.T = positions;
    settings_fit_context(&size.set, part->attention, CONTEXT_AT_LEAST, part->context);
    const size_t one = attention_state(&size);
    if (one > INT_MAX)
        die(EXIT_MEMORY,
            "the state of %d tokens would have %zu numbers per layer, more than attn.c can "
            "index: use fewer tokens",
            positions, one);
    return one;
}

static void check_memory(const Config *c, int positions)
{
    double bytes = 0, here = machine_memory();

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        bytes += (double)config_mixes(&part) * (double)state_of(&part, positions) * sizeof(real);
    }
    if (bytes > here)
        die(EXIT_MEMORY,
            "the state of %d tokens with %s attention would take %.1f GiB, but the machine has "
            "%.1f: use fewer tokens",
            positions, config_mechanisms(c).at, bytes / 0x1p30, here / 0x1p30);
}

/* The first mechanism that cannot decode. */
static const char *not_decoding(const Config *c)
{
    int i = 0;

    while (attention_decodes(config_part(c, i).attention))
        i++;
    return config_part(c, i).attention->name;
}

Decoder *decoder_new(const Model *model, Pool *pool, int positions)
{
    Decoder *d = xmalloc(sizeof *d);

    if (model->config.task != TASK_CAUSAL)
        BUG("decoder: the model sees both sides");
    if (config_ends(&model->config) && positions > model->config.context)
        BUG("decoder: %d tokens, and positions for %d", positions, model->config.context);
    if (!config_decodes(&model->config))
        die(EXIT_USAGE, "%s attention cannot decode: its models cannot continue a text",
            not_decoding(&model->config));
    check_memory(&model->config, positions);
    *d = (Decoder){ .model = model };
    d->tape = (Tape){ arena_new(), pool, .forward_only = true, .row_by_row = true };
    d->tape.decoding = decoding_new(positions);
    return d;
}

void decoder_free(Decoder *d)
{
    decoding_free(d->tape.decoding);
    arena_free(d->tape.mem);
    free(d);
}

void decoder_reset(Decoder *d)
{
    decoding_reset(d->tape.decoding);
}

size_t decoder_held(const Decoder *d)
{
    return decoding_held(d->tape.decoding) + arena_held(d->tape.mem);
}

const real *decoder_step(Decoder *d, int token)
{
    if (d->tape.decoding->t == d->tape.decoding->most)
        BUG("decoder: more than %d tokens", d->tape.decoding->most);
    tape_reset(&d->tape);
    const Tensor *logits = model_logits(&d->tape, d->model, &token, 1, 1, 0);
    d->tape.decoding->t++;
    return logits->data;
}
