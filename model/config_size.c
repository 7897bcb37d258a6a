#include "model/config_size.h"

#include "model/layer.h"
#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/ops.h"

#include <limits.h>
#include <stdlib.h>

/* The divisor of n closest to `to`. */
static int near_divisor(int n, int to)
{
    for (int d = 0; d < n; d++) {
        if (to - d > 0 && n % (to - d) == 0)
            return to - d;
        if (n % (to + d) == 0)
            return to + d;
    }
    return 1;
}

/* Applies a setting that is a size; 0 means a multiple of d. */
static void set_size(MixSize *size, const Setting *s, int value)
{
    if (s->size == 'd' && value)
        size->D = value;
    if (s->size == 'm')
        size->m = value ? value : s->of_key * size->D;
}

MixSize config_mix_size(const Config *c)
{
    MixSize size = { .attention = c->attention,
                     .T = c->context,
                     .causal = c->task == TASK_CAUSAL,
                     .rope = c->position == POSITION_ROPE,
                     .set = c->set };

    layer_of(c->attention)->size(c, &size);
    for (const char *letter = "dm"; *letter; letter++)
        for (const Setting *s = c->attention->settings; s && s->name; s++)
            if (s->size == *letter)
                set_size(&size, s, setting(&c->set, s->name));
    return size;
}

/* The first option that is set but does not apply to the attention, or empty. */
static Text needless(const Config *c)
{
    const Values values = settings_default(c->attention);
    const Setting *s;
    Text text = { 0 };

    for (int i = 0; !text.n && (s = settings_at(i)); i++)
        if (c->set.at[i] != values.at[i] && !attention_takes(c->attention, s->name))
            text_add(&text, "%s%s", s->kind == SETTING_FLAG && s->value ? "no-" : "", s->name);
    if (!text.n && c->position == POSITION_ROPE && !(c->attention->traits & CAN_ROPE))
        text_add(&text, "position rope");
    if (!text.n && c->hidden && !layer_of(c->attention)->feed_forward)
        text_add(&text, "n-inner");
    return text;
}

/* The width that RoPE rotates. */
static int rotated(const Config *c)
{
    MixSize size = config_mix_size(c);

    return attention_rotated(&size);
}

/* The size of the largest tensor, except those with a row per token or position. */
static double largest_matrix(const Config *c)
{
    MixSize size = config_mix_size(c);
    double most = c->width * fmax(fmax(4.0 * c->width, config_hidden(c)), (double)size.H * size.D);

    for (const Operand *o = c->attention->operands; o && o->name; o++)
        if (*o->shape != 'B')
            most = fmax(most, operand_numbers(&size, o));
    return most;
}

Text config_misfit(const Config *c)
{
    Text why = { 0 }, option = needless(c), wrong = settings_misfit(c->attention, &c->set);
    const char *direction = attention_refuses(c->attention, c->task == TASK_CAUSAL);
    const int inner = layer_of(c->attention)->inner * c->width; /* split into heads */

    if (direction)
        text_add(&why, "--attn %s %s: the task %s needs another attention", c->attention->name,
                 direction, task_names[c->task]);
    else if (option.n)
        text_add(&why, "--%s does not apply to --attn %s", option.at, c->attention->name);
    else if (inner % c->heads != 0)
        text_add(&why, "--n-head %d does not divide %s--n-embd %d; --n-head %d would", c->heads,
                 inner > c->width ? "twice " : "", c->width, near_divisor(inner, c->heads));
    else if (c->rope_base && c->position != POSITION_ROPE)
        text_add(&why, "--rope-base does not apply to --position %s", position_names[c->position]);
    else if (c->task == TASK_CLASSIFY && c->tied)
        text_add(&why, "--tied does not apply to a model that predicts a class, not a token");
    else if (c->task != TASK_CLASSIFY && (c->pool || c->pairs))
        text_add(&why, "--%s is for models that predict a class, not a token",
                 c->pool ? "pool" : "pairs");
    else if (c->pairs == PAIRS_TOWERS && c->context % 2 != 0)
        text_add(&why,
                 "--pairs towers gives each text half of the context, which %d is not: "
                 "choose an even --block-size",
                 c->context);
    else if (wrong.n)
        why = wrong;
    else if (c->position == POSITION_ROPE && rotated(c) % 2 != 0)
        text_add(
            &why,
            "--position rope rotates pairs of numbers, and a head has %d: choose an even width "
            "(--n-embd / --n-head, --key-size or --features), or another --position",
            rotated(c));
    else if (largest_matrix(c) > INT_MAX)
        text_add(&why,
                 "a matrix would have %.0f numbers, more than %d: reduce --n-embd (%d at "
                 "most), or --key-size or --features",
                 largest_matrix(c), INT_MAX, 23170);
    return why;
}

void config_check(const Config *c)
{
    Text why = config_misfit(c);

    if (why.n)
        die(EXIT_USAGE, "%s", why.at);
}

/*
 * SwiGLU has three matrices where GELU has two: with two thirds of the width it has as
 * many parameters (Shazeer, 2020). Rounded up to a multiple of 16.
 */
int config_hidden(const Config *c)
{
    if (c->hidden)
        return c->hidden;
    return c->ffn == FFN_SWIGLU ? (8 * c->width / 3 + 15) / 16 * 16 : 4 * c->width;
}

int config_mask(const Config *c)
{
    return c->vocab - 1;
}

