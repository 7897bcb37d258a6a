/* The memory that a model needs, to train and to be evaluated. */
#include "model/config_size.h"
#include "model/layer.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/ops.h"

/*
 * Numbers per token that a block keeps for its backward pass, besides its result. Without a
 * feed-forward layer there is neither the norm nor the sum that the layer counted for it.
 */
static double kept(const Config *c)
{
    const Layer *layer = layer_of(c->attention);
    MixSize s = config_mix_size(c);
    double hidden = config_feeds(c)       ? (c->ffn == FFN_SWIGLU ? 3.0 : 1) * config_hidden(c)
                    : layer->feed_forward ? -2.0 * c->width
                                          : 0;

    return layer->kept(c, &s) + hidden + (c->dropout > 0 ? 4.0 * c->width : 0);
}

static double kept_in_all(const Config *c)
{
    return c->layers * kept(c);
}

/* The same of the layer behind all blocks, with its result and the sum that goes into it. */
static double kept_by_last(const Config *c)
{
    if (!c->from_last)
        return 0;
    return 3.0 * c->width + (c->ffn == FFN_SWIGLU ? 3.0 : 1) * config_hidden(c);
}

/* Of all of these, and of the one that keeps most. */
static double kept_by_all(const Config *c)
{
    return config_sum(c, kept_in_all) + kept_by_last(c);
}

static double kept_by_one(const Config *c)
{
    return fmax(config_most(c, kept), kept_by_last(c));
}

/* The most that the backward pass needs besides that: of a mix, per token, */
static double mix_back(const Config *c)
{
    const Layer *layer = layer_of(c->attention);
    MixSize s = config_mix_size(c);

    return c->width + attention_memory(&s).back + layer->back(c, &s);
}

/* and of these tokens. */
static double way_back(const Config *c, double tokens)
{
    const double each = config_most(c, mix_back);
    bool feeds = c->from_last;

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        feeds = feeds || config_feeds(&part);
    }
    if (!feeds)
        return tokens * each;
    if (c->ffn == FFN_SWIGLU)
        return tokens * (each + 3.0 * config_hidden(c));
    return tokens * each + fmin(tokens, DENSE_ROWS) * config_hidden(c);
}

/* Numbers per token outside the blocks: between them, the last norm, and the outputs. */
static double ends(const Config *c)
{
    const double logits = c->task == TASK_CLASSIFY ? 0 : c->vocab;

    return c->width * ((c->shortcut ? 4 : 1) * c->layers + 2.0) + (c->logit_cap ? 2 : 1) * logits;
}

static double angles(const Config *c)
{
    const MixSize s = config_mix_size(c);

    return s.rope ? (double)c->context * attention_rotated(&s) : 0;
}

/* Numbers in a step that do not depend on its tokens: fixed parameters, angles and sinusoids. */
static double fixed(const Config *c)
{
    const double table = c->position == POSITION_SINUSOIDAL ? (double)c->context * c->width : 0;

    return config_fixed_parameters(c) + config_sum(c, angles) + table;
}

double config_memory(const Config *c, Load load)
{
    double blocks = load.recompute ? kept_by_one(c) : kept_by_all(c);

    return sizeof(real) * (2 * config_parameters(c) + load.state + fixed(c) +
                           load.tokens * (blocks + ends(c)) + way_back(c, load.tokens));
}

double config_forward_memory(const Config *c, double tokens)
{
    return sizeof(real) * (config_parameters(c) + fixed(c) + tokens * (kept_by_one(c) + ends(c)));
}

void config_check_memory(const Config *c, Load load)
{
    double wanted = config_memory(c, load), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "training with a context of %d and %.0f tokens per batch would take about %s, "
            "but the machine has %s: reduce the batch size, the context or the model%s",
            c->context, load.tokens, text_memory(wanted).at, text_memory(here).at,
            load.recompute ? "" : ", or use --recompute");
}

void config_check_forward_memory(const Config *c, double tokens)
{
    double wanted = config_forward_memory(c, tokens), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "reading %.0f tokens at once would take about %s, but the machine has %s: "
            "reduce --lengths",
            tokens, text_memory(wanted).at, text_memory(here).at);
}
