#include "model/config_size.h"

#include "model/layer.h"
#include "model/mechanisms.h"
#include "ops/base/error.h"
#include "ops/ops.h"

#include <limits.h>
#include <stdlib.h>

/* The divisor of n closest to `to`, of those that leave heads of an even width if any does. */
static int near_divisor(int n, int to, bool even)
{
    int best = 1;

    for (int d = 1; d <= n; d++)
        if (n % d == 0 && !(even && n / d % 2) && abs(d - to) < abs(best - to))
            best = d;
    return best;
}

/* Applies a setting that is a size; 0 means a multiple of d. */
static void set_size(MixSize *size, const Setting *s, int value)
{
    if (s->size == 'd' && value)
        size->D = value;
    if (s->size == 'm')
        size->m = setting_size(s, value, size->D);
}

MixSize config_mix_size(const Config *c)
{
    MixSize size = { .attention = c->attention,
                     .T = c->context,
                     .c = c->context,
                     .causal = c->task == TASK_CAUSAL,
                     .rope = c->position == POSITION_ROPE && c->attention->traits & CAN_ROPE,
                     .group = c->kv_heads ? c->heads / c->kv_heads : 0,
                     .layers = c->layers,
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
    if (!text.n && c->hidden && !layer_of(c->attention)->feed_forward)
        text_add(&text, "n-inner");
    if (!text.n && c->kv_heads && !layer_of(c->attention)->groups)
        text_add(&text, "n-kv-head");
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

/* What does not fit together in the layers with one mechanism, or empty. */
static Text part_misfit(const Config *c)
{
    Text why = { 0 }, option = needless(c), wrong = settings_misfit(c->attention, &c->set);
    const Text direction = attention_refuses(c->attention, &c->set, c->task == TASK_CAUSAL);
    const int inner = layer_of(c->attention)->inner * c->width; /* split into heads */
    const int conv = setting(&c->set, "conv");

    if (direction.n && c->task == TASK_CAUSAL)
        text_add(&why, "--attn %s %s: choose --task mlm, or another attention", c->attention->name,
                 direction.at);
    else if (direction.n)
        text_add(&why, "--attn %s %s: the task %s needs another attention", c->attention->name,
                 direction.at, task_names[c->task]);
    else if (option.n)
        text_add(&why, "--%s does not apply to --attn %s", option.at, c->attention->name);
    else if (inner % c->heads != 0)
        text_add(&why, "--n-head %d does not divide %s--n-embd %d; --n-head %d would", c->heads,
                 inner > c->width ? "twice " : "", c->width,
                 near_divisor(inner, c->heads, config_mix_size(c).rope));
    else if (c->kv_heads && c->heads % c->kv_heads != 0)
        text_add(&why, "--n-kv-head %d does not divide --n-head %d; --n-kv-head %d would",
                 c->kv_heads, c->heads, near_divisor(c->heads, c->kv_heads, false));
    else if (c->kv_heads && has_flag(c, "share-keys"))
        text_add(&why, "--n-kv-head does not apply to --attn %s with --share-keys",
                 c->attention->name);
    else if (c->task != TASK_CAUSAL && conv > 0 && conv % 2 == 0)
        text_add(&why,
                 "--conv %d has no middle, and the task %s sees both sides: choose an odd number",
                 conv, task_names[c->task]);
    else if (wrong.n)
        why = wrong;
    else if (config_mix_size(c).rope && rotated(c) % 2 != 0)
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

/* The same of the model as a whole. */
static Text whole_misfit(const Config *c)
{
    Text why = { 0 };

    if (c->rope_base && c->position != POSITION_ROPE)
        text_add(&why, "--rope-base does not apply to --position %s", position_names[c->position]);
    else if (c->init_out == OUT_ZERO && c->no_residual)
        text_add(&why, "--init-out zero needs residual connections: without them the model "
                       "would be zero, and so would its gradients");
    else if (c->task == TASK_CLASSIFY && c->tied)
        text_add(&why, "--tied does not apply to a model that predicts a class, not a token");
    else if (c->task != TASK_CLASSIFY && (c->pool || c->pairs))
        text_add(&why, "--%s is for models that predict a class, not a token",
                 c->pool ? "pool" : "pairs");
    else if (c->pairs == PAIRS_TOWERS && c->context % 2 != 0)
        text_add(&why,
                 "--pairs towers splits the context into halves, and %d is odd: "
                 "choose an even --block-size",
                 c->context);
    return why;
}

Text config_misfit(const Config *c)
{
    Text why = { 0 };
    bool can_rotate = false;

    for (int i = 0; i < config_parts(c); i++)
        can_rotate = can_rotate || config_part(c, i).attention->traits & CAN_ROPE;
    if (c->position == POSITION_ROPE && !can_rotate)
        text_add(&why, "--position rope does not apply to --attn %s", config_mechanisms(c).at);
    for (int i = 0; !why.n && i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        if (layer_of(part.attention)->mixes != layer_of(c->attention)->mixes)
            text_add(&why,
                     "--attn %s: a gated unit replaces an attention and a feed-forward layer, and "
                     "cannot take turns with them",
                     config_mechanisms(c).at);
        else
            why = part_misfit(&part);
    }
    return why.n ? why : whole_misfit(c);
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
    bool all = c->task == TASK_CAUSAL && !c->from_last;

    for (int i = 0; i < config_parts(c); i++)
        all = all && attention_decodes(config_part(c, i).attention);
    return all;
}

bool config_learns_positions(const Config *c)
{
    bool any = c->position == POSITION_LEARNED;

    for (int i = 0; i < config_parts(c); i++) {
        const Config part = config_part(c, i);

        any = any || attention_ends(part.attention, &part.set);
    }
    return any;
}

/* What the state of the layers grows by if the sequence is twice as long. A length that is fitted
 * to the context, as cosformer's, does not count: beyond it there is a second state, and no third.
 */
static double growth(const Config *c)
{
    MixSize size = config_mix_size(c);

    for (const Setting *s = c->attention->settings; s && s->name; s++)
        if (s->length == CONTEXT_AT_LEAST)
            *setting_at(&size.set, s->name) = 0;
    const size_t within = attention_state(&size);

    size.T *= 2;
    return (double)attention_state(&size) - (double)within;
}

bool config_keeps_keys(const Config *c)
{
    return config_most(c, growth) > 0;
}

static double mixes(const Config *c)
{
    return (double)c->layers * layer_of(c->attention)->mixes;
}

int config_mixes(const Config *c)
{
    return (int)config_sum(c, mixes);
}

static double additions(const Config *c)
{
    return mixes(c) + c->layers * config_feeds(c);
}

int config_additions(const Config *c)
{
    return (int)config_sum(c, additions);
}

bool config_feeds(const Config *c)
{
    return layer_of(c->attention)->feed_forward && c->ffn != FFN_NONE;
}

static double feed_forward(const Config *c)
{
    return (c->ffn == FFN_SWIGLU ? 3.0 : 2.0) * c->width * config_hidden(c);
}

static double feed_forwards(const Config *c)
{
    return config_feeds(c) ? c->layers * feed_forward(c) : 0;
}

/* Of the layer behind all blocks. */
static double last(const Config *c)
{
    return c->from_last ? feed_forward(c) : 0;
}

static double rows(const Config *c)
{
    MixSize s = config_mix_size(c);
    int most = s.D > s.E ? s.H * s.D : s.H * s.E, hidden = config_hidden(c);

    return config_feeds(c) && hidden > most ? hidden : most;
}

int config_rows(const Config *c)
{
    return (int)config_most(c, rows);
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

static double layer_matrices(const Config *c)
{
    MixSize s = config_mix_size(c);

    return layer_of(c->attention)->parameters(c, &s) + feed_forwards(c);
}

double config_matrix_parameters(const Config *c)
{
    return config_sum(c, layer_matrices) + last(c) + head_matrices(c);
}

static double fixed_operands(const Config *c)
{
    MixSize s = config_mix_size(c);
    double sum = 0;

    for (const Operand *o = c->attention->operands; o && o->name; o++)
        sum += operand_learned(o, &c->set) ? 0 : operand_numbers(&s, o);
    return mixes(c) * sum;
}

double config_fixed_parameters(const Config *c)
{
    return config_sum(c, fixed_operands);
}

/* Of all layers, forward, for a token. */
static double multiply_adds(const Config *c)
{
    MixSize s = config_mix_size(c);
    double mix = layer_of(c->attention)->projections(c, &s) + attention_cost(&s);

    return mixes(c) * mix + feed_forwards(c);
}

double config_flops(const Config *c, double asked)
{
    double outputs =
        c->task == TASK_CLASSIFY ? 0 : c->vocab; /* one product per sequence is negligible */

    /* each multiply-add is two operations, once forward and twice backward */
    return 6 * (config_sum(c, multiply_adds) + last(c) + asked * c->width * outputs);
}

double config_eps(const Config *c)
{
    return strtod(eps_names[c->eps], NULL);
}

static double value_embeddings(const Config *c)
{
    const MixSize s = config_mix_size(c);
    const bool once = setting_is(&c->set, "share", "layers");

    return (once ? 1 : mixes(c)) * c->vocab * own_columns(c, &s, 'v');
}

double config_parameters(const Config *c)
{
    return config_matrix_parameters(c) +
           (c->value_embedding ? config_sum(c, value_embeddings) : 0) +
           (c->tied ? 0 : (double)c->vocab * c->width) +
           (c->position == POSITION_LEARNED ? (double)c->context * c->width : 0);
}
