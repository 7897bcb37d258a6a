#include "model/config.h"

#include "ops/base/error.h"
#include "ops/base/machine.h"
#include "ops/ops.h"

#include <limits.h>

const char *const position_names[] = { "rope", "learned", "sinusoidal", "none", NULL };
const char *const ffn_names[] = { "gelu", "swiglu", NULL };
const char *const norm_names[] = { "rms", "layer", NULL };
const char *const task_names[] = { "causal", "mlm", "classify", NULL };
const char *const share_names[] = { "qv", "layers", "heads", NULL };

/* The divisor of n nearest to `to`. */
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

MixSize config_mix_size(const Config *c)
{
    bool gated = c->attention->frame == FRAME_GATED;
    MixSize size = { .T = c->context, .causal = c->task == TASK_CAUSAL, .set = c->set };

    size.H = gated ? 1 : c->heads;
    size.E = gated ? 2 * c->width : c->width / c->heads;
    size.D = c->key_size ? c->key_size : gated ? KEY_SIZE : size.E;
    if (mix_needs(c->attention, c->set, MIX_OMEGA))
        size.features = c->features ? c->features : 4 * size.D;
    size.set.rope = c->position == POSITION_ROPE;
    return size;
}

/* The first setting that is set and means nothing to the attention, or NULL. */
static const char *needless(const Config *c)
{
    const struct {
        const char *option;
        unsigned bit;
        bool set;
    } all[] = {
        { "scale", TAKES_SCALE, c->set.scale != SCALE_SQRT },
        { "norm", TAKES_NORM, c->set.norm != GAU_N },
        { "interaction", TAKES_INTERACTION, c->set.interaction != INTERACTION_MUL },
        { "base", TAKES_BASE, c->set.base != 0 },
        { "window", TAKES_WINDOW, c->set.window != 0 },
        { "horizon", TAKES_HORIZON, c->set.horizon != 0 },
        { "chunk", TAKES_CHUNK, c->set.chunk != 0 },
        { "position rope", TAKES_ROPE, c->position == POSITION_ROPE },
        { "features", TAKES_FEATURES, c->features != 0 },
        { "key-size", TAKES_KEY_SIZE, c->key_size != 0 },
        { "share", TAKES_SHARE, c->share != 0 },
        { "no-gate", TAKES_GATE, c->gateless },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].set && !(c->attention->takes & all[i].bit))
            return all[i].option;
    return NULL;
}

/* What RoPE turns: features, or else q and k. Cosformer has two for each number of q. */
static int turned_width(const Config *c)
{
    MixSize size = config_mix_size(c);

    return size.features                           ? size.features
           : (c->attention->takes & TAKES_HORIZON) ? 2 * size.D
                                                   : size.D;
}

/* Numbers in the largest tensor that is not as large as a token, or a position, asks for. */
static double largest_matrix(const Config *c)
{
    MixSize size = config_mix_size(c);
    double ffn = 4.0 * c->width * c->width, keys = (double)c->width * size.H * size.D;

    return fmax(fmax(ffn, keys), (double)size.H * size.features * size.D);
}