int config_outputs(const Config *c)
{
    return c->task == TASK_CLASSIFY ? c->classes : c->vocab;
}

bool config_decodes(const Config *c)
{
    return c->task == TASK_CAUSAL && attention_decodes(c->attention);
}

bool config_ends(const Config *c)
{
    return c->position == POSITION_LEARNED || c->position == POSITION_SINUSOIDAL;
}

bool config_keeps_keys(const Config *c)
{
    MixSize size = config_mix_size(c);
    size_t within = attention_state(&size);

    size.T *= 2;
    return attention_state(&size) > within;
}

int config_mixes(const Config *c)
{
    return c->layers * layer_of(c->attention)->mixes;
}

bool config_feeds(const Config *c)
{
    return layer_of(c->attention)->feed_forward && c->ffn != FFN_NONE;
}

static double feed_forward(const Config *c)
{
    if (!config_feeds(c))
        return 0;
    return (c->ffn == FFN_SWIGLU ? 3.0 : 2.0) * c->width * config_hidden(c);
}

int config_rows(const Config *c)
{
    MixSize s = config_mix_size(c);
    int most = s.D > s.E ? s.H * s.D : s.H * s.E, hidden = config_hidden(c);

    return config_feeds(c) && hidden > most ? hidden : most;
}

bool config_has_towers(const Config *c)
{
    return c->task == TASK_CLASSIFY && c->pairs == PAIRS_TOWERS;
}

int config_head_width(const Config *c)
{
    return config_has_towers(c) ? 2 * c->width : c->width;
}

/* Of the head, and of what compares the texts of a pair. */
static double head_matrices(const Config *c)
{
    const double towers = config_has_towers(c) ? 24.0 * c->width * c->width : 0;

    return towers + (double)config_head_width(c) * config_outputs(c);
}

double config_matrix_parameters(const Config *c)
{
    MixSize s = config_mix_size(c);

    return layer_of(c->attention)->parameters(c, &s) + c->layers * feed_forward(c) +
           head_matrices(c);
}

double config_fixed_parameters(const Config *c)
{
    MixSize s = config_mix_size(c);
    double sum = 0;

    for (const Operand *o = c->attention->operands; o && o->name; o++)
        sum += operand_learned(o, &c->set) ? 0 : operand_numbers(&s, o);
    return config_mixes(c) * sum;
}

double config_flops(const Config *c)
{
    /* each multiply-add is two operations, once forward and twice backward */
    MixSize s = config_mix_size(c);
    double mix = layer_of(c->attention)->projections(c, &s) + attention_cost(&s);
    double outputs =
        c->task == TASK_CLASSIFY ? 0 : c->vocab; /* one product per sequence is negligible */

    return 6 * (config_mixes(c) * mix + c->layers * feed_forward(c) + (double)c->width * outputs);
}

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

/* The most that the backward pass of these tokens needs besides that. */
static double way_back(const Config *c, double tokens)
{
    const Layer *layer = layer_of(c->attention);
    MixSize s = config_mix_size(c);
    double each = c->width + attention_memory(&s).back + layer->back(c, &s);

    if (!config_feeds(c))
        return tokens * each;
    if (c->ffn == FFN_SWIGLU)
        return tokens * (each + 3.0 * config_hidden(c));
    return tokens * each + fmin(tokens, DENSE_ROWS) * config_hidden(c);
}

double config_eps(const Config *c)
{
    return strtod(eps_names[c->eps], NULL);
}

double config_parameters(const Config *c)
{
    return config_matrix_parameters(c) + (c->tied ? 0 : (double)c->vocab * c->width) +
           (c->position == POSITION_LEARNED ? (double)c->context * c->width : 0);
}

/* Numbers per token outside the blocks: between them, the last norm, and the outputs. */
static double ends(const Config *c)
{
    return c->width * (c->layers + 2.0) + (c->task == TASK_CLASSIFY ? 0 : c->vocab);
}

/* Numbers in a step that do not depend on its tokens: fixed parameters and angles. */
static double fixed(const Config *c)
{
    bool rope = c->position == POSITION_ROPE;

    return config_fixed_parameters(c) + (rope ? (double)c->context * rotated(c) : 0);
}

double config_memory(const Config *c, Load load)
{
    double blocks = (load.recompute ? 1 : c->layers) * kept(c);

    return sizeof(real) * (2 * config_parameters(c) + load.state + fixed(c) +
                           load.tokens * (blocks + ends(c)) + way_back(c, load.tokens));
}

double config_forward_memory(const Config *c, double tokens)
{
    return sizeof(real) * (config_parameters(c) + fixed(c) + tokens * (kept(c) + ends(c)));
}

void config_check_memory(const Config *c, Load load)
{
    double wanted = config_memory(c, load), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "training with a context of %d and %.0f tokens per batch would take about %.1f GiB, "
            "but the machine has %.1f: reduce --batch-size, the context or the model%s",
            c->context, load.tokens, wanted / 0x1p30, here / 0x1p30,
            load.recompute ? "" : ", or use --recompute");
}

void config_check_forward_memory(const Config *c, double tokens)
{
    double wanted = config_forward_memory(c, tokens), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "reading %.0f tokens at once would take about %.1f GiB, but the machine has %.1f: "
            "reduce --lengths",
            tokens, wanted / 0x1p30, here / 0x1p30);
}