Text config_misfit(const Config *c)
{
    Text why = { 0 };
    const char *option = needless(c);

    if (option)
        text_add(&why, "--%s means nothing to --attn %s", option, c->attention->name);
    else if (c->attention->frame != FRAME_GATED && c->width % c->heads != 0)
        text_add(&why, "--n-head %d does not divide --n-embd %d; --n-head %d would", c->heads,
                 c->width, near_divisor(c->width, c->heads));
    else if (c->task == TASK_CLASSIFY && c->tied)
        text_add(&why, "--tied means nothing where the model says a class, and no token");
    else if (c->set.base == 1)
        text_add(&why, "--base is a length whose logarithm divides: 2 at least, not 1");
    else if (c->position == POSITION_ROPE && turned_width(c) % 2 != 0)
        text_add(&why,
                 "--position rope turns pairs of numbers, and a head has %d (%s): choose an even "
                 "width, or another --position",
                 turned_width(c),
                 config_mix_size(c).features ? "--features"
                 : c->key_size               ? "--key-size"
                                             : "--n-embd / --n-head");
    else if (largest_matrix(c) > INT_MAX)
        text_add(&why,
                 "a matrix would have %.0f numbers, more than %d: make --n-embd smaller (%d at "
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
 * SwiGLU has three matrices where GELU has two: with two thirds of the width it
 * has as many parameters (Shazeer, 2020). To a multiple of 16.
 */
int config_hidden(const Config *c)
{
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

bool config_ends(const Config *c)
{
    return c->position == POSITION_LEARNED || c->position == POSITION_SINUSOIDAL;
}

int config_mixes(const Config *c)
{
    return c->attention->frame == FRAME_GATED ? 2 * c->layers : c->layers;
}

/* Numbers that a token is multiplied with before and after one mix: q, k, v, o; or z, v, o, u. */
static double projections(const Config *c)
{
    MixSize s = config_mix_size(c);

    if (c->attention->frame == FRAME_GATED)
        return (double)c->width * (s.D + (c->gateless ? 2 : 3) * s.E);
    return 2.0 * c->width * s.H * (s.D + s.E);
}

static double feed_forward(const Config *c)
{
    if (c->attention->frame == FRAME_GATED)
        return 0;
    return (c->ffn == FFN_SWIGLU ? 3.0 : 2.0) * c->width * config_hidden(c);
}

int config_rows(const Config *c)
{
    MixSize s = config_mix_size(c);
    int most = s.D > s.E ? s.H * s.D : s.H * s.E, hidden = config_hidden(c);

    return c->attention->frame == FRAME_GATED || most > hidden ? most : hidden;
}

double config_matrix_parameters(const Config *c)
{
    MixSize s = config_mix_size(c);
    double mix = projections(c), width = c->width;

    if (c->share & SHARE_QV)
        mix -= width * width;
    if (mix_needs(c->attention, c->set, MIX_CONCAT))
        mix += 2.0 * s.H * s.D * s.D;
    return mix * (c->share & SHARE_LAYERS ? 1 : config_mixes(c)) + c->layers * feed_forward(c) +
           width * config_outputs(c);
}

double config_fixed_parameters(const Config *c)
{
    MixSize s = config_mix_size(c);

    return (double)config_mixes(c) * s.H * s.features * s.D;
}

double config_flops(const Config *c)
{
    /* each multiply-add is two operations, once forward and twice backward */
    double mix = projections(c) + attention_cost(c->attention, config_mix_size(c));
    double outputs =
        c->task == TASK_CLASSIFY ? 0 : c->vocab; /* one product a sequence is nothing */

    return 6 * (config_mixes(c) * mix + c->layers * feed_forward(c) + (double)c->width * outputs);
}

/* Numbers that a token leaves in one block until the backward, but for the block's result. */
static double kept(const Config *c)
{
    MixSize s = config_mix_size(c);
    double width = c->width, hidden = (c->ffn == FFN_SWIGLU ? 3 : 1) * (double)config_hidden(c);
    double drops = c->dropout > 0 ? 4 * width : 0, keys = 2.0 * s.H * s.D;
    double mix = attention_memory(c->attention, s).kept;
    bool linear_too = mix_needs(c->attention, c->set, MIX_QL);

    /* twice: norm, z (two), q, k, v (two), o, u and what is gated by it; and the first's sum */
    if (c->attention->frame == FRAME_GATED)
        return 2 * (width + keys * (linear_too ? 3 : 2) + (c->gateless ? 3.0 : 5.0) * s.E + mix) +
               width + drops;
    /* two norms, q, k, v, o, a sum; Fastformer's with q */
    return 3 * width + keys + 2.0 * s.H * s.E + hidden + mix + drops +
           (c->attention->frame == FRAME_POOLED ? width : 0);
}

/* And what `tokens` take on the way back beside it, at most. */
static double way_back(const Config *c, double tokens)
{
    MixSize s = config_mix_size(c);
    double each = c->width + attention_memory(c->attention, s).back, hidden = config_hidden(c);

    if (c->attention->frame == FRAME_GATED)
        return tokens * (each + 3.0 * s.E);
    if (c->ffn == FFN_SWIGLU)
        return tokens * (each + 3 * hidden);
    return tokens * each + fmin(tokens, DENSE_ROWS) * hidden;
}

double config_parameters(const Config *c)
{
    return config_matrix_parameters(c) + (c->tied ? 0 : (double)c->vocab * c->width) +
           (c->position == POSITION_LEARNED ? (double)c->context * c->width : 0);
}

/* Numbers of a token around the blocks: what goes between them, the last norm and the outputs. */
static double ends(const Config *c)
{
    return c->width * (c->layers + 2.0) + (c->task == TASK_CLASSIFY ? 0 : c->vocab);
}

/* Numbers that a step of any size has: what is fixed, and the angles. */
static double fixed(const Config *c)
{
    bool turned = config_mix_size(c).set.rope;

    return config_fixed_parameters(c) + (turned ? (double)c->context * turned_width(c) : 0);
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
            "training with a context of %d, %.0f tokens at once, would take about %.1f GiB and the "
            "machine has %.1f: make --batch-size, the context or the model smaller%s",
            c->context, load.tokens, wanted / 0x1p30, here / 0x1p30,
            load.recompute ? "" : ", or --recompute");
}

void config_check_forward_memory(const Config *c, double tokens)
{
    double wanted = config_forward_memory(c, tokens), here = machine_memory();

    if (wanted > here)
        die(EXIT_MEMORY,
            "reading %.0f tokens at once would take about %.1f GiB and the machine has %.1f: make "
            "--lengths smaller",
            tokens, wanted / 0x1p30, here / 0x1p30);
}
